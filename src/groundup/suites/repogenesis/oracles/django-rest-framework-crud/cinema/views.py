"""What is answered."""

from django.contrib.auth import authenticate
from rest_framework import generics, viewsets
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from cinema.models import Movie
from cinema.serializers import MovieSerializer, UserSerializer
from cinema.tokens import issue, owner


class Register(generics.CreateAPIView):
    """Adds a user."""

    serializer_class = UserSerializer
    permission_classes = [AllowAny]


class Token(APIView):
    """Gives out tokens for a password."""

    permission_classes = [AllowAny]

    def post(self, request):
        """Check the password."""
        user = authenticate(username=request.data.get("username"), password=request.data.get("password"))
        if user is None:
            raise AuthenticationFailed("wrong name or password")
        return Response({"access": issue(user.pk, "access"), "refresh": issue(user.pk, "refresh")})


class Refresh(APIView):
    """Gives out a new access token."""

    permission_classes = [AllowAny]

    def post(self, request):
        """Check the refresh token."""
        user = owner(str(request.data.get("refresh", "")), "refresh")
        return Response({"access": issue(user.pk, "access")})


class Movies(viewsets.ModelViewSet):
    """Everybody's own films."""

    serializer_class = MovieSerializer

    def get_queryset(self):
        """Return the user's films, those with a title like the one asked for."""
        return Movie.objects.filter(
            creator=self.request.user, title__icontains=self.request.query_params.get("title", "")
        )

    def perform_create(self, serializer):
        """Make the user the creator."""
        serializer.save(creator=self.request.user)
