"""What Python code says, as small numbers: a copy is known again after renaming, reformatting and small edits.

Code is cut into words. Comments, blanks, brackets and commas do not count, and plain names are all the same; words
of the language, attributes, strings and numbers stay. Every run of 14 words has a number, and one in 16 of these,
chosen by the number itself, is a *print* of the code. Two files share as large a part of their prints as of their
text. A `Fingerprint` holds those of an original and nothing of its text.

Folders and archives are read too, with archives inside archives: wheels in wheels. Archives are strangers'. What
is encrypted, damaged, too deep or too much is not read, and named.
"""

import base64
import hashlib
import io
import keyword
import os
import re
import sys
import tarfile
import tempfile
import zipfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO, Literal, NamedTuple

from pydantic import Field

from groundup.domain.digests import digest_of
from groundup.domain.errors import GroundupError, SubmissionError
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.trees.archives import UNREADABLE, GuardedFile, refuse_huge_directory, spooled
from groundup.trees.walking import open_regular
from groundup.trees.writer import TreeLimits

RUN = 14
"""Words whose sequence is one number. Shorter ones are alike by accident: plain names are all the same."""
SAMPLED = 16
"""One number in so many is kept."""
SHARE = 0.12
"""Of an original's prints: less is alike by accident. Unrelated packages stayed at 0.08 and less, and copies of
old versions began at 0.13; copies of near ones have 0.5 and more."""
NEARLY = 0.6
"""Of the prints of one file: a file that is there."""
LEAST = 12
"""Prints that must be shared; fewer say nothing."""
_WORD = re.compile(
    rb"""\#[^\n]*"""
    rb"""|[rRbBuUfFtT]{0,3}(?:\"{3}(?:[^\\]|\\.)*?(?:\"{3}|\Z)|'{3}(?:[^\\]|\\.)*?(?:'{3}|\Z))"""
    rb"""|[rRbBuUfFtT]{0,3}(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)"""
    rb"""|\w+|[^\s\w(),;\\]""",
    re.DOTALL,
)
"""Strings may lack their end, so that no text makes the search begin again and again."""
_QUOTES = b"'\""
_KEPT = frozenset(word.encode() for word in keyword.kwlist)
_PRIME, _BASE = (1 << 61) - 1, 1_000_003
_GONE = pow(_BASE, RUN, _PRIME)
_MIXER, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def prints_of(code: bytes) -> frozenset[int]:
    """Return the prints of Python code, numbers below 2**32. Any bytes will do; what is no code has few."""
    # Rabin and Karp: the number of a run follows from that of the run before it, so a long file costs no more a
    # word.
    numbers = [_number(word) for word in _words(code)]
    found = set()
    rolling = 0
    for place, number in enumerate(numbers):
        rolling = rolling * _BASE + number
        if place >= RUN:
            rolling -= numbers[place - RUN] * _GONE
        rolling %= _PRIME
        if place >= RUN - 1:
            # The low bits of a remainder say little: a multiplication spreads them before some decide and others
            # are kept.
            mixed = (rolling * _MIXER) & _MASK
            if (mixed >> 56) % SAMPLED == 0:
                found.add((mixed >> 16) & 0xFFFFFFFF)
    return frozenset(found)


def _words(code: bytes) -> Iterator[bytes]:
    after_dot = False
    for word in _WORD.findall(code):
        first = word[:1]
        if first == b"#":
            continue
        # How a string is quoted, prefixed and wrapped says nothing of where it is from.
        if word[-1:] in _QUOTES:
            yield b" ".join(word.lstrip(b"rRbBuUfFtT").strip(word[-1:]).split())
        elif not after_dot and (first.isalpha() or first == b"_" or first >= b"\x80") and word not in _KEPT:
            yield b"i"
        else:
            yield word
        after_dot = word == b"."


@lru_cache(maxsize=1 << 16)
def _number(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=6).digest(), "little")


def packed(prints: Iterable[int]) -> str:
    """Return prints as text: little-endian numbers of four bytes, sorted, in base 85."""
    return base64.b85encode(_ordered(array("I", sorted(prints))).tobytes()).decode()


