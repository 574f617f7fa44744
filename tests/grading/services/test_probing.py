"""Telling routes from missing ones, as frameworks answer."""

import itertools
import re
from pathlib import Path

import pytest

from groundup.grading.services.probing import MAX_HEAD_BYTES, Presence, ProbedRoute, parse_answer, probe_routes
from tests.grading.services.answering import Respond, http, serving

ROUTES = {
    "/health": {"GET"},
    "/users": {"GET", "POST"},
    "/users/{id}": {"GET", "DELETE"},
}
_SECONDS = itertools.count(10_101, 911)
NUMBERED = re.compile(r"/users/(\d+)")


def place(path: str) -> str | None:
    """Return the pattern that serves *path*."""
    return path if path in ("/health", "/users") else "/users/{id}" if NUMBERED.fullmatch(path) else None


def flask(method: str, path: str) -> bytes:
    """Answer as Flask does; handlers' own 404 looks like the framework's."""
    methods = ROUTES.get(place(path) or "", set())
    if not methods:
        return http(404, "<h1>Not Found</h1>")
    if method == "OPTIONS":
        return http(200, "", Allow=", ".join(sorted(methods | {"OPTIONS"})))
    if method not in methods:
        return http(405, "<h1>Method Not Allowed</h1>", Allow=", ".join(sorted(methods)))
    return http(404, "<h1>Not Found</h1>") if "{" in str(place(path)) else http(200, "[]")


def fastapi(method: str, path: str) -> bytes:
    """Answer as FastAPI does; OPTIONS is no help, and a body is asked for."""
    methods = ROUTES.get(place(path) or "", set())
    if not methods:
        return http(404, '{"detail":"Not Found"}')
    if method not in methods:
        return http(405, '{"detail":"Method Not Allowed"}', Allow=next(iter(sorted(methods))))
    if method == "POST":
        return http(422, '{"detail":"Field required"}')
    return http(404, '{"detail":"Not Found"}') if "{" in str(place(path)) else http(200, "[]")


def django_rest_framework(method: str, path: str) -> bytes:
    """Answer as Django REST framework does: credentials first, but Allow always."""
    methods = ROUTES.get(place(path) or "", set())
    if not methods:
        return http(404, f"<h1>Not Found</h1><p>{path}</p>")
    return http(401, '{"detail":"credentials"}', Allow=", ".join(sorted(methods | {"OPTIONS"})))


def spring(method: str, path: str) -> bytes:
    """Answer as Spring Boot does: in chunks whose sizes differ with the path, the time to the millisecond."""
    methods = ROUTES.get(place(path) or "", set())
    if method == "OPTIONS" and methods:
        return http(200, "", Allow=", ".join(sorted(methods)))
    status = 405 if methods and method not in methods else 200 if methods and "{" not in str(place(path)) else 404
    moment = f"2026-11-21T11:42:{next(_SECONDS) / 1000:06.3f}"
    body = f'{{"timestamp":"{moment}","status":{status},"path":"{path}"}}' if status != 200 else "[]"
    head = f"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return f"{head}{len(body):x}\r\n{body}\r\n0\r\n\r\n".encode()


def plain(method: str, path: str) -> bytes:
    """Answer as a handler on Python's http.server does: 501 for methods without a function."""
    if method not in ("GET", "POST", "DELETE"):
        return http(501, "Unsupported method")
    if method not in ROUTES.get(place(path) or "", set()):
        return http(404, '{"error":"no such page"}')
    return http(200, "[]") if "{" not in str(place(path)) else http(404, '{"error":"no such user"}')


async def presences(respond: Respond, folder: Path, *routes: str) -> list[Presence]:
    """Return what is found of *routes*; a third word is the body that they should take."""
    words = [route.split(maxsplit=2) for route in routes]
    asked = [ProbedRoute(method=one[0], path=one[1], body="".join(one[2:]).encode()) for one in words]
    async with serving(respond, folder) as caller:
        return [one.presence for one in await probe_routes(caller, asked, 30.0)]


@pytest.mark.parametrize("respond", [flask, fastapi, spring, django_rest_framework, plain])
async def test_routes_that_exist_are_found(respond: Respond, tmp_path: Path) -> None:
    """Also where nothing with such an id exists, and without credentials or a valid body."""
    found = await presences(
        respond, tmp_path, "GET /health", "POST /users", "GET /users/{id}", "DELETE /users/{id}"
    )

    assert set(found) == {Presence.PRESENT}


@pytest.mark.parametrize("respond", [flask, fastapi, spring, django_rest_framework, plain])
async def test_routes_that_do_not_exist_are_missed(respond: Respond, tmp_path: Path) -> None:
    """A missing path and a missing method of a known path, whatever the framework says."""
    found = await presences(respond, tmp_path, "GET /rooms", "DELETE /health", "POST /users/search")

    assert Presence.PRESENT not in found
    assert found[0] is Presence.MISSING


@pytest.mark.parametrize("status", [200, 302, 401, 500])
async def test_one_answer_to_everything_is_no_evidence(status: int, tmp_path: Path) -> None:
    """A catch-all, a wall of credentials or a broken service shows nothing of its routes."""
    found = await presences(
        lambda method, path: http(status, f"you asked {path}"), tmp_path, "GET /users", "PUT /a/{b}"
    )

    assert set(found) == {Presence.UNCLEAR}


async def test_not_found_to_everything_is_missing(tmp_path: Path) -> None:
    """404 to all paths, with the path in it, implements nothing."""
    found = await presences(
        lambda method, path: http(404, f"no {path}"), tmp_path, "GET /users", "GET /users/{id}"
    )

    assert set(found) == {Presence.MISSING}


