"""Records to JSON and back."""

from django.contrib.auth.models import User
from rest_framework import serializers

from cinema.models import Movie


class UserSerializer(serializers.ModelSerializer):
    """A new user, with the password twice."""

    password2 = serializers.CharField(write_only=True)

    class Meta:
        """Fields."""

        model = User
        fields = ("id", "username", "password", "password2", "email", "first_name", "last_name")
        extra_kwargs = {"password": {"write_only": True}}

    def validate(self, attrs):
        """Compare both passwords."""
        if attrs["password"] != attrs.pop("password2"):
            raise serializers.ValidationError({"password": "the passwords differ"})
        return attrs

    def create(self, validated_data):
        """Store the password as a hash."""
        return User.objects.create_user(**validated_data)


class MovieSerializer(serializers.ModelSerializer):
    """A film."""

    creator = serializers.ReadOnlyField(source="creator.username")

    class Meta:
        """Fields."""

        model = Movie
        fields = ("id", "title", "genre", "year", "creator")
