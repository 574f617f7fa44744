"""What the protocols over HTTP share: connections, who asks, what a body holds, and what errors become.

uvicorn waits for ever for a request that comes byte by byte and for a client that does not read, and its fast
reader of HTTP takes a head of any length. Each connection is a descriptor, of which sandboxes need some, too.
"""

import asyncio
import hashlib
import hmac
import json
import resource
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import uvicorn
from pydantic import JsonValue
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.names import is_loopback
from groundup.serving.metrics import Metrics
from groundup.serving.offers import Offer
from groundup.serving.session import EndedError, Rules, StartingError
from groundup.serving.sessions import ExistsError, FullError, Sessions, UnknownSessionError

REQUEST_S = 120.0
"""How long a request may take to arrive, and a client not to read what it asked for."""
HEAD_BYTES = 64 * 1024
BODY_BYTES = 16 * 1024 * 1024
"""Most of a request's body, and of a message of a WebSocket."""
_LAST_WORDS_S = 5
"""For answers to go out, after the last session has ended."""


def _most() -> int:
    """Return how many connections there may be: half of what this process can have open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 4096 if files == resource.RLIM_INFINITY else min(4096, files // 2)


class _Joined:
    """A transport that sends at once what is written in one round of the loop: each piece wakes the client."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self.bare = transport
        self._loop = loop
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bare, name)

    def write(self, data: bytes) -> None:
        """Hold *data* until the next round, or until it is much."""
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held += data
        if len(self._held) > HEAD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send what is held."""
        data, self._held = self._held, b""
        if data and not self.bare.is_closing():
            self.bare.write(data)

    def close(self) -> None:
        self.flush()
        self.bare.close()


class Connection(HttpToolsProtocol):
    """Ends itself when its client is too slow, or sends too much."""

    patience_s = REQUEST_S

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are too many."""
        self.ends: dict[str, asyncio.TimerHandle] = {}
        self._came = 0  # bytes of the request so far
        self._is_ours = True
        super().connection_made(transport)
        self._joined = _Joined(transport, self.loop)
        self.transport = self._joined  # type: ignore[assignment] # all that its base uses is there
        if len(self.connections) > _most():
            transport.abort()
        else:
            self._wait("asks")

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more("asks")
        self._wait_no_more("reads")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, as long as the request may come."""
        last, self._came = self.cycle, self._came + len(data)
        has_body = last is not None and last.more_body
        super().data_received(data)
        if self.cycle is not last or (has_body and not last.more_body):
            self._came = 0
        elif self._came > (2 * BODY_BYTES if has_body else HEAD_BYTES):
            self.transport.abort()
        if not self._is_ours:
            return
        if self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete:
            self._wait_no_more("asks")
        elif "asks" not in self.ends:
            self._wait("asks")

    def pause_writing(self) -> None:
        """Give the client time to read."""
        super().pause_writing()
        self._wait("reads")

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        self._wait_no_more("reads")

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to its other protocol, which asks by itself whether the client is there."""
        self._is_ours = False
        self._wait_no_more("asks")
        self.transport = self._joined.bare
        super().handle_websocket_upgrade()

    def _wait(self, until: str) -> None:
        self.ends[until] = self.loop.call_later(self.patience_s, self.transport.abort)

    def _wait_no_more(self, until: str) -> None:
        if (timer := self.ends.pop(until, None)) is not None:
            timer.cancel()


def configured(app: ASGIApp, connection: type[Connection] = Connection) -> uvicorn.Config:
    """Return how *app* is served. Whom a client says that it speaks for is not believed."""
    return uvicorn.Config(
        app,
        http=connection,
        ws_max_size=BODY_BYTES,
        proxy_headers=False,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_LAST_WORDS_S,
        server_header=False,
    )


OPEN_PATHS = frozenset({"/health", "/openenv/health"})
"""What needs no token: whether the server is there."""
STARTING = {"X-Backend-State": "starting", "Retry-After": "2"}
"""By these headers clients know that nothing was done, and ask again for minutes."""
_CLIENT = "groundup.client"


@dataclass(frozen=True)
class ServedTasks:
    """What all protocols offer."""

    offer: Offer
    rules: Rules
    sessions: Sessions
    metrics: Metrics


