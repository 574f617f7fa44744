"""A proxy that breaks connections: each after so many bytes of what the server says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from urllib.parse import urlsplit

WHOLE = -1


class Proxy:
    """Passes connections on. *cuts* are the bytes after which each is broken; `WHOLE` and later ones are not."""

    def __init__(self, upstream: str, cuts: list[int]) -> None:
        self._upstream = urlsplit(upstream)
        self._cuts = cuts
        self._numbers = count()
        self.broken = 0
        self.address = ""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one connection on, or break it."""
        number = next(self._numbers)
        left = self._cuts[number] if number < len(self._cuts) else WHOLE
        answers, asks = await asyncio.open_connection(self._upstream.hostname, self._upstream.port)
        asking = asyncio.create_task(_pass_on(reader, asks))
        try:
            while data := await answers.read(4096):
                if left != WHOLE and len(data) > left:
                    writer.write(data[:left])
                    self.broken += 1
                    break
                left -= len(data) if left != WHOLE else 0
                writer.write(data)
                await writer.drain()
            with suppress(ConnectionError):
                await writer.drain()
        finally:
            asking.cancel()
            for one in (writer, asks):
                one.transport.abort() if number < len(self._cuts) else one.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(4096):
        writer.write(data)
    writer.close()


@asynccontextmanager
async def breaking(upstream: str, *cuts: int) -> AsyncIterator[Proxy]:
    """Run a proxy before *upstream*."""
    proxy = Proxy(upstream, list(cuts))
    server = await asyncio.start_server(proxy.connected, "127.0.0.1", 0)
    proxy.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
