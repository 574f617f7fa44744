"""A small HTTP/1.1 server for clients inside a sandbox. Knows no registry: a handler answers each request.

Clients are hostile. Everything they can make long, large, slow or many has a bound here; what breaks a rule loses
its connection, at no cost to others. Only GET and HEAD are answered, unless the server is made for more;
an answer is bytes, a file, or pieces that come while it is sent.

Honest clients on a busy machine never lose a connection: too many of them wait until one is free, an idle one is
closed to make room or after a quarter of an hour, and a request that is there when its time is up is answered,
for the server itself may have been kept from reading it.
"""

import asyncio
import contextlib
import errno
import math
import select
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import h11

from groundup.domain.errors import GroundupError, SandboxError
from groundup.domain.records import Record
from groundup.sandbox.protocol import Closing, Sandbox

_CHUNK = 256 * 1024
_MOMENT_S = 0.2
_TURNS = 3
"""Of the event loop, in which it hears what a client has sent in time."""
_FAILURES = 100
_SPENT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
READING = ("GET", "HEAD")
"""The methods of a server that only gives out."""


class ServerLimits(Record):
    """What clients of one server may use."""

    connections: int = 128
    """More wait in the socket's queue until one of these is free, or idle for `request_s`."""
    requests_at_once: int = 16
    head_bytes: int = 16 * 1024
    body_bytes: int = 64 * 1024
    """Of one request. Up to `connections` of them are in memory at once."""
    request_s: float = 60.0
    """From a request's first byte to its last; also how long an idle connection is safe from making room."""
    idle_s: float = 900.0
    """How long an idle connection is kept: clients give theirs up sooner, so none asks on one that is closing."""
    write_s: float = 900.0
    """For each piece of an answer to be taken: as long as clients inside are set to wait."""
    total_bytes: int = 16 * 1024**3
    """Of all answers together."""


@dataclass(frozen=True)
class Request:
    """What a client asks. Header names are lower case. The body is whole, and empty when the method has none."""

    path: str
    headers: Mapping[str, str]
    method: str = "GET"
    body: bytes = b""


@dataclass(frozen=True)
class Response:
    """What it gets: bytes, a file that lies on disk, or pieces as they come.

    Pieces are sent at once, each by itself. When they end with a `GroundupError`, the connection breaks off, so
    the client does not take what it has for the whole. A generator is closed when the client is gone.
    """

    status: int
    body: bytes | Path | AsyncIterator[bytes]
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def length(self) -> int | None:
        """How many bytes the body has; None when that is not known before its end."""
        if isinstance(self.body, Path):
            return self.body.stat().st_size
        return len(self.body) if isinstance(self.body, bytes) else None


Handler = Callable[[Request], Awaitable[Response]]