def client_of(connection: HTTPConnection) -> str:
    """Return who asks: a digest of the token, or the host."""
    return str(connection.scope[_CLIENT])


async def body_of(request: Request) -> dict[str, JsonValue]:
    """Return the JSON object that a request holds; nothing for an empty body. Raises `UsageError`."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > BODY_BYTES:
            raise HTTPException(413, f"a request has at most {BODY_BYTES // 1024**2} MiB")
    if not data:
        return {}
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise UsageError("the body is no JSON object")
    return document


async def left(receive: Receive) -> None:
    """Return when the client, whose request was read, has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def refusal(error: Exception) -> Response:
    """Return what a client gets for an error of ours."""
    match error:
        case HTTPException(status_code=status, detail=detail):
            return JSONResponse({"detail": detail}, status)
        case UsageError() | ExistsError():
            return JSONResponse({"detail": str(error)}, 400)
        case UnknownSessionError():
            return JSONResponse({"detail": str(error)}, 404)
        case EndedError():
            return JSONResponse({"detail": str(error)}, 410)
        case StartingError() | FullError():
            return JSONResponse({"detail": str(error)}, 503, headers=STARTING)
        case GroundupError():
            return JSONResponse({"detail": str(error)}, 500)
    return JSONResponse({"detail": f"a bug of the server: {type(error).__name__}"}, 500)


async def refused(request: Request, error: Exception) -> Response:
    """Return `refusal`, as Starlette calls it."""
    return refusal(error)


class Direct:
    """Answers what is asked for at a path without parameters. The rest is Starlette's, whose way there is long."""

    def __init__(self, routes: Iterable[BaseRoute], rest: ASGIApp) -> None:
        # Of two routes to one path the first answers, as Starlette has it.
        plain = [route for route in reversed([*routes]) if isinstance(route, Route) and "{" not in route.path]
        self._handlers = {(verb, one.path): one.endpoint for one in plain for verb in one.methods or ()}
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._handlers.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if handler is None:
            await self._rest(scope, receive, send)
            return
        try:
            response = await handler(Request(scope, receive, send))
        except (GroundupError, HTTPException) as error:
            response = refusal(error)
        await response(scope, receive, send)


class Gate:
    """Lets in who has a token; without tokens, everybody on this machine who is no page in a browser."""

    def __init__(self, app: ASGIApp, tokens: Sequence[str] = ()) -> None:
        self._app = app
        self._clients = {token.encode(): f"token-{_digest(token)}" for token in tokens}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with 401 or 403."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        client = self._named(headers)
        if client is None and scope["path"] not in OPEN_PATHS:
            await _deny(401, "no token of this server: send it as Authorization: Bearer", scope, receive, send)
        elif not self._clients and ("origin" in headers or not _is_here(headers.get("host", ""))):
            # A page can give this machine's address to a name of its own; the name stays in the header.
            await _deny(403, "pages in browsers may not ask a server without a token", scope, receive, send)
        else:
            host = (scope.get("client") or ("local", 0))[0]
            scope[_CLIENT] = client or str(host)
            await self._app(scope, receive, send)

    def _named(self, headers: Headers) -> str | None:
        """Return the client whose token is among *headers*; empty where none is needed, None for a stranger."""
        if not self._clients:
            return ""
        given = [headers.get("x-api-key", "")]
        scheme, _, value = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            given.append(value.strip())
        for token, client in self._clients.items():
            if any(hmac.compare_digest(token, one.encode()) for one in given):
                return client
        return None


@lru_cache(maxsize=16)
def _is_here(host: str) -> bool:
    bare, _, port = host.lower().rpartition(":")
    name = bare if port.isdecimal() else host.lower()
    return is_loopback(name.strip("[]")) or name.endswith(".localhost")


async def _deny(status: int, detail: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close"})  # before it is accepted: the answer is 403
        return
    await JSONResponse({"detail": detail}, status)(scope, receive, send)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:8]


def text_of(given: Mapping[str, JsonValue], name: str) -> str | None:
    """Return a text of a body; None where it is absent or null. Raises `UsageError`."""
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} is a text")
    return value
