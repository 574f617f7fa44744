"""What is stored."""

from django.contrib.auth.models import User
from django.db import models


class Movie(models.Model):
    """A film of somebody's."""

    title = models.CharField(max_length=200)
    genre = models.CharField(max_length=100)
    year = models.IntegerField()
    creator = models.ForeignKey(User, on_delete=models.CASCADE)

    class Meta:
        """The order of lists."""

        ordering = ["id"]
