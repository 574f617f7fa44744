"""Unpacking strangers' archives, recognised by content, with the size checked at every step.

What cannot be taken safely (links that lead out, devices, absolute and `..` names) is left out and named; an
archive that cannot be read, or unpacks to more than the limits, is refused as a whole with one `SubmissionError`.

Zstandard, which Python has itself from 3.14 on.
"""

import bz2
import io
import lzma
import os
import re
import stat
import struct
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Protocol

from groundup.domain.errors import InfrastructureError, SubmissionError
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import CHUNK, Parts, open_regular, read_chunks
from groundup.trees.writer import TakenIn, TreeLimits, TreeWriter, disk_errors

ARCHIVES = (".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2", ".tar", ".zip")
"""Endings of packed submissions and data sets. What an archive is, its content says."""
BOMB_FLOOR = 64 * 1024 * 1024
"""Below this many unpacked bytes the ratio of compression does not matter."""
_STEP = 1024 * 1024
_IN = 64 * 1024
_WINDOW_BYTES = 256 * 1024 * 1024


class DamagedArchiveError(SubmissionError):
    """An unreadable archive: cut off, encrypted, or none at all."""


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
        for piece in decompressed(packed, head):
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
        raise DamagedArchiveError(f"the archive cannot be unpacked: {error}; pack it again") from error
    plain.seek(0)


def refuse_bomb(unpacked: int, packed: int, limits: TreeLimits) -> None:
    """Raise `SubmissionError` when so many bytes came out of so few that somebody meant it."""
    if unpacked > BOMB_FLOOR and unpacked > limits.ratio * max(packed, 1):
        raise SubmissionError(
            f"the archive unpacks to more than {limits.ratio} times its size, like a decompression bomb; "
            "leave out large empty files"
        )


def decompressed(packed: IO[bytes], head: bytes) -> Iterator[bytes]:
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

    bounded: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _WINDOW_BYTES.bit_length() - 1}
    try:
        yield from _streams(packed, lambda: zstd.ZstdDecompressor(options=bounded))
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error


_ZIP_DIRECTORY_BYTES = 64 * 1024 * 1024
_HEADER_BYTES = 4 * 1024 * 1024


UNREADABLE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,
    struct.error,
    OSError,  # bz2 raises a bare one; what the disk refuses has been translated where it arose
    RecursionError,  # tarfile calls itself for each header that describes the next
    NotImplementedError,
)
"""What the libraries raise for damaged archives."""


def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out whose files they were, and when: one tree makes one archive. For `tarfile.TarFile.add`."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member


def extract_archive(
    path: Path, destination: Path, limits: TreeLimits | None = None, *, strip_components: int = 0
) -> TakenIn:
    """Unpack the archive at *path* into the absent or empty *destination*, without its first *strip_components*.

    Of files with one name the last wins. Raises `SubmissionError` for what the archive is (`DamagedArchiveError`
    where it is unreadable), `InfrastructureError` for what the disk refuses.
    """
    limits = limits or TreeLimits()
    try:
        archive = open_regular(path)
    except OSError as error:
        raise InfrastructureError(f"cannot read the archive {path}: {error.strerror or error}") from error
    with archive, TreeWriter(destination, limits) as writer:
        try:
            if archive.read(4) in (b"PK\x03\x04", b"PK\x05\x06"):
                _extract_zip(archive, writer, strip_components)
            else:
                _extract_tar(archive, writer, strip_components, destination.parent)
        except UNREADABLE as error:
            raise DamagedArchiveError(f"the archive {path.name} cannot be read: {error}; pack it again") from error
        return writer.finish()


def refuse_damaged(path: Path, limits: TreeLimits) -> None:
    """Raise `DamagedArchiveError` for an archive that is unreadable, or of which nothing can be taken.

    It is unpacked once and thrown away. One that would be refused for what is in it passes. Raises
    `InfrastructureError`, too.
    """
    with scratch_folder("archive") as place:
        try:
            taken = extract_archive(path, place / "tree", limits)
        except DamagedArchiveError:
            raise
        except SubmissionError:
            return
        if not taken.files and taken.dropped:
            raise DamagedArchiveError(
                f"nothing in it can be taken ({taken.dropped[0]}); pack it again from inside the folder, so that "
                "names in it are relative"
            )


def _extract_tar(archive: IO[bytes], writer: TreeWriter, strip: int, room: Path) -> None:
    with disk_errors(room):
        plain = tempfile.TemporaryFile(dir=room)  # noqa: SIM115  # closed by the `with` below
    with plain:
        with disk_errors(room):
            spooled(archive, plain, writer.limits)
        guarded = GuardedFile(plain)
        with tarfile.TarFile(fileobj=guarded, encoding="utf-8", errors="surrogateescape") as tar:
            for member in tar:
                _take_tar_member(tar, member, writer, strip)
            # tarfile takes a damaged header for the end of the archive. After the true end there are only zeros.
            plain.seek(tar.offset)
            if plain.read(tarfile.BLOCKSIZE).strip(b"\0"):
                raise DamagedArchiveError("the archive is damaged in its middle; pack it again")


