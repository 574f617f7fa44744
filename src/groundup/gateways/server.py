"""A small HTTP/1.1 server for clients inside a sandbox. Knows no registry: a handler answers each request.

Clients are hostile. Everything they can make long, large, slow or many has a bound here; what breaks a rule loses
its connection and costs nobody else anything.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import h11

from groundup.domain.records import Record

_CHUNK = 256 * 1024


class ServerLimits(Record):
    """What clients of one server may use."""

    connections: int = 64
    requests_at_once: int = 16
    requests_per_connection: int = 2000
    head_bytes: int = 16 * 1024
    body_bytes: int = 64 * 1024
    request_s: float = 20.0
    """From the first wish for a request to its last byte; also how long an idle connection is kept."""
    write_s: float = 60.0
    """For each piece of an answer to be taken."""
    total_bytes: int = 16 * 1024**3
    """Of all answers together."""


@dataclass(frozen=True)
class Request:
    """What a client asks. Header names are lower case."""

    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Response:
    """What it gets: bytes, or a file that lies on disk."""

    status: int
    body: bytes | Path
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """How many bytes the body has."""
        return self.body.stat().st_size if isinstance(self.body, Path) else len(self.body)


Handler = Callable[[Request], Awaitable[Response]]


class GatewayServer:
    """Serves one handler on any number of listening sockets until it is closed."""

    def __init__(self, handler: Handler, limits: ServerLimits | None = None) -> None:
        self.limits = limits or ServerLimits()
        self.bytes_out = 0
        self.exhausted = False
        """Whether an answer was withheld because all answers together would have been too large."""
        self._handler = handler
        self._slots = asyncio.Semaphore(self.limits.requests_at_once)
        self._servers: list[asyncio.Server] = []
        self._clients: set[asyncio.Task[None]] = set()

    async def serve(self, listening: socket.socket) -> None:
        """Accept clients on *listening*, which belongs to the server from now on. Returns at once."""
        listening.setblocking(False)
        self._servers.append(await asyncio.start_server(self._accepted, sock=listening))

    async def close(self) -> None:
        """Stop listening and drop every client."""
        for server in self._servers:
            server.close()
        for task in self._clients:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= self.limits.connections:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None  # asyncio runs each client in a task
        self._clients.add(task)
        try:
            # Whatever a client does wrong ends its own connection, and nothing else.
            with contextlib.suppress(TimeoutError, OSError, h11.ProtocolError, asyncio.CancelledError):
                await _Conversation(self, reader, writer).hold()
        finally:
            self._clients.discard(task)
            writer.transport.abort()

    async def _answer(self, request: Request) -> Response:
        async with self._slots:
            response = await self._handler(request)
        if self.bytes_out + response.length > self.limits.total_bytes:
            self.exhausted = True
            return Response(403, b"this sandbox has fetched as many bytes as it may\n")
        return response


class _Conversation:
    """One connection: requests one after the other, each answered before the next is read."""

    def __init__(self, server: GatewayServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._limits = server.limits
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.head_bytes)

    async def hold(self) -> None:
        for _ in range(self._limits.requests_per_connection):
            try:
                async with asyncio.timeout(self._limits.request_s):
                    asked = await self._request()
            except h11.RemoteProtocolError as error:
                if self._http.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                    await self._send(Response(error.error_status_hint, b"this is not a request\n"), body=True)
                break
            if asked is None:
                break
            await self._respond(asked)
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                break
            self._http.start_next_cycle()
        await self._finish()

    async def _request(self) -> h11.Request | None:
        """Return the next request, its body read and dropped; None when the client is gone."""
        request: h11.Request | None = None
        dropped = 0
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    raise h11.RemoteProtocolError("no body is wanted", error_status_hint=417)
                self._http.receive_data(await self._reader.read(self._limits.head_bytes))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                dropped += len(event.data)
                if dropped > self._limits.body_bytes:
                    raise h11.RemoteProtocolError("body too large", error_status_hint=413)
            elif isinstance(event, h11.EndOfMessage):
                return request
            else:
                return None

    async def _respond(self, asked: h11.Request) -> None:
        method = asked.method.decode("latin-1")
        if method not in {"GET", "HEAD"}:
            await self._send(
                Response(405, b"only GET and HEAD are answered\n", headers={"Allow": "GET, HEAD"}), body=True
            )
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in asked.headers}
        request = Request(path=asked.target.decode("latin-1"), headers=headers)
        await self._send(await self._server._answer(request), body=method == "GET")

    async def _send(self, response: Response, *, body: bool) -> None:
        headers = [("Content-Type", response.content_type), ("Content-Length", str(response.length))]
        headers += list(response.headers.items())
        await self._write(h11.Response(status_code=response.status, headers=headers))
        if body:
            for chunk in _pieces(response.body):
                await self._write(h11.Data(data=chunk))
        await self._write(h11.EndOfMessage())

    async def _write(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._server.bytes_out += len(data)
            self._writer.write(data)
            async with asyncio.timeout(self._limits.write_s):
                await self._writer.drain()

    async def _finish(self) -> None:
        """Let the last answer arrive before the connection is dropped."""
        self._writer.close()
        async with asyncio.timeout(self._limits.write_s):
            await self._writer.wait_closed()


def _pieces(body: bytes | Path) -> Iterator[bytes]:
    if isinstance(body, bytes):
        yield body
        return
    with body.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
