"""Fixtures: a real sandbox, and a builder whose package index is on loopback."""

from tests.environments.conftest import builder, index, make_builder, provider

__all__ = ["builder", "index", "make_builder", "provider"]
