"""The prints of all Python code in a folder or an archive, with archives inside archives: wheels in wheels.

Archives are strangers'. What is encrypted, damaged, too deep or too much is not read, and named.
"""

import io
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from groundup.domain.errors import GroundupError, SubmissionError
from groundup.trees.archives import UNREADABLE, GuardedFile, refuse_huge_directory, spooled
from groundup.trees.fingerprints import prints_of
from groundup.trees.limits import TreeLimits, printable
from groundup.trees.walking import open_regular

ARCHIVES = (
    ".whl", ".zip", ".egg", ".pyz", ".pex", ".jar", ".nupkg",
    ".tar", ".tar.gz", ".tgz", ".crate", ".gem", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst",
)  # fmt: skip
CODE = (".py", ".pyi", ".pyx", ".pyw")
CODE_BYTES = 4 * 1024 * 1024
"""No file that somebody wrote is longer."""
_NESTED_BYTES = 256 * 1024 * 1024
_DEPTH = 4
_LEAST_PRINTS = 4
"""Files with fewer say nothing."""
_LEAST_BYTES = 300
_ZIP, _HEADS = b"PK\x03\x04", (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
_LIMITS = TreeLimits(files=200_000, bytes=4 * 1024**3)


@dataclass
class Contents:
    """The code that was found. Places in archives are `archive!inside`."""

    prints: dict[str, frozenset[int]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    """`place: why`, of archives that could not be read to their end, and so may hold anything."""

    def take(self, place: str, code: bytes) -> None:
        """Add the prints of one file."""
        prints = prints_of(code)
        if len(prints) >= _LEAST_PRINTS:
            self.prints[place] = prints


def contents_of_archive(path: Path, name: str, into: Contents | None = None) -> Contents:
    """Return what the archive, or the single file, at *path* holds; *name* is its usual one. Raises `OSError`.

    It is added to *into*, where that is given.
    """
    found = Contents() if into is None else into
    with open_regular(path) as file:
        head = file.read(8)
        file.seek(0)
        if _is_archive(head, name):
            _take_archive(file, name, found, depth=0)
        else:
            _take_file(name, file.read(CODE_BYTES + 1), found)
    return found


def contents_of_folder(root: Path, is_skipped: Callable[[str], bool] = lambda folder: False) -> Contents:
    """Return what lies below *root*, by path in it; links are not followed.

    Folders of which *is_skipped* says so by their whole path are left out, but not what is in their own folders.
    """
    found = Contents()
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in () if is_skipped(folder) else sorted(files):
            path = Path(folder, name)
            if not name.endswith((*CODE, *ARCHIVES)) or path.is_symlink():
                continue
            try:
                inside = contents_of_archive(path, str(path.relative_to(root)))
            except OSError:  # no one inside can read it, either
                continue
            found.prints |= inside.prints
            found.unread += inside.unread
    return found


def _is_archive(head: bytes, name: str) -> bool:
    return head.startswith((_ZIP, *_HEADS)) or name.endswith(ARCHIVES)


def _take_archive(file: IO[bytes], place: str, found: Contents, depth: int) -> None:
    if depth >= _DEPTH:
        found.unread.append(f"{place}: too many archives inside each other")
        return
    try:
        for inside, data in _members(file, place):
            _take_member(f"{place}!{printable(inside)}", data, found, depth)
    except (*UNREADABLE, GroundupError, MemoryError) as error:
        found.unread.append(f"{place}: {error}"[:300])


def _take_member(place: str, data: bytes, found: Contents, depth: int) -> None:
    if _is_archive(data[:8], place):
        _take_archive(io.BytesIO(data), place, found, depth + 1)
    else:
        _take_file(place, data, found)


def _take_file(place: str, data: bytes, found: Contents) -> None:
    if not _LEAST_BYTES <= len(data) <= CODE_BYTES or b"\0" in data[:4096]:
        return
    if place.endswith(CODE) or (b"def " in data and (b"return" in data or b"import " in data)):
        found.take(place, data)


def _members(file: IO[bytes], place: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the members that may be code, or archives."""
    head = file.read(4)
    file.seek(0)
    if head.startswith(b"PK") or place.endswith((".pyz", ".pex", ".whl", ".zip", ".egg")):
        yield from _of_zip(file)
        return
    with tempfile.TemporaryFile() as plain:
        spooled(file, plain, _LIMITS)
        if not _is_tar(plain):  # one compressed file
            yield "content", plain.read(CODE_BYTES + 1)
            return
        with tarfile.TarFile(fileobj=GuardedFile(plain), encoding="utf-8", errors="surrogateescape") as tar:
            for number, member in enumerate(tar):
                _bounded(number)
                if member.isreg() and _is_wanted(member.name, member.size):
                    content = tar.extractfile(member)
                    assert content is not None  # tarfile's promise for regular members
                    yield member.name, _whole(content, member.size)


def _is_tar(plain: IO[bytes]) -> bool:
    """Whether it begins like a tar of any kind; *plain* is rewound."""
    head = plain.read(tarfile.BLOCKSIZE)
    plain.seek(0)
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return not head.strip(b"\0")  # one without members
    return True


def _of_zip(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    refuse_huge_directory(file, file.seek(0, os.SEEK_END))
    budget = _LIMITS.bytes
    with zipfile.ZipFile(file) as zipped:
        for number, member in enumerate(zipped.infolist()):
            _bounded(number)
            if member.is_dir() or not _is_wanted(member.filename, member.file_size):
                continue
            if member.flag_bits & 1:
                raise SubmissionError("a part of it is encrypted")
            budget -= member.file_size
            if budget < 0:
                raise SubmissionError("it unpacks to more than 4 GiB")
            with zipped.open(member) as content:
                yield member.filename, _whole(content, member.file_size)


def _bounded(number: int) -> None:
    if number >= _LIMITS.files:
        raise SubmissionError(f"it has more than {_LIMITS.files} members")


def _is_wanted(name: str, size: int) -> bool:
    if name.endswith(ARCHIVES):
        return size <= _NESTED_BYTES
    return _LEAST_BYTES <= size <= CODE_BYTES


def _whole(content: IO[bytes], size: int) -> bytes:
    """Return a member's bytes, in steps that no header can make large."""
    pieces = bytearray()
    while len(pieces) < size and (piece := content.read(min(1024 * 1024, size - len(pieces)))):
        pieces += piece
    return bytes(pieces)
