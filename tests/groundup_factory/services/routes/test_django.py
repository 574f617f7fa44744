"""Routes of Django, Django REST framework and Eve."""

from tests.groundup_factory.services.routes.declared import routes

_PROJECT = """
    from django.contrib import admin
    from django.urls import include, path, re_path
    from rest_framework_simplejwt.views import TokenObtainPairView
    from shop import views

    urlpatterns = [
        path("admin/", admin.site.urls),
        path("api/v1/", include("shop.urls")),
        path("api/v1/auth/", include([path("token/", TokenObtainPairView.as_view(), name="token")])),
        re_path(r"^old/(?P<year>[0-9]{4})/$", views.old),
    ]
"""


def test_url_configurations_and_routers() -> None:
    """Includes by name, by list and by router; views by decorator, check, base class and view set."""
    assert routes(
        {
            "site/settings.py": "ROOT_URLCONF = 'site.urls'\n",
            "site/urls.py": _PROJECT,
            "shop/urls.py": """
                from django.urls import include, path
                from rest_framework.routers import DefaultRouter
                from .views import MovieViewSet, Genres, upload, flexible
                router = DefaultRouter()
                router.register(r"movies", MovieViewSet, basename="movie")
                urlpatterns = [path("", include(router.urls)), path("genres/<int:pk>/", Genres.as_view())]
                urlpatterns += [path("upload/", csrf_exempt(upload)), path("flexible/", flexible)]
            """,
            "shop/views.py": """
                from rest_framework import generics, viewsets
                from rest_framework.decorators import action, api_view

                class MovieViewSet(viewsets.ModelViewSet):
                    http_method_names = ["get", "post", "delete"]

                    @action(detail=True, methods=["post"], url_path="rate")
                    def rate_it(self, request, pk=None): ...

                class Genres(generics.RetrieveUpdateAPIView): ...

                @api_view(["POST"])
                def upload(request): ...

                def flexible(request):
                    if request.method == "GET":
                        return 1
                    elif request.method in ("PUT", "PATCH"):
                        return 2

                def old(request, year): ...
            """,
        }
    ) == [
        "* /old/{}/",
        "DELETE /api/v1/movies/{}/",
        "GET /api/v1/flexible/",
        "GET /api/v1/genres/{}/",
        "GET /api/v1/movies/",
        "GET /api/v1/movies/{}/",
        "PATCH /api/v1/flexible/",
        "PATCH /api/v1/genres/{}/",
        "POST /api/v1/auth/token/",
        "POST /api/v1/movies/",
        "POST /api/v1/movies/{}/rate/",
        "POST /api/v1/upload/",
        "PUT /api/v1/flexible/",
        "PUT /api/v1/genres/{}/",
    ]


def test_routers_alone_and_without_trailing_slash() -> None:
    """`urlpatterns = router.urls` is enough, and the router says whether paths end in a slash."""
    assert routes(
        {
            "urls.py": """
                from rest_framework.routers import SimpleRouter
                from views import Notes
                router = SimpleRouter(trailing_slash=False)
                router.register("notes", Notes)
                urlpatterns = router.urls
            """,
            "views.py": """
                from rest_framework.viewsets import GenericViewSet
                from rest_framework.mixins import ListModelMixin
                class Notes(ListModelMixin, GenericViewSet):
                    def retrieve(self, request, pk): ...
            """,
        }
    ) == ["GET /notes", "GET /notes/{}"]


def test_configurations_that_include_each_other_end() -> None:
    """A circle of includes is read a few times, not for ever."""
    circle = "from django.urls import include, path\nurlpatterns = [path('x/', include('{}')), path('y/', view)]\n"
    found = routes({"settings.py": "ROOT_URLCONF = 'a'\n", "a.py": circle.format("b"), "b.py": circle.format("a")})
    assert found[0] == "* /x/x/x/x/x/x/x/x/y/"
    assert "* /y/" in found


def test_eve_resources() -> None:
    """Every resource has a collection and items, with the methods of its own or of the whole domain."""
    settings = """
        RESOURCE_METHODS = ["GET", "POST"]
        ITEM_METHODS = ["GET", "PUT", "DELETE"]
        people = {"schema": {"name": {"type": "string"}}}
        logs = dict(url="journal", resource_methods=["GET"], item_methods=["GET"])
        DOMAIN = {"people": people, "logs": logs}
        URL_PREFIX = "api"
    """
    expected = [
        "DELETE /api/people/{}",
        "GET /api/journal",
        "GET /api/journal/{}",
        "GET /api/people",
        "GET /api/people/{}",
        "POST /api/people",
        "PUT /api/people/{}",
    ]
    made = "from eve import Eve\napp = Eve()\n"
    assert routes({"run.py": made, "settings.py": settings}) == expected
    assert routes({"settings.py": settings}) == []
    inline = "from eve import Eve\napp = Eve(settings={'DOMAIN': {'people': {}}})\n"
    assert routes({"run.py": inline}) == ["GET /people", "GET /people/{}"]
