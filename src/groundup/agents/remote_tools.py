"""Servers of tools with an address: spoken to out here, by Streamable HTTP, for clients inside the sandbox.

Inside, a program stands for each of them (`inside/remote_tools.py`): agents and programs start it as any other
server, and what they say to it comes here by the sandbox's loopback. Keys stay outside. What is inside is hostile
and reaches only the addresses that the run's user named; what a server says is capped.
"""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import JsonValue
from typing_extensions import override

from groundup.agents.workspace import HOME, PREFIX
from groundup.domain.errors import UsageError
from groundup.domain.names import is_loopback
from groundup.domain.subjects import ToolServer
from groundup.inside import source_of
from groundup.models.arriving import END_OF_EVENT, data_of
from groundup.registries.server import GatewayServer, Request, Response, ServerLimits, listen_at
from groundup.sandbox.protocol import Closing, Sandbox
from groundup.settings import environment

if TYPE_CHECKING:
    import httpx

_PORT = 29111
_PORT_FILE = f"{HOME}/.groundup-tools"
_LIMITS = ServerLimits(connections=32, requests_at_once=16, body_bytes=8 * 1024 * 1024)
_ANSWER_BYTES = 8 * 1024 * 1024
_ANSWER_S = 600.0
_CONNECT_S = 20.0
_MOST_SESSIONS = 200
_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"


def stand_in(server: ToolServer) -> tuple[str, ...]:
    """Return the command that stands for *server* inside."""
    program = source_of("remote_tools.py").decode()
    return (f"{PREFIX}/bin/python", "-I", "-c", program, server.name, _PORT_FILE)


def filled_headers(server: ToolServer) -> dict[str, str]:
    """Return the headers of *server*, with `${NAME}` filled from the environment. Raises `UsageError`."""
    filled = {}
    known = environment()
    for name, value in server.headers.items():
        parts = value.split("${")
        text = parts[0]
        for part in parts[1:]:
            variable, closed, rest = part.partition("}")
            if not closed or variable not in known:
                raise UsageError(
                    f"the tool server {server.name} wants the environment variable {variable}: set it"
                )
            text += known[variable] + rest
        filled[name] = text
    return filled


class _FailedError(Exception):
    """A server cannot be reached, or says what is no answer."""


class RemoteTools(Closing):
    """The servers with an address of one attempt; used as a context."""

    def __init__(self, servers: Sequence[ToolServer]) -> None:
        self._servers = {server.name: (server, filled_headers(server)) for server in servers if server.url}
        self._sessions: dict[tuple[str, str], dict[str, str]] = {}
        """What a server wants to have back with each message, by server and client."""
        self._client: httpx.AsyncClient | None = None
        self._gateway = GatewayServer(self._handle, _LIMITS, methods=("POST",))

    async def attach(self, sandbox: Sandbox) -> Mapping[str, str]:
        """Serve *sandbox*, where there is something to serve."""
        if self._servers:
            listening, port = await listen_at(sandbox, _PORT)
            await self._gateway.serve(listening)
            await sandbox.write_file(_PORT_FILE, f"{port}\n".encode())
        return {}

    @override
    async def close(self) -> None:
        """Stop serving."""
        await self._gateway.close()
        if self._client is not None:
            await self._client.aclose()

    async def _handle(self, request: Request) -> Response:
        name, _, session = request.path.strip("/").partition("/")
        if name not in self._servers:
            return Response(404, b"no such server")
        try:
            asked = json.loads(request.body)
        except (ValueError, RecursionError):
            return Response(400, b"no JSON")
        if not isinstance(asked, dict):
            return Response(400, b"no message")
        try:
            answer = await self._forwarded(name, session, asked)
        except _FailedError as error:
            if "id" not in asked:
                return Response(202, b"")
            answer = {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32000, "message": str(error)}}
        if answer is None:
            return Response(202, b"")
        return Response(200, json.dumps(answer).encode(), "application/json")

    async def _forwarded(
        self, name: str, session: str, asked: dict[str, JsonValue]
    ) -> dict[str, JsonValue] | None:
        """Return what the server answers to a request; None to a message that wants no answer."""
        import httpx

        server, given = self._servers[name]
        known = self._sessions.get((name, session), {})
        headers = {"Accept": "application/json, text/event-stream", **given, **known}
        try:
            async with self._http().stream("POST", server.url or "", json=asked, headers=headers) as response:
                answer = None
                async with aclosing(_texts(name, response)) as texts:
                    async for text in texts:
                        if (answer := _answer_in(text, asked)) is not None:
                            break  # a stream may go on for ever
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _FailedError(f"{name} cannot be reached: {error or type(error).__name__}") from error
        if response.status_code not in (200, 202, 204):
            raise _FailedError(f"{name} answers with status {response.status_code}")
        if asked.get("method") == "initialize" and len(self._sessions) < _MOST_SESSIONS:
            self._sessions[name, session] = _to_give_back(response, answer)
        if answer is None and "id" in asked and "method" in asked:
            raise _FailedError(f"{name} says nothing that answers this")
        return answer

    def _http(self) -> "httpx.AsyncClient":
        import httpx

        if self._client is None:
            local = all(is_loopback(urlsplit(one.url or "").hostname or "") for one, _ in self._servers.values())
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(_ANSWER_S, connect=_CONNECT_S), trust_env=not local
            )
        return self._client


async def _texts(name: str, response: "httpx.Response") -> AsyncGenerator[bytes, None]:
    """Yield what a server says: each event of a stream as it comes, else the whole answer."""
    streams = response.headers.get("content-type", "").startswith("text/event-stream")
    came, rest = 0, bytearray()
    async for piece in response.aiter_bytes():
        came += len(piece)
        if came > _ANSWER_BYTES:
            raise _FailedError(f"{name} answers with more than {_ANSWER_BYTES} bytes")
        rest += piece
        if streams:
            *events, left = END_OF_EVENT.split(rest)
            rest = bytearray(left)
            for event in events:
                yield data_of(event)
    if not streams:
        yield bytes(rest)


def _answer_in(text: bytes, asked: Mapping[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Return the message *text* if it answers *asked*."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    answers = isinstance(said, dict) and "method" not in said and said.get("id") == asked.get("id")
    return said if answers else None


def _to_give_back(response: "httpx.Response", answer: Mapping[str, JsonValue] | None) -> dict[str, str]:
    kept = {name: response.headers[name] for name in (_SESSION,) if name in response.headers}
    result = answer.get("result") if answer else None
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return {**kept, **({_VERSION: version} if isinstance(version, str) else {})}