class GatewayServer(Closing):
    """Serves one handler on any number of listening sockets until it is closed."""

    def __init__(
        self, handler: Handler, limits: ServerLimits | None = None, *, methods: Collection[str] = READING
    ) -> None:
        self.limits = limits or ServerLimits()
        self.methods = tuple(methods)
        self.bytes_out = 0
        self.exhausted = False
        """Whether an answer was withheld because all answers together would have been too large."""
        self._handler = handler
        self._slots = asyncio.Semaphore(self.limits.requests_at_once)
        self.failures: list[tuple[str, str]] = []
        """Which answers the host could not give (path and why), the first ones."""
        self._accepting: dict[socket.socket, asyncio.Task[None]] = {}
        self._clients: dict[_Conversation, asyncio.Task[None]] = {}

    async def serve(self, listening: socket.socket) -> None:
        """Accept clients on *listening*, which belongs to the server from now on. Returns at once."""
        listening.setblocking(False)
        self._accepting[listening] = asyncio.create_task(self._accept(listening))

    async def close(self) -> None:
        """Stop listening and drop every client."""
        tasks = [*self._accepting.values(), *self._clients.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for listening in self._accepting:
            listening.close()
        self._accepting.clear()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._room()
            try:
                connection, _ = await loop.sock_accept(listening)
                reader, writer = await asyncio.open_connection(sock=connection)
            except OSError as error:
                if error.errno in _SPENT:  # the client waits in the queue meanwhile
                    await asyncio.sleep(_MOMENT_S)
                continue  # it left before it was accepted
            conversation = _Conversation(self, reader, writer)
            self._clients[conversation] = asyncio.create_task(self._serve(conversation, writer))

    async def _room(self) -> None:
        """Wait until another connection may be had; the one that was idle for longest makes room."""
        while len(self._clients) >= self.limits.connections:
            before = time.monotonic() - self.limits.request_s
            idle = [client for client in self._clients if client.idle_since < before and client.is_silent()]
            if idle:
                oldest = min(idle, key=lambda client: client.idle_since)
                oldest.leaving = True
                self._clients[oldest].cancel()
            await asyncio.wait(self._clients.values(), timeout=_MOMENT_S, return_when=asyncio.FIRST_COMPLETED)

    async def _serve(self, conversation: "_Conversation", writer: asyncio.StreamWriter) -> None:
        try:
            # Whatever a client does wrong ends its own connection, and nothing else.
            with contextlib.suppress(TimeoutError, OSError, h11.ProtocolError, asyncio.CancelledError):
                await conversation.hold()
        finally:
            del self._clients[conversation]
            writer.transport.abort()

    async def _answer(self, request: Request) -> Response:
        async with self._slots:
            response = await self._handler(request)
        if isinstance(response.body, Path) and not response.body.is_file():
            why = f"{response.body} is gone; do not clean the cache during a run"
            if len(self.failures) < _FAILURES:
                self.failures.append((request.path[:200], why))
            return Response(503, f"{why}\n".encode())
        if self.spent(response.length or 0):
            await _closed(response.body)
            return Response(403, b"this sandbox has fetched as many bytes as it may\n")
        return response

    def spent(self, more: int) -> bool:
        """Whether *more* bytes are more than all answers together may have."""
        over = self.bytes_out + more > self.limits.total_bytes
        self.exhausted = self.exhausted or over
        return over


async def listen_at(sandbox: Sandbox, port: int) -> tuple[socket.socket, int]:
    """Return a socket that listens inside, on *port* or else on any, and the port.

    A sandbox has a network of its own, so the port is free, and what an agent prints of its environment is the
    same when an attempt is resumed. Without one (`none`), or with two gateways of a kind, any port will do.
    """
    try:
        return await sandbox.listen(port), port
    except SandboxError:
        listening = await sandbox.listen(0)
        return listening, int(listening.getsockname()[1])


class _Conversation:
    """One connection: requests one after the other, each answered before the next is read."""

    def __init__(self, server: GatewayServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.idle_since = time.monotonic()
        """Since when no request is under way; infinity while one is."""
        self.leaving = False
        """Whether it is to make room for another connection."""
        self._is_late = False
        """Whether the time for a request was up before it was whole."""
        self._server = server
        self._limits = server.limits
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=self._limits.head_bytes)

    def is_silent(self) -> bool:
        """Whether nothing waits to be read of it, not even where the server was kept from reading."""
        waiting = select.poll()
        waiting.register(self._writer.get_extra_info("socket").fileno(), select.POLLIN)
        return not waiting.poll(0)

    async def hold(self) -> None:
        while not self.leaving:
            try:
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

    async def _request(self) -> Request | None:
        """Return the next request with its whole body; None when the client is gone."""
        asked: h11.Request | None = None
        body = bytearray()
        if not self._http.trailing_data[0]:
            self._http.receive_data(await self._first_bytes())
        deadline = time.monotonic() + self._limits.request_s
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    await self._encourage(asked)
                self._http.receive_data(await self._more_bytes(deadline))
            elif isinstance(event, h11.Request):
                asked = event
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > self._limits.body_bytes:
                    raise h11.RemoteProtocolError("body too large", error_status_hint=413)
            elif isinstance(event, h11.EndOfMessage):
                assert asked is not None  # h11 ends no message that it has not begun
                return _request(asked, bytes(body))
            else:
                return None

    async def _first_bytes(self) -> bytes:
        """Return what a next request begins with; nothing when the client is gone or has to go."""
        self.idle_since = time.monotonic()
        try:
            return await self._read(self._limits.idle_s)
        except TimeoutError:
            self.leaving = True
            return await self._at_last()
        except asyncio.CancelledError:
            # `_room` cancels a connection that is to make room. Its cancellation ends here, so that a request that
            # came in the same moment is still answered; any other one goes on.
            task = asyncio.current_task()
            if not self.leaving or task is None or task.uncancel():
                raise
            return await self._at_last()
        finally:
            self.idle_since = math.inf

    async def _more_bytes(self, deadline: float) -> bytes:
        if self._is_late:
            raise TimeoutError
        try:
            return await self._read(deadline - time.monotonic())
        except TimeoutError:
            self._is_late = True
            return await self._at_last()

    async def _at_last(self) -> bytes:
        """Return what is there to be read already; nothing when that is nothing."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError):
            return await self._read(0)
        return b""

    async def _read(self, seconds: float) -> bytes:
        async with asyncio.timeout(seconds):
            return await self._reader.read(self._limits.head_bytes)

    async def _encourage(self, asked: h11.Request | None) -> None:
        """Tell a client that waits before it sends its body that it may, where a body is of use."""
        if asked is None or asked.method.decode("latin-1") in READING:
            raise h11.RemoteProtocolError("no body is wanted", error_status_hint=417)
        if asked.method.decode("latin-1") not in self._server.methods:
            raise h11.RemoteProtocolError("no body is wanted", error_status_hint=417)
        await self._write(h11.InformationalResponse(status_code=100, headers=[]))

    async def _respond(self, asked: Request) -> None:
        if asked.method in self._server.methods:
            await self._send(await self._server._answer(asked), body=asked.method != "HEAD")
            return
        allowed = ", ".join(self._server.methods)
        refusal = Response(405, f"only {allowed} are answered\n".encode(), headers={"Allow": allowed})
        await self._send(refusal, body=asked.method != "HEAD")

    async def _send(self, response: Response, *, body: bool) -> None:
        """Send an answer. Raises `ConnectionAbortedError` when its pieces end too early."""
        headers = [("Content-Type", response.content_type), *response.headers.items()]
        if response.length is not None:
            headers.insert(1, ("Content-Length", str(response.length)))
        try:
            await self._write(h11.Response(status_code=response.status, headers=headers))
            if body:
                async with contextlib.aclosing(_pieces(response.body)) as pieces:
                    async for piece in pieces:
                        if response.length is None and self._server.spent(len(piece)):
                            raise ConnectionAbortedError("all answers together are too large")
                        await self._write(h11.Data(data=piece))
            await self._write(h11.EndOfMessage())
        except GroundupError as error:
            raise ConnectionAbortedError(str(error)) from error
        finally:
            await _closed(response.body)

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


def _request(asked: h11.Request, body: bytes) -> Request:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in asked.headers}
    return Request(
        path=asked.target.decode("latin-1"), headers=headers, method=asked.method.decode("latin-1"), body=body
    )


async def _pieces(body: bytes | Path | AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    if isinstance(body, bytes):
        yield body
    elif isinstance(body, Path):
        with body.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
    else:
        async for piece in body:
            yield piece


async def _closed(body: bytes | Path | AsyncIterator[bytes]) -> None:
    """Let a generator clean up at once."""
    if isinstance(body, AsyncGenerator):
        await body.aclose()
