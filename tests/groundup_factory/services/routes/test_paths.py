"""Paths in every framework's writing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup_factory.services.routes.paths import from_angles, from_braces, from_regex, join


@pytest.mark.parametrize(
    ("parts", "whole"),
    [([], "/"), (["", ""], "/"), (["/api/", "/users/"], "/api/users/"), (["api", "users"], "/api/users")],
)
def test_parts_are_joined_with_one_slash(parts: list[str], whole: str) -> None:
    """Neither doubled nor missing slashes, and a trailing one stays."""
    assert join(parts) == whole


def test_parameters_of_every_kind() -> None:
    """Converters, regular expressions, splats and queries are read."""
    assert from_angles('/a/<id>/<int:n>/<path:rest>/<regex("x"):y>') == "/a/{}/{}/{*}/{}"
    assert from_braces("/a/{id}/{n:[0-9]{2}}/{rest:path}/{+more}{?q,r}") == "/a/{}/{}/{*}/{*}"
    assert from_braces("/files/**") == "/files/{*}"
    assert from_regex(r"^a/(?P<year>[0-9]{4})/(\d+)/b\.json/?$") == "a/{}/{}/b.json"


@given(st.text(), st.text())
def test_any_text_can_be_read_as_a_path(one: str, other: str) -> None:
    """Whatever a repository declares, reading it ends, and what is joined is a path."""
    for read in (from_angles, from_braces, from_regex):
        assert join(["/", read(one), other]).startswith("/")
