"""Connections of clients: what they may send, how long that may take, and how many there are.

uvicorn waits for ever for a request that comes byte by byte and for a client that does not read, and its fast
reader of HTTP takes a head of any length. Each connection is a descriptor, of which sandboxes need some, too.
"""

import asyncio
import resource
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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
        """Return what the transport itself does."""
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
        """Close after what is held."""
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
        """End."""
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
