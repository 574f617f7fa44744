"""Where what is."""

from django.urls import include, path
from rest_framework.routers import DefaultRouter

from cinema.views import Movies, Refresh, Register, Token

router = DefaultRouter()
router.register("movies", Movies, basename="movie")
urlpatterns = [
    path("api/v1/auth/register/", Register.as_view()),
    path("api/v1/auth/token/", Token.as_view()),
    path("api/v1/auth/refresh/", Refresh.as_view()),
    path("api/v1/", include(router.urls)),
]
