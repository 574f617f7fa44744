"""Services made of one function, behind the sockets of a fake sandbox."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from groundup.grading.services.probing import Caller
from groundup.sandbox.protocol import SandboxSpec
from tests.sandbox.fake import FakeProvider

PORT = 8080
Respond = Callable[[str, str], bytes]
"""Gets method and path; returns all bytes of the answer."""


def http(status: int, body: str = "", **headers: str) -> bytes:
    """Return an ordinary answer."""
    ended = {"Content-Type": "application/json", "Content-Length": str(len(body.encode())), **headers}
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in ended.items())]
    return ("\r\n".join([*lines, "", ""]) + body).encode()


@asynccontextmanager
async def serving(respond: Respond, folder: Path, timeout_s: float = 5.0) -> AsyncIterator[Caller]:
    """Yield a caller of a service that answers with *respond*; the connection is kept open after nothing."""

    handlers: set[asyncio.Task[None] | None] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.add(asyncio.current_task())
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
            answer = respond(method, path)
            writer.write(answer)
            await writer.drain()
            if not answer:
                await reader.read()

    provider = FakeProvider()
    async with provider, await provider.open(SandboxSpec(workspace=folder)) as sandbox:
        listener = await sandbox.listen(PORT)
        server = await asyncio.start_server(handle, sock=listener)
        try:
            yield Caller(sandbox, PORT, timeout_s)
        finally:
            server.close()
            await asyncio.gather(*(handler for handler in handlers if handler), return_exceptions=True)
