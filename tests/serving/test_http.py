"""Who is let in, and what errors become: over the ASGI interface, to the letter."""

import asyncio
import hashlib
import json
import resource
from collections.abc import Sequence
from typing import Any, cast

import pytest
from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Message, Receive, Scope, Send

from groundup.domain.errors import GroundupError, InfrastructureError, UsageError
from groundup.serving.http import (
    BODY_BYTES,
    HEAD_BYTES,
    Direct,
    Gate,
    _Joined,
    _most,
    body_of,
    client_of,
    configured,
    left,
    refusal,
    text_of,
)
from groundup.serving.session import EndedError, StartingError
from groundup.serving.sessions import ExistsError, FullError, UnknownSessionError

ONE, TWO = (f"token-{hashlib.sha256(token.encode()).hexdigest()[:8]}" for token in ("secret-one", "secret-two"))
PAGE = "pages in browsers may not ask a server without a token"
NO_TOKEN = "no token of this server: send it as Authorization: Bearer"


async def asked(
    tokens: Sequence[str], path: str = "/a", kind: str = "http", client: object = ("10.0.0.1", 5), **headers: str
) -> tuple[str, list[Message]]:
    """Return whom a gate lets in, empty for nobody, and what it answers."""
    let_in: list[str] = []
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        let_in.append(client_of(Request(scope)) if "http" in scope["type"] else scope["type"])

    async def receive() -> Message:
        raise AssertionError("nobody reads")

    async def send(message: Message) -> None:
        sent.append(message)

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "path": path, "headers": named, "client": client}
    await Gate(app, tokens)(scope, receive, send)
    return "".join(let_in), sent


@pytest.mark.parametrize(
    ("tokens", "headers", "client"),
    [
        ((), {"host": "localhost"}, "10.0.0.1"),
        ((), {"host": "127.0.0.1:80"}, "10.0.0.1"),
        ((), {"host": "[::1]"}, "10.0.0.1"),
        ((), {"host": "[::1]:80"}, "10.0.0.1"),
        ((), {"host": "A.LOCALHOST:1"}, "10.0.0.1"),
        (("secret-one",), {"authorization": "Bearer secret-one"}, ONE),
        (("secret-one",), {"authorization": "bearer  secret-one "}, ONE),
        (("secret-one", "secret-two"), {"x_api_key": "secret-two"}, TWO),
        (("secret-one", "secret-two"), {"x_api_key": "wrong", "authorization": "Bearer secret-two"}, TWO),
        (("secret-one",), {"authorization": "Bearer secret-one", "origin": "x", "host": "evil.example"}, ONE),
    ],
)
async def test_who_is_let_in(tokens: Sequence[str], headers: dict[str, str], client: str) -> None:
    """By a token, from anywhere; without tokens whoever asks this machine by a name of its own."""
    assert await asked(tokens, **headers) == (client, [])


@pytest.mark.parametrize(
    ("tokens", "headers", "status", "detail"),
    [
        ((), {}, 403, PAGE),
        ((), {"host": "evil.example"}, 403, PAGE),
        ((), {"host": "xlocalhost:80"}, 403, PAGE),
        ((), {"host": "localhost", "origin": "http://localhost"}, 403, PAGE),
        (("secret-one",), {"host": "localhost"}, 401, NO_TOKEN),
        (("secret-one",), {"authorization": "Basic secret-one"}, 401, NO_TOKEN),
        (("secret-one",), {"authorization": "secret-one"}, 401, NO_TOKEN),
        (("secret-one",), {"x_api_key": "secret-on"}, 401, NO_TOKEN),
    ],
)  # fmt: skip
async def test_who_is_not(tokens: Sequence[str], headers: dict[str, str], status: int, detail: str) -> None:
    """With what to send; a WebSocket is closed before it is accepted."""
    client, (start, body) = await asked(tokens, **headers)
    assert (client, start["status"], json.loads(body["body"])) == ("", status, {"detail": detail})
    assert await asked(tokens, kind="websocket", **headers) == ("", [{"type": "websocket.close"}])


async def test_whether_a_server_is_there_may_be_asked_without_a_token() -> None:
    """And a start of the server is nobody's request; a client on a socket has no host."""
    for path in ("/health", "/openenv/health"):
        assert await asked(("secret-one",), path) == ("10.0.0.1", [])
    assert (await asked(("secret-one",), "/health/more"))[0] == ""
    assert await asked(("secret-one",), kind="lifespan") == ("lifespan", [])
    assert await asked((), client=None, host="localhost") == ("local", [])


@pytest.mark.parametrize(
    ("error", "status", "detail"),
    [
        (HTTPException(413, "too much"), 413, "too much"),
        (UsageError("wrong"), 400, "wrong"),
        (ExistsError("there"), 400, "there"),
        (UnknownSessionError("none"), 404, "none"),
        (EndedError("over"), 410, "over"),
        (StartingError("soon"), 503, "soon"),
        (FullError("full"), 503, "full"),
        (InfrastructureError("broken"), 500, "broken"),
        (GroundupError("ours"), 500, "ours"),
        (KeyError("secret"), 500, "a bug of the server: KeyError"),
    ],
)
def test_what_errors_become(error: Exception, status: int, detail: str) -> None:
    """A bug's words stay here; what may be asked again says so in headers."""
    answer = refusal(error)
    assert (answer.status_code, json.loads(bytes(answer.body))) == (status, {"detail": detail})
    again = (answer.headers.get("x-backend-state"), answer.headers.get("retry-after"))
    assert again == (("starting", "2") if status == 503 else (None, None))


