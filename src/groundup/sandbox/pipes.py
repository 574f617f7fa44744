"""Host ends of pipes to programs: written to, or read into a capture that keeps head and tail."""

import asyncio
import contextlib
import os
from typing import TypeVar


class Capture:
    """Takes bytes as they come; keeps the first and the last half of *limit* bytes, with a note between."""

    def __init__(self, limit: int, *, keep_tail: bool = True) -> None:
        self._head_limit = limit - limit // 2 if keep_tail else limit
        self._tail_limit = limit // 2 if keep_tail else 0
        self._head = bytearray()
        self._tail = bytearray()
        self._received = 0

    @property
    def received(self) -> int:
        """How many bytes came, kept or not."""
        return self._received

    @property
    def truncated(self) -> bool:
        return self._received > self._head_limit + self._tail_limit

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._received += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data and self._tail_limit:
            self._tail += data
            if len(self._tail) > 2 * self._tail_limit:  # cut rarely: each cut moves the whole tail
                del self._tail[: -self._tail_limit]

    def value(self) -> bytes:
        """Return what was kept."""
        if not self.truncated:
            return bytes(self._head + self._tail)
        if not self._tail_limit:
            return bytes(self._head)
        tail = self._tail[-self._tail_limit :]
        left_out = self._received - len(self._head) - len(tail)
        return bytes(self._head) + b"\n[... %d bytes left out ...]\n" % left_out + bytes(tail)


_T = TypeVar("_T")
_CHUNK = 256 * 1024
_CATCH_UP_READS = 64


class Drain:
    """Reads a pipe until its last writer is gone, for as long as that takes, into a capture."""

    def __init__(self, descriptor: int, capture: Capture) -> None:
        """Takes ownership of *descriptor*."""
        self.capture = capture
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    async def ended(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the stream; return whether it came."""
        await asyncio.wait([self._ended], timeout=timeout_s)
        return self._ended.done()

    def catch_up(self) -> None:
        """Take what is in the pipe now, as when a program has just ended; others may go on writing."""
        for _ in range(_CATCH_UP_READS):
            if self._descriptor < 0 or not self._read():
                return

    def discard(self) -> None:
        """Go on reading, for the writers' sake, but keep nothing more."""
        self.capture = Capture(0)

    @property
    def open(self) -> bool:
        """Whether a writer is left."""
        return self._descriptor >= 0

    def close(self) -> None:
        """Stop reading. A writer that goes on gets SIGPIPE."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            if not self._ended.done():
                self._ended.set_result(None)

    def _read(self) -> bool:
        """Return whether more may be there."""
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self.capture.feed(data)
        else:
            self.close()
        return bool(data)


class Feed:
    """Writes bytes to a pipe as fast as its reader takes them, and closes it after the last."""

    def __init__(self, descriptor: int) -> None:
        """Takes ownership of *descriptor*."""
        self._descriptor = descriptor
        self._left = memoryview(b"")
        self._is_last = True
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)

    def write(self, data: bytes, *, is_last: bool = True) -> None:
        """Write *data* after what was written before."""
        self._left = memoryview(bytes(self._left) + data)
        self._is_last = is_last
        self._write()

    def close(self) -> None:
        """Stop writing."""
        if self._descriptor >= 0:
            self._loop.remove_writer(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self) -> None:
        try:
            while self._left:
                self._left = self._left[os.write(self._descriptor, self._left[:_CHUNK]) :]
        except BlockingIOError:
            self._loop.add_writer(self._descriptor, self._write)
            return
        except OSError:  # the reader is gone
            self._left = self._left[:0]
        if self._is_last:
            self.close()
        else:
            self._loop.remove_writer(self._descriptor)


def settle(future: "asyncio.Future[_T]", value: _T) -> None:
    if not future.done():
        future.set_result(value)


def drained_pipe(limit: int, *, keep_tail: bool = True) -> tuple[Drain, int]:
    """Return a drain and the write end to hand to a program (the caller closes it)."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    return Drain(reading, Capture(limit, keep_tail=keep_tail)), writing


def fed_pipe(data: bytes, *, is_last: bool = True) -> tuple[Feed, int]:
    """Return a feed of *data* and the read end to hand to a program (the caller closes it)."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    feed = Feed(writing)
    feed.write(data, is_last=is_last)
    return feed, reading


def close_all(*descriptors: int) -> None:
    """Close descriptors that have been handed over."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
