"""Keeping the head and the tail of a stream that may be endless, in bounded memory."""


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
        """Whether bytes were left out."""
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
