"""Finding out which requests a service takes, on services that answer in this process."""

import asyncio
import base64
import json
from collections.abc import Callable, Mapping

import pytest

from groundup.grading.services.probing import HttpReply, HttpRequest
from groundup_factory.services.exploring import Explorer
from groundup_factory.services.operations import Operation, Parameter

Answer = tuple[int, Mapping[str, object]]
NAME, PASSWORD = Parameter(name="username"), Parameter(name="password")
REGISTER = Operation(method="POST", path="/register", body=(NAME, PASSWORD))
LOGIN = Operation(method="POST", path="/login", body=(NAME, PASSWORD))
SECRET = Operation(method="GET", path="/secret", secured=True)


class Service:
    """Answers by a function of method, path and the header `Authorization`."""

    def __init__(self, answered: Callable[[str, str], Answer]) -> None:
        self._answered = answered
        self.asked: list[str] = []

    async def ask(self, question: HttpRequest, timeout_s: float | None = None) -> HttpReply | None:
        """Answer in JSON."""
        self.asked.append(f"{question.method} {question.path}")
        status, read = self._answered(self.asked[-1], question.headers.get("Authorization", ""))
        return HttpReply(
            status=status, headers={"content-type": "application/json"}, body=json.dumps(read).encode()
        )


@pytest.mark.parametrize(("header", "kind"), [("Bearer t1", "bearer"), ("Token t1", "token"), ("t1", "plain")])
def test_a_token_is_shown_as_the_service_wants_it(header: str, kind: str) -> None:
    """Also where the refusal is a 400 that asks for a token."""

    def answered(asked: str, authorization: str) -> Answer:
        if asked == "GET /secret":
            return (200, {"a": 1}) if authorization == header else (400, {"msg": "Valid JWT token is missing"})
        return 200, {"token": "t1"} if asked == "POST /login" else {}

    explorer = Explorer(Service(answered), [REGISTER, LOGIN, SECRET])
    asyncio.run(explorer.explore())

    working = explorer.working["GET /secret"]
    assert working.call.login == kind
    assert [str(call.operation) for call in working.before] == ["POST /register", "POST /login"]


def test_accounts_that_the_repository_writes_down_are_tried() -> None:
    """A service without registration, which answers 403 to others."""
    known = "Basic " + base64.b64encode(b"ann:secret").decode()

    def answered(asked: str, authorization: str) -> Answer:
        return (200, {}) if authorization == known else (403, {"error": "Unauthorized access"})

    explorer = Explorer(Service(answered), [SECRET], [("bob", "wrong"), ("ann", "secret")])
    asyncio.run(explorer.explore())

    call = explorer.working["GET /secret"].call
    assert (call.login, call.account) == ("basic", ("ann", "secret"))


def test_what_prepares_a_service_comes_first() -> None:
    """Without its database everything breaks down; each scenario makes it anew."""
    service = Service(lambda asked, _: (200, {}))

    def answered(asked: str, _: str) -> Answer:
        return (200, {}) if "GET /createdb" in service.asked else (500, {})

    service._answered = answered
    things = Operation(method="GET", path="/all")
    explorer = Explorer(service, [things, Operation(method="GET", path="/createdb")])
    asyncio.run(explorer.explore())

    assert [str(call.operation) for call in explorer.working["GET /all"].before] == ["GET /createdb"]
    assert explorer.working["GET /createdb"].before == ()


def test_a_login_works_after_a_registration() -> None:
    """Alone it would be refused, so what makes somebody known comes before it."""
    known: list[str] = []

    def answered(asked: str, _: str) -> Answer:
        if asked == "POST /register":
            known.append("")
            return 201, {}
        return (200, {"token": "t"}) if known and asked == "POST /login" else (400, {"error": "who?"})

    explorer = Explorer(Service(answered), [LOGIN, REGISTER])
    asyncio.run(explorer.explore())

    assert [str(call.operation) for call in explorer.working["POST /login"].before] == ["POST /register"]


def test_what_was_prepared_on_the_way_is_prepared_again() -> None:
    """A login that broke down before its tables were made is found afterwards."""
    service = Service(lambda asked, _: (200, {}))

    def answered(asked: str, authorization: str) -> Answer:
        if asked != "GET /createdb" and "GET /createdb" not in service.asked:
            return 500, {}
        if asked == "GET /secret":
            return (200, {}) if authorization == "Bearer t" else (401, {})
        return 200, {"token": "t"} if asked == "POST /login" else {}

    service._answered = answered
    explorer = Explorer(service, [REGISTER, LOGIN, SECRET, Operation(method="GET", path="/createdb")])
    asyncio.run(explorer.explore())

    assert explorer.working["GET /secret"].call.login == "bearer"


def test_a_key_is_found_by_its_name() -> None:
    """Also where the thing was made at another path than it is shown at."""
    making = Operation(method="POST", path="/url", body=(Parameter(name="target"),))
    shown = Operation(method="GET", path="/admin/{secret_key}", in_path=(Parameter(name="secret_key"),))

    def answered(asked: str, _: str) -> Answer:
        if asked == "POST /url":
            return 201, {"url_key": "u", "secret_key": "s"}
        return (200, {"clicks": 0}) if asked == "GET /admin/s" else (404, {})

    explorer = Explorer(Service(answered), [making, shown])
    asyncio.run(explorer.explore())

    assert "GET /admin/{secret_key}" in explorer.working
