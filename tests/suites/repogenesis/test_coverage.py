"""Specified endpoints beside declared routes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.sources.routes.paths import METHODS, Route
from groundup.suites.repogenesis.coverage import caught_by, declared, declared_in, implements
from groundup.suites.repogenesis.endpoints import Endpoint, parse_endpoint


def route(text: str) -> Route:
    """Return the route `METHOD /path`."""
    method, _, path = text.partition(" ")
    return Route(method, path, "flask", "app.py", 1)


@pytest.mark.parametrize(
    ("declaration", "endpoint", "expected"),
    [
        ("GET /users/{}", "GET /users/{user_id}", True),
        ("GET /users/{}/", "GET /users/{user_id}", True),
        ("GET /users", "GET /users/", True),
        ("* /users", "PATCH /users", True),
        ("GET /files/{*}", "GET /files/{name}", True),
        ("GET /{*}", "GET /{name}", False),
        ("GET /{*}", "GET /users", False),
        ("GET /users/{}", "GET /users/me", False),
        ("GET /users/me", "GET /users/{id}", False),
        ("POST /users", "GET /users", False),
        ("GET /users", "GET /api/users", False),
    ],
)
def test_when_a_route_is_an_endpoint(declaration: str, endpoint: str, expected: bool) -> None:
    """Method and path decide; names and trailing slashes do not, and catching is not implementing."""
    assert implements(route(declaration), parse_endpoint(endpoint)) is expected


def test_routes_that_catch_what_they_are_not() -> None:
    """A parameter's route answers for literal paths that no one implemented."""
    routes = [route("GET /files/{}"), route("GET /{*}"), route("POST /files/{}"), route("GET /files/search")]
    assert caught_by(parse_endpoint("GET /files/search"), routes) == (routes[0], routes[1])


def test_a_file_full_of_comments_implements_nothing(tmp_path: Path) -> None:
    """What is only said counts as nothing; what is declared counts."""
    endpoints = [parse_endpoint("GET /users"), parse_endpoint("POST /users")]
    (tmp_path / "said.py").write_text(
        "# @app.get('/users')\n# @app.post('/users')\nTEXT = '@app.get(\"/users\")'\n"
    )
    assert declared_in(endpoints, tmp_path) == ()
    (tmp_path / "app.py").write_text(
        "from flask import Flask\napp = Flask(__name__)\n@app.route('/users', methods=['POST'])\ndef f(): ...\n"
    )
    assert declared_in(endpoints, tmp_path) == (endpoints[1],)


_PATHS = st.lists(st.sampled_from(["users", "{}", "{*}", "me", ""]), max_size=4).map(
    lambda parts: "/" + "/".join(parts)
)


@given(st.lists(st.tuples(st.sampled_from([*METHODS, "*"]), _PATHS)), st.lists(_PATHS))
def test_what_is_declared_is_specified(routes: list[tuple[str, str]], paths: list[str]) -> None:
    """Whatever is declared, nothing counts that is not specified, and nothing counts twice."""
    endpoints = [Endpoint(method="GET", path=path) for path in paths]
    found = declared(endpoints, [Route(method, path, "", "", 1) for method, path in routes])
    assert len(found) <= len(endpoints)
    assert set(found) <= set(endpoints)
