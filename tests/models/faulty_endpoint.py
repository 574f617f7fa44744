"""An endpoint on loopback that fails as real ones do: it says bytes, waits, breaks off, or is not there.

An `Answer` is what one request gets. The last one of a list is given again and again.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus

from pydantic import JsonValue

JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Answer:
    """What one request gets."""

    body: bytes = b""
    status: int = 200
    kind: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    then: str = "end"
    """After the body: end; cut (close, though more was promised); hang; reset."""
    silent: bool = False
    """Whether not even a head is sent."""

    def head(self) -> bytes:
        """Return status and headers."""
        length = len(self.body) + (0 if self.then == "end" else 1000)
        lines = {"content-type": self.kind, "content-length": str(length), "connection": "close", **self.headers}
        reason = HTTPStatus(self.status).phrase if self.status in set(HTTPStatus) else "Odd"
        shown = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"HTTP/1.1 {self.status} {reason}\r\n{shown}\r\n".encode()


def says(document: JsonValue, status: int = 200, **headers: str) -> Answer:
    """Return an answer in JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps(document).encode(), status, headers=named)


def error(message: str, status: int, **more: JsonValue) -> Answer:
    """Return an error as most endpoints say it."""
    return says({"error": {"message": message, **more}}, status)


def streams(*events: JsonValue, end: bytes = b"data: [DONE]\n\n", then: str = "end", kind: str = EVENTS) -> Answer:
    """Return a stream of events."""
    return Answer(
        b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in events) + end, 200, kind, {}, then
    )


@dataclass
class FaultyEndpoint:
    """What it answers, and what it was asked."""

    answers: Sequence[Answer]
    models: Sequence[Answer]
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[dict[str, JsonValue]] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, path, _ = head.split(" ", 2)
            length = next((line for line in head.lower().splitlines() if line.startswith("content-length:")), ":0")
            body = await reader.readexactly(int(length.partition(":")[2]))
            if method == "GET":
                self.looked.append(path)
                await self._answer(self.models[min(len(self.looked), len(self.models)) - 1], writer)
            else:
                self.asked.append(json.loads(body))
                await self._answer(self.answers[min(len(self.asked), len(self.answers)) - 1], writer)
        writer.close()

    async def _answer(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        if not answer.silent:
            writer.write(answer.head() + answer.body)
            await writer.drain()
        if answer.then == "hang":
            await self.ended.wait()
        if answer.then == "reset":
            writer.transport.abort()


@asynccontextmanager
async def serving(endpoint: FaultyEndpoint, secure: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Yield the address at which *endpoint* answers."""
    server = await asyncio.start_server(endpoint.serve, "127.0.0.1", 0, ssl=secure)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"{'https' if secure else 'http'}://127.0.0.1:{port}"
    finally:
        endpoint.ended.set()
        server.close()
        await server.wait_closed()