class GuardedFile(io.RawIOBase):
    """A file that refuses to be read in one huge piece: tarfile believes the length that a header claims."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        """Read at most what a sane header needs."""
        if not 0 <= size <= _HEADER_BYTES:
            raise DamagedArchiveError("the archive has an impossible header; pack it again")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def _take_tar_member(tar: tarfile.TarFile, member: tarfile.TarInfo, writer: TreeWriter, strip: int) -> None:
    parts = _inner_parts(member.name, writer, strip)
    if parts is None:
        return
    writer.admit(parts)
    if member.isdir():
        writer.folder(parts)
    elif member.issym():
        writer.link(parts, member.linkname)
    elif member.islnk():
        _take_hard_link(parts, _safe_parts(member.linkname), writer, strip)
    elif member.type in tarfile.REGULAR_TYPES or member.issparse():
        content = tar.extractfile(member)
        assert content is not None  # tarfile's promise for regular members
        with content:
            chunks = iter(lambda: content.read(CHUNK), b"")
            writer.file(parts, chunks, executable=bool(member.mode & stat.S_IXUSR), size=member.size)
    else:
        writer.drop(parts, "not a file, folder or link")


def _take_hard_link(parts: Parts, earlier: Parts | None, writer: TreeWriter, strip: int) -> None:
    try:
        if earlier is None or len(earlier) <= strip:
            raise FileNotFoundError(parts)
        descriptor = writer.open_file(earlier[strip:])
    except (OSError, ValueError):
        writer.drop(parts, "hard link to no file of the archive")
        return
    try:
        found = os.fstat(descriptor)
        executable = bool(found.st_mode & stat.S_IXUSR)
        writer.file(parts, read_chunks(descriptor), executable=executable, size=found.st_size)
    finally:
        os.close(descriptor)


def _extract_zip(archive: IO[bytes], writer: TreeWriter, strip: int) -> None:
    size = archive.seek(0, os.SEEK_END)
    refuse_huge_directory(archive, size)
    with zipfile.ZipFile(archive) as zipped:
        members = zipped.infolist()
        has_backslashes = _separates_by_backslashes([member.orig_filename for member in members])
        for member in members:
            _take_zip_member(zipped, member, _zip_name(member, has_backslashes), writer, strip)


_WINDOWS = (0, 10, 11, 14)
"""What a zip says of the system that made it: FAT, NTFS by two numbers, VFAT. Some write names as Windows does."""


def _take_zip_member(
    zipped: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, writer: TreeWriter, strip: int
) -> None:
    parts = _inner_parts(name, writer, strip)
    if parts is None:
        return
    writer.admit(parts)
    mode = member.external_attr >> 16
    if name.endswith("/"):
        writer.folder(parts)
        return
    if member.flag_bits & 1:
        raise DamagedArchiveError("the archive is encrypted; pack it without a password")
    writer.require(member.file_size, parts)
    refuse_bomb(member.file_size, member.compress_size, writer.limits)
    with zipped.open(member) as content:
        if stat.S_ISLNK(mode):
            writer.link(parts, os.fsdecode(content.read(writer.limits.path_bytes + 1)))
        elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
            chunks = iter(lambda: content.read(CHUNK), b"")
            writer.file(parts, chunks, executable=bool(mode & stat.S_IXUSR), size=member.file_size)
        else:
            writer.drop(parts, "not a file, folder or link")


def _separates_by_backslashes(names: Sequence[str]) -> bool:
    """Whether a zip has folders by its backslashes alone, whatever it says of the system that made it.

    One name with a backslash is a name; two that begin alike up to it lie in a folder.
    """
    folders = Counter(name.partition("\\")[0] for name in names if "\\" in name)
    return not any("/" in name for name in names) and any(count > 1 for count in folders.values())


def _zip_name(member: zipfile.ZipInfo, has_backslashes: bool) -> str:
    """Return the name as the bytes that were packed: without the flag for UTF-8 their encoding is unknown."""
    is_utf8 = member.flag_bits & 0x800
    name = member.orig_filename if is_utf8 else os.fsdecode(member.orig_filename.encode("cp437"))
    is_windows = has_backslashes or (member.create_system in _WINDOWS and "/" not in name)
    return name.replace("\\", "/") if is_windows else name


def refuse_huge_directory(archive: IO[bytes], size: int) -> None:
    """zipfile reads the whole directory of a zip into memory: look at its stated length first."""
    # The record at the end has 22 bytes and a comment of at most 65,535.
    archive.seek(max(0, size - 65_557))
    tail = archive.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise DamagedArchiveError("the archive is cut off: it has no directory; pack it again")
    claimed = int.from_bytes(tail[at + 12 : at + 16], "little")
    if claimed > _ZIP_DIRECTORY_BYTES:
        raise SubmissionError("the archive has a directory of more than 64 MiB; hand in fewer files")


def _inner_parts(name: str, writer: TreeWriter, strip: int) -> Parts | None:
    """Return where a member belongs, or None when it is dropped or is the folder itself."""
    parts = _safe_parts(name)
    if parts is None:
        writer.drop((name.replace("\0", "\\0"),), "name leads outside")
        return None
    return parts[strip:] or None


_DRIVE = re.compile(r"[A-Za-z]:[/\\]")


def _safe_parts(name: str) -> Parts | None:
    """Return a member's name as path components; None for an absolute one, `..`, or what no disk can hold."""
    if name.startswith("/") or "\0" in name or _DRIVE.match(name):
        return None
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        return None
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return None
    return parts


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
