"""Decompressing what strangers packed, into a file, with the size watched at every step."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Protocol

from groundup.domain.errors import SubmissionError
from groundup.trees.limits import TreeLimits

BOMB_FLOOR = 64 * 1024 * 1024
"""Below this many unpacked bytes nobody asks how well something was packed."""
_STEP = 1024 * 1024
_IN = 64 * 1024
_ZSTD_IN = 512
_WINDOW_BYTES = 256 * 1024 * 1024


class _Decompressor(Protocol):
    """What bz2, lzma and the two below have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def spooled(packed: IO[bytes], plain: IO[bytes], limits: TreeLimits) -> None:
    """Write what *packed* unpacks to into *plain* and rewind it. Raises `SubmissionError`.

    A tar adds headers to its contents, so the bound is a little above the limit for the tree itself.
    """
    bound = limits.bytes + limits.files * 2048 + _STEP
    packed.seek(0)
    head = packed.read(6)
    packed.seek(0)
    written = 0
    try:
        for piece in _unpacked(packed, head):
            written += len(piece)
            if written > bound:
                raise SubmissionError(
                    f"the archive unpacks to more than {limits.bytes} bytes; leave out large files"
                )
            refuse_bomb(written, packed.tell(), limits)
            plain.write(piece)
    except (EOFError, zlib.error, lzma.LZMAError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's, not the archive's: bz2 raises a bare OSError for bad data
        raise SubmissionError(f"the archive cannot be unpacked: {error}; pack it again") from error
    plain.seek(0)


def refuse_bomb(unpacked: int, packed: int, limits: TreeLimits) -> None:
    """Raise `SubmissionError` when so many bytes came out of so few that somebody meant it."""
    if unpacked > BOMB_FLOOR and unpacked > limits.ratio * max(packed, 1):
        raise SubmissionError(
            f"the archive unpacks to more than {limits.ratio} times its size, like a decompression bomb; "
            "leave out large empty files"
        )


def _unpacked(packed: IO[bytes], head: bytes) -> Iterator[bytes]:
    if head.startswith(b"\x1f\x8b"):
        return _streams(packed, _Gzip)
    if head.startswith(b"BZh"):
        return _streams(packed, bz2.BZ2Decompressor)
    if head.startswith(b"\xfd7zXZ\x00"):
        return _streams(packed, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_WINDOW_BYTES))
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return _zstd(packed)
    return iter(lambda: packed.read(_STEP), b"")


def _streams(packed: IO[bytes], new: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Unpack one compressed stream after the other, in bounded steps."""
    data = packed.read(_IN)
    while data:
        stream = new()
        while not stream.eof:
            piece = stream.decompress(data, _STEP)
            data = b""
            if piece:
                yield piece
            if stream.needs_input and not stream.eof:
                data = packed.read(_IN)
                if not data:
                    raise EOFError("it ends too early")
        data = stream.unused_data.lstrip(b"\0") or packed.read(_IN).lstrip(b"\0")


class _Gzip:
    """zlib's decompressor with the manners of bz2's."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max(max_length, 0))


def _zstd(packed: IO[bytes]) -> Iterator[bytes]:
    import zstandard

    # The library's bounded reader takes a cut-off frame for a whole one. Its other interface sees the end, but has
    # no bound on what one call returns: four bytes can mean 128 KiB, so it is fed in small bites.
    try:
        data = packed.read(_ZSTD_IN)
        while data:
            stream = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES).decompressobj()
            while not stream.eof:
                if not data:
                    raise EOFError("it ends too early")
                yield stream.decompress(data)
                data = b"" if stream.eof else packed.read(_ZSTD_IN)
            data = stream.unused_data or packed.read(_ZSTD_IN)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