def test_a_text_of_a_body_is_a_text() -> None:
    """Or absent."""
    assert [text_of(given, "a") for given in ({}, {"a": None}, {"a": ""}, {"a": "x"})] == [None, None, "", "x"]
    values: list[JsonValue] = [0, False, [], {}]
    for wrong in values:
        with pytest.raises(UsageError, match=r"^a is a text$"):
            text_of({"a": wrong}, "a")


async def test_plain_paths_are_answered_directly() -> None:
    """The first of two routes to one path; all else, and other errors, are the rest's."""
    rest: list[str] = []
    sent: list[Any] = []

    def saying(word: str) -> Any:
        async def answer(request: Request) -> Response:
            if word == "usage":
                raise UsageError("wrong")
            if word == "http":
                raise HTTPException(418, "a teapot")
            return JSONResponse(word)

        return answer

    async def other(scope: Scope, receive: Receive, send: Send) -> None:
        rest.append(f"{scope['type']} {scope.get('method')} {scope['path']}")

    async def receive() -> Message:
        raise AssertionError("nobody reads")

    async def send(message: Message) -> None:
        sent.append(message.get("status") or json.loads(message["body"]))

    routes: list[BaseRoute] = [
        Route("/a", saying("first"), methods=["POST"]),
        Route("/a", saying("second"), methods=["POST", "PUT"]),
        Route("/b/{rest}", saying("never")),
        Route("/usage", saying("usage")),
        Route("/http", saying("http")),
    ]
    direct = Direct(routes, other)
    for kind, method, path in (
        ("http", "POST", "/a"), ("http", "PUT", "/a"), ("http", "GET", "/usage"), ("http", "HEAD", "/http"),
        ("http", "GET", "/a"), ("http", "GET", "/b/{rest}"), ("http", "GET", "/b/x"), ("websocket", "POST", "/a"),
    ):  # fmt: skip
        await direct({"type": kind, "method": method, "path": path, "headers": []}, receive, send)
    assert sent == [200, "first", 200, "second", 400, {"detail": "wrong"}, 418, {"detail": "a teapot"}]
    assert rest == ["http GET /a", "http GET /b/{rest}", "http GET /b/x", "websocket POST /a"]


async def test_a_client_has_left_when_it_disconnects() -> None:
    """Not when more of its request comes."""
    messages = [{"type": "http.request"}, {"type": "http.request"}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        return messages.pop(0)

    await asyncio.wait_for(left(receive), 5)
    assert messages == []


def test_how_an_application_is_served() -> None:
    """Whom a client says that it speaks for is not believed, and nothing of ours is told."""
    found = configured(JSONResponse({}))
    assert (found.proxy_headers, found.access_log, found.server_header) == (False, False, False)
    assert (found.lifespan, found.log_config, found.timeout_graceful_shutdown) == ("off", None, 5)
    assert (found.ws_max_size, found.timeout_keep_alive) == (16 * 1024 * 1024, 75)


@pytest.mark.parametrize(
    ("files", "most"), [(1024, 512), (10, 5), (8192, 4096), (8194, 4096), (resource.RLIM_INFINITY, 4096)]
)
def test_half_of_all_descriptors_are_for_connections(
    monkeypatch: pytest.MonkeyPatch, files: int, most: int
) -> None:
    """The others are for sandboxes."""
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (files, files))
    assert _most() == most


class Wire:
    """A transport that keeps what it sends."""

    name = "wire"

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closing = False

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True


async def test_what_is_written_in_one_round_is_sent_as_one() -> None:
    """Much is sent at once, as is what is left when it closes; to who is gone nothing."""
    wire = Wire()
    joined = _Joined(cast("asyncio.Transport", wire), asyncio.get_running_loop())
    assert joined.name == "wire"
    for data in (b"a", b"b", b""):
        joined.write(data)
    assert wire.sent == []
    await asyncio.sleep(0)
    assert wire.sent == [b"ab"]
    joined.write(bytes(HEAD_BYTES))
    assert len(wire.sent) == 1
    joined.write(b"c")
    assert [len(data) for data in wire.sent] == [2, HEAD_BYTES + 1]
    await asyncio.sleep(0)
    joined.flush()
    assert len(wire.sent) == 2
    joined.write(b"d")
    joined.close()
    assert (wire.sent[2:], wire.closing) == ([b"d"], True)
    joined.write(b"e")
    joined.flush()
    assert len(wire.sent) == 3


async def test_a_client_without_an_address_is_local() -> None:
    """As over a Unix socket."""
    assert await asked((), host="localhost", client=None) == ("local", [])


async def test_a_body_that_is_too_large_names_the_limit() -> None:
    """In MiB."""

    async def receive() -> Message:
        return {"type": "http.request", "body": bytes(BODY_BYTES), "more_body": True}

    with pytest.raises(HTTPException) as refused:
        await body_of(Request({"type": "http", "method": "POST", "headers": []}, receive))
    assert (refused.value.status_code, refused.value.detail) == (413, "a request has at most 16 MiB")
