"""Lossless edits: decode a file, change spans of its text, and get back bytes that differ nowhere else.

A format scans a `Text` into sections (`sections.py`) whose entries know their spans; edits are spans with
replacements. All spans count characters of `Text.text`, from which the BOM has been taken off.
"""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from groundup.manifests.records import Location, ManifestError

if TYPE_CHECKING:
    from tree_sitter import Node

_NEWLINE = re.compile(r"\r?\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Span(NamedTuple):
    """A range of characters, end excluded."""

    start: int
    end: int


class Edit(NamedTuple):
    """Replace the characters of a span; an empty span inserts."""

    start: int
    end: int
    replacement: str = ""


@dataclass(frozen=True)
class Text:
    """A decoded file that knows how to become the same bytes again."""

    path: str
    text: str
    encoding: str = "utf-8"
    errors: str = "surrogateescape"
    bom: bytes = b""

    @classmethod
    def decode(cls, data: bytes, path: str) -> "Text":
        """Decode by BOM, else as UTF-8, where a byte that is not UTF-8 survives as a surrogate."""
        bom, encoding = next(((mark, name) for mark, name in _BOMS if data.startswith(mark)), (b"", "utf-8"))
        # A stray byte of Latin-1 in a comment is no reason to refuse a file: it has to come back as it was.
        errors = "surrogateescape" if encoding == "utf-8" else "strict"
        try:
            text = data[len(bom) :].decode(encoding, errors)
        except UnicodeDecodeError as error:
            raise ManifestError(path, f"is not valid {encoding} text: {error.reason}") from error
        return cls(path=path, text=text, encoding=encoding, errors=errors, bom=bom)

    def encode(self, text: str) -> bytes:
        """Return *text* in this file's encoding, with its BOM."""
        try:
            return self.bom + text.encode(self.encoding, self.errors)
        except UnicodeEncodeError as error:
            raise ManifestError(self.path, f"cannot hold {text[error.start]!r} in {self.encoding}") from error

    @cached_property
    def newline(self) -> str:
        """The line end that the file uses first; LF when it has none."""
        first = _NEWLINE.search(self.text)
        return first[0] if first else "\n"

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in _NEWLINE.finditer(self.text))]

    @cached_property
    def utf8(self) -> bytes:
        """The text for tree-sitter: its spans count bytes of UTF-8. A byte that is not UTF-8 becomes `?`."""
        return self.text.encode("utf-8", "replace")

    @cached_property
    def _character_at(self) -> Sequence[int] | None:
        """The character that each byte of `utf8` belongs to; None where every character is one byte."""
        if len(self.utf8) == len(self.text):
            return None
        found: list[int] = []
        for i, char in enumerate(self.text):
            found += [i] if char < "\x80" else [i] * len(char.encode("utf-8", "replace"))
        return [*found, len(self.text)]

    def span_of(self, node: "Node") -> Span:
        """Return the span of a tree-sitter node of this text, or of one laid out byte for byte like it."""
        start, end = node.byte_range
        if self._character_at is None:
            return Span(start, end)
        return Span(self._character_at[start], self._character_at[end])

    def refuse_other_encodings(self) -> None:
        """Raise `ManifestError` when a byte is not UTF-8, for formats that allow nothing else."""
        undecoded = _SURROGATE.search(self.text)
        if undecoded:
            raise self.error("is not valid UTF-8; save it as UTF-8", undecoded.start())

    def line_of(self, offset: int) -> int:
        """Return the line, from 1, of the character at *offset*."""
        return bisect_right(self._line_starts, offset)

    def line_start(self, offset: int) -> int:
        """Return the offset of the first character of the line that holds *offset*."""
        return self._line_starts[self.line_of(offset) - 1]

    def line_end(self, offset: int) -> int:
        """Return the offset after the line end of the line that holds *offset*, or the end of the text."""
        line = self.line_of(offset)
        return self._line_starts[line] if line < len(self._line_starts) else len(self.text)

    def offset_of(self, line: int, column: int) -> int:
        """Return the offset of a line, from 1, and a column, from 0."""
        return self._line_starts[line - 1] + column

    def indent_at(self, offset: int) -> str:
        """Return the blanks that the line of *offset* starts with."""
        start = self.line_start(offset)
        stripped = self.text[start : self.line_end(offset)].lstrip(" \t")
        return self.text[start : self.line_end(offset) - len(stripped)]

    def before(self, offset: int) -> int:
        """Return the offset of the last character before *offset* that is no blank and in no comment."""
        head = self.text[:offset].rstrip()
        while head[(line := head.rfind("\n") + 1) :].lstrip().startswith("#"):
            head = head[:line].rstrip()
        return max(len(head) - 1, 0)

    def location(self, span: Span) -> Location:
        return Location(line=self.line_of(span.start), start=span.start, end=span.end)

    def error(self, reason: str, offset: int | None = None) -> ManifestError:
        return ManifestError(self.path, reason, None if offset is None else self.line_of(offset))


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return *text* with *edits* done. Insertions at one place keep their order; overlaps are the caller's bug."""
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda item: (item.start, item.end)):
        if edit.start < position:
            raise ValueError(f"edits overlap at offset {edit.start}")
        pieces += (text[position : edit.start], edit.replacement)
        position = edit.end
    pieces.append(text[position:])
    return "".join(pieces)


def edited(source: Text, edits: Iterable[Edit]) -> bytes:
    return source.encode(apply(source.text, edits))
