"""Django's and Eve's configurations in the forms that projects have beside the usual ones."""

import pytest

from tests.groundup_factory.services.routes.declared import routes

_VIEWS = """
    from rest_framework import generics, viewsets
    class Books(viewsets.ModelViewSet): ...
    class Pages(generics.ListCreateAPIView): ...
    def cover(request): ...
"""
_HEAD = """
    from django.urls import include, path, re_path
    from rest_framework.routers import DefaultRouter, SimpleRouter
    from shop import views
"""


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ('[path("nothing/"), path("cover/", views.cover)]', ["* /cover/"]),
        ('[path("books/", views.Books.as_view({"get": "list", "post": "create"}))]',
         ["GET /books/", "POST /books/"]),
        ('[path("books/", views.Books.as_view({VERB: "list", "head": "list"}))]', ["GET /books/", "HEAD /books/"]),
        ('[path("books/", views.Books.as_view({**more}))]', []),
        ('[path("pages/", one(two(views.Pages.as_view())))]', ["GET /pages/", "POST /pages/"]),
        ('[path("pages/", one(1)), path("open/", one())]', ["* /open/", "* /pages/"]),
        ('[path("a/", include(more)), path("b/", include("shop.more"))]', ["* /a/cover/", "* /b/c/"]),
        ('[path("a/", include((more, "name"))), path("b/", include(("shop.more", "app")))]',
         ["* /a/cover/", "* /b/c/"]),
        ('[path("a/", include(unknown)), path("b/", include("no.such")), path("c/", views.cover)]', ["* /c/"]),
        ('[path("a/", include()), path("c/", views.cover)]', ["* /c/"]),
        ('[path("a/", include(router.urls)), path("b/", bare.urls), *router.urls]', [
            "DELETE /a/books/{}/", "DELETE /books/{}/", "DELETE /b/books/{}",
            "GET /a/books/", "GET /a/books/{}/", "GET /b/books",
            "GET /b/books/{}", "GET /books/", "GET /books/{}/",
            "PATCH /a/books/{}/", "PATCH /b/books/{}", "PATCH /books/{}/",
            "POST /a/books/", "POST /b/books", "POST /books/",
            "PUT /a/books/{}/", "PUT /b/books/{}", "PUT /books/{}/",
        ]),
        ('[path("a/", include(made.urls)), path("b/", include(named.urls)), path("c/", views.cover)]', ["* /c/"]),
        ('[re_path(r"^v(?P<n>[0-9]+)/", include([path("", views.cover), path("<slug:s>/x", views.cover)]))]',
         ["* /v{}/", "* /v{}/{}/x"]),
        ('[path(PREFIX, views.cover)] + [path(UNKNOWN + "x/", views.cover)]', ["* /", "* /shop/"]),
    ],
)  # fmt: skip
def test_a_list_of_patterns(patterns: str, expected: list[str]) -> None:
    """Each form beside the usual one, in a project whose settings name no root."""
    urls = f"""{_HEAD}
    from shop.lists import more
    VERB, PREFIX = "get", "shop/"
    router, bare, made = DefaultRouter(), SimpleRouter(trailing_slash=False), make()
    VERB = "get"
    PREFIX = "shop/"
    router = DefaultRouter(trailing_slash=True)
    bare = SimpleRouter(trailing_slash=False)
    made = make(DefaultRouter)
    named = DefaultRouter
    for one in (router, bare, made, named):
        pass
    router.register("books", views.Books)
    bare.register("books", views.Books)
    made.register("books", views.Books)
    named.register("books", views.Books)
    router.register("unread")
    router.register(UNKNOWN, views.Books)
    urlpatterns = {patterns}
    """
    sources = {
        "site/urls.py": urls,
        "shop/views.py": _VIEWS,
        "shop/lists.py": f"{_HEAD}\n    more = [path('cover/', views.cover)]\n",
        "shop/more.py": f"{_HEAD}\n    urlpatterns = [path('c/', views.cover)]\n",
    }
    if "shop.more" not in patterns:
        del sources["shop/more.py"]
    assert routes(sources) == sorted(expected)


def test_a_root_is_what_the_settings_name_or_what_no_other_includes() -> None:
    """A project has lists that nothing serves; where none is named, each that is not taken in is a root."""
    sources = {
        "a/urls.py": f"{_HEAD}\n    urlpatterns = [path('a/', include('b.urls'))]\n",
        "b/urls.py": f"{_HEAD}\n    urlpatterns = [path('b/', views.cover), show('c.urls')]\n",
        "c/urls.py": f"{_HEAD}\n    urlpatterns = [path('c/', views.cover)]\n",
        "shop/views.py": _VIEWS,
    }
    assert routes(sources) == ["* /a/b/", "* /c/"]
    assert routes({**sources, "settings.py": "ROOT_URLCONF = 'c.urls'"}) == ["* /c/"]
    assert routes({**sources, "settings.py": "ROOT_URLCONF = 'no.urls'"}) == ["* /a/b/", "* /c/"]


def test_lists_that_include_each_other_end() -> None:
    """What a hostile project nests without end is read to a depth."""
    sources = {
        "a/urls.py": f"{_HEAD}\n    urlpatterns = [path('x/', views.cover), path('a/', include('a.urls'))]\n",
        "settings.py": "ROOT_URLCONF = 'a.urls'",
        "shop/views.py": _VIEWS,
    }
    found = routes(sources)
    assert found[-1] == "* /x/"
    assert 5 < len(found) < 40
    assert found[0].count("a/") == len(found) - 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("app = Eve(settings={'DOMAIN': {'people': {}}})", ["GET /people", "GET /people/{}"]),
        ("app = Eve(settings=dict(DOMAIN=dict(people=dict(url='folk', resource_methods=['POST']))))",
         ["GET /folk/{}", "POST /folk"]),
        ("app = Eve(settings=SETTINGS)\nSETTINGS = {'DOMAIN': DOMAIN_OF, 'ITEM_METHODS': ['GET', 'delete']}\n"
         "DOMAIN_OF = {'people': PEOPLE, 'x': None}\n"
         "PEOPLE = {'url': 'p/<regex(\"[a-z]+\"):x>', 'item_methods': 'put'}",
         ["DELETE /x/{}", "GET /p/{}", "GET /x", "GET /x/{}", "PUT /p/{}/{}"]),
        ("app = Eve()\nDOMAIN = {'people': {}}\nURL_PREFIX = 'api'\nAPI_VERSION = 'v1'\n"
         "RESOURCE_METHODS = ['GET', 'POST']",
         ["GET /api/v1/people", "GET /api/v1/people/{}", "POST /api/v1/people"]),
        ("app = Eve(settings={'OTHER': 1})\nDOMAIN = {'people': {}}", ["GET /people", "GET /people/{}"]),
        ("app = Eve(settings=make())", []),
        ("app = Other()\nDOMAIN = {'people': {}}", []),
        ("app = Eve(settings={'DOMAIN': list('people')})", []),
        ("app = Eve(settings={'DOMAIN': {**more, 'people': {}}})", ["GET /people", "GET /people/{}"]),
    ],
)  # fmt: skip
def test_settings_of_eve(settings: str, expected: list[str]) -> None:
    """In the call, by name, from `dict`, in a module of their own, with the methods of all or of one."""
    assert routes({"run.py": f"from eve import Eve\n{settings}\n"}) == expected
