"""What the protocols over HTTP share: who asks, what a body holds, and what errors become."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.names import is_loopback
from groundup.serving.connections import BODY_BYTES
from groundup.serving.metrics import Metrics
from groundup.serving.offers import Offer
from groundup.serving.session import EndedError, Rules, StartingError
from groundup.serving.sessions import ExistsError, FullError, Sessions, UnknownSessionError

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
        """Answer."""
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
        await send({"type": "websocket.close", "code": 4401, "reason": detail})
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