async def test_ids_of_several_kinds_are_tried(tmp_path: Path) -> None:
    """A route that takes only UUIDs exists."""

    def uuids_only(method: str, path: str) -> bytes:
        return http(403, "no") if re.fullmatch(r"/files/[0-9a-f-]{36}", path) else http(404, "nothing here")

    assert await presences(uuids_only, tmp_path, "GET /files/{id}") == [Presence.PRESENT]


class Shop:
    """A service that makes things under ids that no one guesses, and shows them with *shown*."""

    def __init__(self, shown: int) -> None:
        self.things: set[str] = set()
        self.shown = shown

    def __call__(self, method: str, path: str) -> bytes:
        """Answer."""
        if (method, path) == ("POST", "/things"):
            self.things.add(f"t-{len(self.things)}-x")
            return http(201, f'{{"name": "sample", "thing_id": "t-{len(self.things) - 1}-x"}}')
        if (method, path) == ("GET", "/things"):
            return http(200, "[]") if self.things else http(500, "nothing is here yet")
        found = re.fullmatch(r"/things/([^/]+)(/parts)?", path)
        if found is None:
            return http(404, "no page")
        return http(self.shown if found[1] in self.things else 404, '{"error": "no such thing, or it is well"}')


async def test_what_was_made_is_asked_for_by_its_id(tmp_path: Path) -> None:
    """Makers come first, so lists that need a thing have one, and things are found; results keep their order."""
    found = await presences(
        Shop(200), tmp_path, "DELETE /things/{id}", "GET /things/{id}", "GET /things/{id}/parts", "GET /things",
        'POST /things {"name": "sample"}',
    )  # fmt: skip

    assert found == [Presence.PRESENT] * 5


async def test_makers_are_asked_before_what_shows_and_what_removes(tmp_path: Path) -> None:
    """Lists, makers, makers below things, things, changes and removals, in whatever order they are named."""
    asked: list[str] = []

    def shop(method: str, path: str) -> bytes:
        asked.append(f"{method} {path}")
        return http(404, "no page") if "zq" in path else http(200, "{}")

    routes = ["GET /a", "POST /a", "POST /a/{id}/b", "GET /a/{id}", "PUT /a/{id}", "DELETE /a/{id}", "DELETE /a"]
    found = await presences(shop, tmp_path, *reversed(routes))

    assert found == [Presence.PRESENT] * 7
    named = [route.replace("{id}", "1") for route in routes]
    assert [one for one in dict.fromkeys(asked) if one in named] == [*named[:5], *reversed(named[5:])]
    assert asked.count("GET /a") == 1, "what is there is not asked for again when something was made"


@pytest.mark.parametrize("shown", [404, 500])
async def test_what_cannot_be_found_after_it_was_made_fails(shown: int, tmp_path: Path) -> None:
    """A route that answers every id, also one that the service has just given, with an error fails."""
    found = await presences(Shop(shown), tmp_path, "POST /things {}", "GET /things/{id}", "GET /things")

    assert found == [Presence.PRESENT, Presence.FAILING, Presence.PRESENT]


@pytest.mark.parametrize("listed", ['[{"id": 7}]', '{"data": {"total": 1, "things": [{"thing_id": "7"}]}}'])
async def test_what_is_listed_exists(listed: str, tmp_path: Path) -> None:
    """Also where nothing could be made: a thing of the list that cannot be found fails."""

    def forgetful(method: str, path: str) -> bytes:
        if (method, path) == ("GET", "/things"):
            return http(200, listed)
        return http(404, '{"error": "no such thing"}' if path.startswith("/things/") else "no page")

    assert await presences(forgetful, tmp_path, "GET /things/{id}", "GET /things") == [
        Presence.FAILING,
        Presence.PRESENT,
    ]


async def test_breaking_down_fails_where_nothing_else_can_be_the_cause(tmp_path: Path) -> None:
    """5xx to a plain question, or to the body that is specified; an unknown body or id excuses."""

    def broken(method: str, path: str) -> bytes:
        return http(404, "no page") if "zq" in path else http(500, "it broke")

    found = await presences(
        broken, tmp_path, "GET /list", 'POST /things {"name": "x"}', "POST /others", "GET /things/{id}"
    )

    assert found == [Presence.FAILING, Presence.FAILING, Presence.PRESENT, Presence.PRESENT]


async def test_an_id_that_was_only_repeated_is_none(tmp_path: Path) -> None:
    """A service that sends back what it was sent has made nothing under that id."""

    def echo(method: str, path: str) -> bytes:
        if (method, path) == ("POST", "/things"):
            return http(200, '{"thing_id": "sample"}')
        return http(404, '{"error": "no such thing"}' if path.startswith("/things/") else "no page")

    assert await presences(echo, tmp_path, 'POST /things {"thing_id": "sample"}', "GET /things/{thing_id}") == [
        Presence.PRESENT,
        Presence.PRESENT,
    ]


async def test_no_time_is_no_evidence(tmp_path: Path) -> None:
    """What could not be asked is silent, never missing."""
    async with serving(flask, tmp_path) as caller:
        found = await probe_routes(caller, [ProbedRoute(method="GET", path="/health")], -1.0)

    assert [one.presence for one in found] == [Presence.SILENT]


def test_a_head_is_as_long_as_it_may_be() -> None:
    """One more byte, and it is no answer; nor is what has no end of its head."""
    head = b"HTTP/1.1 200 OK\r\nX: "
    head += b"x" * (MAX_HEAD_BYTES - len(head))
    longest = parse_answer(head + b"\r\n\r\nbody")
    assert longest is not None
    assert (longest.status, longest.body) == (200, b"body")
    assert parse_answer(head + b"x\r\n\r\nbody") is None
    assert parse_answer(head) is None
