"""groundup's own HTTP questions to an untrusted service.

A deliberately small HTTP/1.1 client: one question per connection, nothing is followed or decoded, and time, head
and body have bounds, because the answer may be anything.
"""

import asyncio
import re
import socket
from collections.abc import Mapping
from contextlib import closing

from pydantic import Field

from groundup.domain.records import Record
from groundup.inside.stopwatch import Stopwatch
from groundup.sandbox.deadlines import limited
from groundup.sandbox.protocol import Connecting

MAX_HEAD_BYTES = 32 * 1024
MAX_BODY_BYTES = 64 * 1024
_MAX_HEADERS = 100
_CHUNK = 16 * 1024
_STATUS = re.compile(rb"HTTP/1\.[0-9] ([1-5][0-9]{2})(?: |$)")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[^\r\n]{0,200}\r\n")
_BODILESS = (204, 304)


class HttpReply(Record):
    """What came back; header names in lower case. The body may be cut, and is not decoded."""

    status: int
    headers: dict[str, str] = {}
    body: bytes = b""

    @property
    def allowed(self) -> frozenset[str]:
        """The methods of an Allow header."""
        words = self.headers.get("allow", "").upper().split(",")
        return frozenset(word.strip() for word in words if word.strip())

    def text(self) -> str:
        """Return the body a character per byte, without the sizes that stand between its chunks."""
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self.body.decode("latin-1")
        found, rest = bytearray(), self.body
        while line := _CHUNK_SIZE.match(rest):
            start, size = line.end(), int(line[1], 16)
            found += rest[start : start + size]
            rest = rest[start + size :].removeprefix(b"\r\n")
            if size == 0:
                break
        return found.decode("latin-1")


class HttpRequest(Record):
    """One request."""

    method: str = Field(pattern=r"^[A-Z]{1,20}$")
    path: str = Field(pattern=r"^/[!-~]*$")
    headers: Mapping[str, str] = {}
    body: bytes = b""


class Caller:
    """Asks the service behind one port of a sandbox's network."""

    def __init__(self, sandbox: Connecting, port: int, timeout_s: float) -> None:
        self.port = port
        self.is_endless = False
        """Whether an answer's head went beyond its bound: what answers so is no HTTP, and never will be."""
        self._sandbox = sandbox
        self._timeout_s = timeout_s

    def stopwatch(self) -> Stopwatch:
        """Return a stopwatch of the service and those who ask it."""
        return self._sandbox.stopwatch()

    async def get(self, path: str, timeout_s: float | None = None) -> HttpReply | None:
        """Ask by GET."""
        return await self.ask(HttpRequest(method="GET", path=path), timeout_s)

    async def ask(self, question: HttpRequest, timeout_s: float | None = None) -> HttpReply | None:
        """Return the answer; None where none came in time, or none that is HTTP."""
        received = bytearray()
        try:
            async with limited(self.stopwatch(), timeout_s or self._timeout_s):
                with closing(await self._sandbox.connect(self.port)) as connection:
                    await asyncio.get_running_loop().sock_sendall(connection, self._written(question))
                    await _receive(connection, received, question.method)
        except (OSError, TimeoutError):  # what had come until then may be a whole answer
            pass
        self.is_endless |= _is_endless(received)
        return parse_answer(bytes(received))

    def _written(self, question: HttpRequest) -> bytes:
        headers = {
            "Host": f"localhost:{self.port}",
            "Connection": "close",
            "User-Agent": "groundup",
            "Accept": "*/*",
            **question.headers,
        }
        if question.body or question.method in ("POST", "PUT", "PATCH"):
            headers["Content-Length"] = str(len(question.body))
        probed = (f"{key}: {text}" for key, text in headers.items())
        lines = [f"{question.method} {question.path} HTTP/1.1", *probed]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + question.body


def parse_answer(data: bytes) -> HttpReply | None:
    """Return what *data* says when it begins as an HTTP answer with a whole head; None otherwise."""
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator or len(head) > MAX_HEAD_BYTES:
        return None
    lines = head.split(b"\r\n")
    found = _STATUS.match(lines[0])
    if found is None:
        return None
    headers: dict[str, str] = {}
    for line in lines[1 : 1 + _MAX_HEADERS]:
        name, colon, text = line.decode("latin-1").partition(":")
        if colon:
            headers.setdefault(name.strip().lower(), text.strip())
    return HttpReply(status=int(found[1]), headers=headers, body=body[:MAX_BODY_BYTES])


async def _receive(connection: socket.socket, received: bytearray, method: str) -> None:
    """Add what comes until the answer is whole, the other side ends, or there is too much."""
    loop = asyncio.get_running_loop()
    while len(received) < MAX_HEAD_BYTES + MAX_BODY_BYTES:
        chunk = await loop.sock_recv(connection, _CHUNK)
        if not chunk:
            return
        received += chunk
        if _is_endless(received) or _is_whole(bytes(received), method):
            return


def _is_endless(received: bytearray) -> bool:
    return len(received) > MAX_HEAD_BYTES and b"\r\n\r\n" not in received[: MAX_HEAD_BYTES + 4]


def _is_whole(data: bytes, method: str) -> bool:
    answer = parse_answer(data)
    if answer is None:
        return False
    if method == "HEAD" or answer.status in _BODILESS:
        return True
    length = answer.headers.get("content-length", "")
    body = data.partition(b"\r\n\r\n")[2]
    if length.isascii() and length.isdigit() and len(length) < 12:
        return len(body) >= min(int(length), MAX_BODY_BYTES)
    return "chunked" in answer.headers.get("transfer-encoding", "").lower() and body.endswith(b"0\r\n\r\n")
