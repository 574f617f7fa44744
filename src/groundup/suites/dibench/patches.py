"""Unified diffs: reading them, and applying them in memory to the files they may change.

A hunk applies where its lines stand; otherwise at the nearest place where they stand; otherwise where they stand
but for blanks; otherwise, as the Unix program `patch` would with up to five lines of fuzz, without the outermost
lines of its context. Nothing is ever written here.

unidiff 1.0.1 was measured and is not used: it only reads, which is 35 lines here, and works on text. It leaves
quoted names quoted and reads prose as an empty patch, so the refusals and the applying would still be ours.
"""

import codecs
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from groundup.domain.errors import SubmissionError

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DIGITS = 18
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b'"': b'"', b"\\": b"\\", b"a": b"\a", b"b": b"\b"}
FUZZ = 5

Mark = Literal[" ", "-", "+"]


class PatchError(SubmissionError):
    """A patch, or a part of it, that cannot be read or does not fit."""


@dataclass(frozen=True)
class Hunk:
    """One change: lines with their marks, line ends included."""

    start: int
    """First line in the old file, from 1; 0 for an empty one."""
    lines: tuple[tuple[Mark, bytes], ...]

    def side(self, *marks: Mark) -> list[bytes]:
        return [text for mark, text in self.lines if mark in marks]


@dataclass
class FilePatch:
    """What a diff does to one file. Paths are relative, None for /dev/null."""

    old: str | None
    new: str | None
    hunks: list[Hunk] = field(default_factory=list)
    binary: bool = False


def parse_patch(data: bytes) -> list[FilePatch]:
    """Return the files of a diff. Raises `PatchError` for what is no diff, is cut off, or leads outside."""
    found: list[FilePatch] = []
    lines = _lines(data)
    position = 0
    while position < len(lines):
        line = lines[position]
        if (
            line.startswith(b"--- ")
            and lines[position + 1 : position + 2]
            and lines[position + 1].startswith(b"+++ ")
        ):
            found.append(FilePatch(_path(line[4:]), _path(lines[position + 1][4:])))
            position += 2
        elif (match := _HUNK.match(line)) is not None:
            if not found:
                raise PatchError(f"the patch has a hunk without a file in line {position + 1}")
            hunk, position = _hunk(match, lines, position + 1)
            found[-1].hunks.append(hunk)
        else:
            if line.startswith((b"GIT binary patch", b"Binary files ")):
                found.append(FilePatch(None, None, binary=True))
            position += 1
    if not found and data.strip():
        raise PatchError("the patch names no file; a unified diff with ---, +++ and @@ lines was expected")
    return found


def _hunk(match: re.Match[bytes], lines: Sequence[bytes], position: int) -> tuple[Hunk, int]:
    start, old_left, new_left = (_number(match[group], position) for group in (1, 2, 4))
    taken: list[tuple[Mark, bytes]] = []
    while position < len(lines) and (old_left > 0 or new_left > 0):
        line = lines[position]
        mark = chr(line[0])
        if mark == "\\":
            _without_end(taken)
        elif mark in "\r\n":  # an empty context line whose blank was lost on the way
            taken.append((" ", line))
            old_left, new_left = old_left - 1, new_left - 1
        elif mark == " ":
            taken.append((" ", line[1:]))
            old_left, new_left = old_left - 1, new_left - 1
        elif mark == "-":
            taken.append(("-", line[1:]))
            old_left -= 1
        elif mark == "+":
            taken.append(("+", line[1:]))
            new_left -= 1
        else:
            break
        position += 1
    if old_left or new_left:
        raise PatchError(f"the patch is damaged in line {position + 1}: a hunk has fewer lines than it says")
    if position < len(lines) and lines[position].startswith(b"\\"):
        _without_end(taken)
        position += 1
    return Hunk(start, tuple(taken)), position


def _number(digits: bytes | None, line: int) -> int:
    """Return a number of a hunk's head; one that is left out is 1."""
    if digits is not None and len(digits) > _DIGITS:
        raise PatchError(f"the patch is damaged in line {line}: no file has so many lines")
    return int(digits or 1)


def _without_end(taken: list[tuple[Mark, bytes]]) -> None:
    if taken:
        mark, text = taken[-1]
        taken[-1] = (mark, text.rstrip(b"\r\n"))


def _path(raw: bytes) -> str | None:
    """Return the path of a header line without its a/ or b/. Raises `PatchError` for one that leads outside."""
    text = raw.split(b"\t")[0].rstrip(b"\r\n ")
    if text.startswith(b'"') and text.endswith(b'"') and len(text) > 1:
        text = _ESCAPE.sub(_unescaped, text[1:-1])
    if text == b"/dev/null":
        return None
    name = text.decode("utf-8", "surrogateescape")
    if name.startswith(("a/", "b/")):
        name = name[2:]
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or not path.parts:
        raise PatchError(
            f"the patch names {name[:120]!r}, which leads out of the repository; only its files may change"
        )
    return str(path)


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPED.get(code, code)


