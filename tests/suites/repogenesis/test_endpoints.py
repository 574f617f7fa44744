"""Endpoints: how paths are written and compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.suites.repogenesis.endpoints import is_instance, parse_endpoint, path_shape, with_braces


@pytest.mark.parametrize(
    "written",
    [
        "/users/:id/posts",
        "/users/<id>/posts",
        "/users/<int:id>/posts",
        "/users/{id}/posts",
        "/users/{id:[0-9]{2}}/posts",
    ],
)
def test_every_way_of_writing_parameters_is_one(written: str) -> None:
    """Flask's, Spark's and FastAPI's parameters all become braces."""
    assert with_braces(written) == "/users/{id}/posts"


def test_names_and_trailing_slashes_do_not_tell_endpoints_apart() -> None:
    """Two endpoints are the same when method and shape are."""
    assert parse_endpoint("GET /users/{id}/").shape == parse_endpoint("GET /users/{user_id}").shape
    assert parse_endpoint("GET /").shape != parse_endpoint("GET /{id}").shape
    assert path_shape("/") == "/"


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("/files/abc", "/files/{id}", True),
        ("/files/abc/info", "/files/{id}", False),
        ("/files", "/files/{id}", False),
        ("/files/a.json", "/files/{name}.json", True),
        ("/files/.json", "/files/{name}.json", False),
        ("/v1-2", "/v{a}-{b}", True),
        ("/v-2", "/v{a}-{b}", False),
        ("/v1-", "/v{a}-{b}", False),
    ],
)
def test_values_in_place_of_parameters(path: str, pattern: str, expected: bool) -> None:
    """A parameter stands for something, and never for a slash."""
    assert is_instance(path, pattern) is expected


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(path: str, pattern: str) -> None:
    """Nothing that a README or a submission holds breaks the comparison, and writing in braces is final."""
    is_instance(path, pattern)
    path_shape(with_braces(path))


@pytest.mark.parametrize("text", ["", "GET", "GET users", "LOOK /users"])
def test_what_is_no_endpoint_is_refused(text: str) -> None:
    """A table with a wrong entry is reported, not guessed at."""
    with pytest.raises(ValueError, match="is no endpoint"):
        parse_endpoint(text)
