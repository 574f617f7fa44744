"""What Python code says, as small numbers: a copy is known again after renaming, reformatting and small edits.

Code is cut into words. Comments, blanks, brackets and commas do not count, and plain names are all the same; words
of the language, attributes, strings and numbers stay. Every run of 14 words has a number, and one in 16 of these,
chosen by the number itself, is a *print* of the code. Two files share as large a part of their prints as of their
text. A `Fingerprint` holds those of an original and nothing of its text. Reads no disk.
"""

import base64
import hashlib
import keyword
import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from pydantic import Field

from groundup.domain.digests import digest_of
from groundup.domain.records import Record

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
    numbers = [_number(word) for word in _words(code)]
    found = set()
    rolling = 0
    for place, number in enumerate(numbers):
        rolling = rolling * _BASE + number
        if place >= RUN:
            rolling -= numbers[place - RUN] * _GONE
        rolling %= _PRIME
        if place >= RUN - 1:
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
        """Return what it is known by."""
        return digest_of(self)

    @cached_property
    def prints(self) -> Mapping[str, frozenset[int]]:
        """Return the prints by file."""
        return {name: unpacked(text) for name, text in self.files.items()}

    @cached_property
    def all_prints(self) -> frozenset[int]:
        """Return the prints of all files together."""
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