def apply_to_file(patch: FilePatch, content: bytes | None) -> bytes | None:
    """Return the new content of a file (None: it is removed). Raises `PatchError` when a hunk does not fit.

    A file in UTF-16 takes a patch of its text, which is what a diff in UTF-8 holds; one of its bytes fits, too.
    """
    wide = utf16_text(content or b"")
    if wide is None:
        return _applied(patch, content)
    with contextlib.suppress(PatchError):
        return _applied(patch, content)
    mark, codec, text = wide
    done = _applied(patch, text.encode())
    return None if done is None else mark + done.decode("utf-8", "replace").encode(codec)


_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def utf16_text(content: bytes) -> tuple[bytes, str, str] | None:
    """Return mark, codec and text of a file in UTF-16; None for any other."""
    for mark, codec in _MARKS:
        if content.startswith(mark):
            with contextlib.suppress(UnicodeDecodeError):
                return mark, codec, content[len(mark) :].decode(codec)
    return None


def _applied(patch: FilePatch, content: bytes | None) -> bytes | None:
    if patch.binary:
        raise PatchError("a binary patch of a build file cannot be applied")
    lines = _lines(content or b"")
    if patch.old is None and lines:
        raise PatchError(f"{patch.new} is to be created and exists already")
    shift = 0
    for number, hunk in enumerate(patch.hunks, start=1):
        done = _apply_hunk(hunk, lines, shift)
        if done is None:
            raise PatchError(f"hunk {number} does not fit {patch.new or patch.old}")
        lines, shift = done
    return None if patch.new is None else b"".join(lines)


def _apply_hunk(hunk: Hunk, lines: list[bytes], shift: int) -> tuple[list[bytes], int] | None:
    for fuzz in range(FUZZ + 1):
        cut = _trimmed(hunk, fuzz)
        if cut is None:
            return None
        for same in (_exact, _blanks):
            wanted = cut.side(" ", "-")
            expected = (cut.start - 1 if wanted else cut.start) + shift  # an insertion names the line before it
            place = _place(wanted, lines, expected, same)
            if place is not None:
                fresh = _replaced(cut, lines[place : place + len(wanted)])
                grown = _ended([*lines[:place], *fresh, *lines[place + len(wanted) :]])
                return grown, shift + place - expected + len(fresh) - len(wanted)
    return None


def _ended(lines: list[bytes]) -> list[bytes]:
    """Give every line but the last an end: what was the last line may have had none."""
    return [*(line if line.endswith(b"\n") else line + b"\n" for line in lines[:-1]), *lines[-1:]]


def _trimmed(hunk: Hunk, fuzz: int) -> Hunk | None:
    """Return *hunk* without its outermost *fuzz* lines of context; None when there are none left to take away."""
    if fuzz == 0:
        return hunk
    lines = list(hunk.lines)
    leading = next((at for at, (mark, _) in enumerate(lines) if mark != " "), len(lines))
    trailing = next((at for at, (mark, _) in enumerate(reversed(lines)) if mark != " "), len(lines))
    if fuzz > max(leading, trailing):
        return None
    head, tail = min(fuzz, leading), min(fuzz, trailing)
    kept = lines[head : len(lines) - tail]
    if not any(mark != "+" for mark, _ in kept):  # without any old line left it would fit anywhere
        return None
    return Hunk(hunk.start + head, tuple(kept))


def _place(
    wanted: Sequence[bytes], lines: Sequence[bytes], expected: int, same: Callable[[bytes, bytes], bool]
) -> int | None:
    last = len(lines) - len(wanted)
    if last < 0:
        return None
    if not wanted:
        return min(max(expected, 0), len(lines))
    for place in _nearest(expected, last):
        if all(same(found, line) for found, line in zip(lines[place : place + len(wanted)], wanted, strict=True)):
            return place
    return None


def _nearest(expected: int, last: int) -> Iterator[int]:
    """Yield the places up to *last*, the nearest to *expected* first, wherever that may be."""
    start = min(max(expected, 0), last)
    for distance in range(last + 1):
        for place in (start + distance, start - distance)[: 1 + (distance > 0)]:
            if 0 <= place <= last:
                yield place


def _replaced(hunk: Hunk, standing: Sequence[bytes]) -> list[bytes]:
    """Return the new side, with context lines as they stand in the file."""
    result: list[bytes] = []
    old = iter(standing)
    for mark, text in hunk.lines:
        if mark == "+":
            result.append(text)
        elif mark == " ":
            result.append(next(old))
        else:
            next(old)
    return result


def _lines(data: bytes) -> list[bytes]:
    """Split at line feeds only, as diffs count lines, and keep them."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _exact(found: bytes, line: bytes) -> bool:
    return found == line


def _blanks(found: bytes, line: bytes) -> bool:
    return found.split() == line.split()
