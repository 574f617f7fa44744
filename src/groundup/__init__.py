"""groundup measures software built from the ground up."""

__version__ = "0.1.0"
