"""Signed tokens, and who they belong to."""

from django.contrib.auth.models import User
from django.core import signing
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed

LIFETIMES = {"access": 3600, "refresh": 24 * 3600}


def issue(user_id: int, kind: str) -> str:
    """Return a token of a *kind*."""
    return signing.dumps({"user": user_id}, salt=kind)


def owner(token: str, kind: str) -> User:
    """Return whose token it is or raise."""
    try:
        return User.objects.get(pk=signing.loads(token, salt=kind, max_age=LIFETIMES[kind])["user"])
    except (signing.BadSignature, User.DoesNotExist, KeyError) as error:
        raise AuthenticationFailed("the token is not valid") from error


class TokenAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer <access>`."""

    def authenticate(self, request):
        """Return the user, or None without a token."""
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        return (owner(token, "access"), None) if kind == "Bearer" else None

    def authenticate_header(self, request):
        """Return what a 401 asks for."""
        return "Bearer"