def unpacked(text: str) -> frozenset[int]:
    """Return the prints in *text*. Raises `ValueError`."""
    found = array("I")
    found.frombytes(base64.b85decode(text))
    return frozenset(_ordered(found))


def _ordered(numbers: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


class Likeness(NamedTuple):
    """How much of an original lies in some files."""

    share: float
    """Of the original's prints, 0 to 1."""
    shared: int
    """Prints in common."""
    places: tuple[str, ...]
    """The files that have most of it, the first ones first, ten at most."""

    @property
    def is_copy(self) -> bool:
        """Whether that is more than an accident."""
        return self.share >= SHARE and self.shared >= LEAST


class Fingerprint(Record):
    """The prints of one original, file by file."""

    format: Literal[1] = 1
    task: str
    files: dict[str, str] = Field(description="path in the original -> its prints, packed")

    @classmethod
    def of(cls, task: str, sources: Mapping[str, bytes]) -> "Fingerprint":
        """Return the fingerprint of source files, by path; files without prints are left out."""
        found = {name: prints_of(code) for name, code in sorted(sources.items())}
        return cls(task=task, files={name: packed(prints) for name, prints in found.items() if prints})

    @cached_property
    def digest(self) -> str:
        return digest_of(self)

    @cached_property
    def prints(self) -> Mapping[str, frozenset[int]]:
        return {name: unpacked(text) for name, text in self.files.items()}

    @cached_property
    def all_prints(self) -> frozenset[int]:
        return frozenset[int]().union(*self.prints.values())

    def likeness(self, found: Mapping[str, frozenset[int]]) -> Likeness:
        """Return how much of the original lies in *found*, place -> prints, however it is spread over files."""
        shared: set[int] = set()
        parts: dict[str, int] = {}
        for place, prints in found.items():
            common = prints & self.all_prints
            if common:
                shared |= common
                parts[place] = len(common)
        places = sorted(parts, key=lambda place: (-parts[place], place))
        least = max(parts.values(), default=0) / 10
        shown = tuple(place for place in places if parts[place] >= least)[:10]
        return Likeness(len(shared) / max(len(self.all_prints), 1), len(shared), shown)

    def nearly(self, prints: frozenset[int]) -> str | None:
        """Return which of the original's files, none too small to tell, lies nearly whole in one with *prints*."""
        best, most = None, NEARLY
        for name, own in self.prints.items():
            common = len(own & prints)
            if common >= LEAST and common / len(own) >= most:
                best, most = name, common / len(own)
        return best


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


def _take_member(place: str, data: bytes | None, found: Contents, depth: int) -> None:
    if data is None:
        found.unread.append(f"{place}: it has more than {_NESTED_BYTES >> 20} MiB")
    elif _is_archive(data[:8], place):
        _take_archive(io.BytesIO(data), place, found, depth + 1)
    else:
        _take_file(place, data, found)


def _take_file(place: str, data: bytes, found: Contents) -> None:
    if not _LEAST_BYTES <= len(data) <= CODE_BYTES or b"\0" in data[:4096]:
        return
    # Code under another ending is found by its words; binary files were left out above.
    if place.endswith(CODE) or (b"def " in data and (b"return" in data or b"import " in data)):
        found.take(place, data)


def _members(file: IO[bytes], place: str) -> Iterator[tuple[str, bytes | None]]:
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


def _of_zip(file: IO[bytes]) -> Iterator[tuple[str, bytes | None]]:
    # zipfile reads the whole directory at once, whatever size a header claims for it.
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
    return name.endswith(ARCHIVES) or _LEAST_BYTES <= size <= CODE_BYTES


def _whole(content: IO[bytes], size: int) -> bytes | None:
    """Return a member's bytes, in steps that no header can make large; None: it is too large."""
    if size > _NESTED_BYTES:
        return None
    pieces = bytearray()
    while len(pieces) < size and (piece := content.read(min(1024 * 1024, size - len(pieces)))):
        pieces += piece
    return bytes(pieces)
