"""Formats made of sections: a scan finds sections and entries with spans, and one engine reads, masks and writes.

A format that derives from `ManifestFormat` implements `scan` (and `create`, when it can make missing sections) and
does not decide which entries stay, go or are new. A `Section` knows how entries are taken out of its syntax
and put into it.

Editing declarations on lines of their own, and lists in brackets, with their commas and comments.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from groundup.domain.errors import MissingExtraError
from groundup.manifests.editing import Edit, Span, Text, edited
from groundup.manifests.records import (
    Dependency,
    DependencyKind,
    Language,
    Manifest,
    ManifestError,
    Note,
    SectionKey,
)


@dataclass(frozen=True)
class ManifestEntry:
    """One declaration and its span: what stands for it and nothing around it."""

    dependency: Dependency
    span: Span


class Section(ABC):
    """A place in a file that holds declarations of one key."""

    key: SectionKey
    entries: Sequence[ManifestEntry]

    @abstractmethod
    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave the entries of index in *kept*, then *added*; comment lines stay."""

    def clearing(self) -> list[Edit]:
        """Return the edits of a mask: nothing declared, and no comment left about what was."""
        return self.rewriting((), ()) if self.entries else []


class Companion(ABC):
    """A place with more about dependencies declared elsewhere, which must go when they go."""

    @abstractmethod
    def pruning(self, is_gone: Callable[[str], bool]) -> list[Edit]:
        """Return the edits that remove the entries of the normalised names that are gone."""


@dataclass(frozen=True)
class Scan:
    """What a format found in a text."""

    source: Text
    sections: Sequence[Section] = ()
    notes: Sequence[Note] = ()
    companions: Sequence[Companion] = ()


def _is_masked(entry: ManifestEntry, section: Section, kinds: frozenset[DependencyKind]) -> bool:
    kind = entry.dependency.kind
    return kind in kinds or (kind is DependencyKind.OPTIONAL and section.key.kind in kinds)


class ManifestFormat(ABC):
    """Reads, masks and writes one kind of file without touching anything but its dependency declarations.

    Bytes in, bytes out: encoding, BOM and line ends are part of what is kept. `path` is the file's path
    relative to the repository; it names the file in errors and may decide kinds (`requirements-dev.txt`).

    Laws: `read(mask(x))` has no dependency of a masked kind, and no optional one in a section of such a kind;
    `write(x, read(x).dependencies) == x`; `mask` and `write` change nothing outside of declarations and the
    sections that hold them; a file that cannot be parsed raises `ManifestError`, nothing else.
    """

    name: str
    """Its key in `formats.FORMATS`."""
    language: Language
    masked_kinds: frozenset[DependencyKind] = frozenset(DependencyKind)
    """The kinds that `mask` removes by default."""
    held_kinds: frozenset[DependencyKind] = frozenset(DependencyKind)
    """The kinds that such a file can declare; one of which none is to be masked is left as it is, unread."""

    @abstractmethod
    def recognises(self, path: PurePosixPath) -> bool:
        """Whether a file of this relative path is of this format; decided by the path alone."""

    @abstractmethod
    def scan(self, source: Text) -> Scan:
        """Return sections and notes. Raises `ManifestError`."""

    def _scanned(self, source: Text) -> Scan:
        """Scan; whatever a parser raises for a file that no person would write is that file's fault."""
        try:
            return self.scan(source)
        except (ManifestError, MissingExtraError):
            raise
        except Exception as error:  # the boundary to parsers and strangers' files
            reason = str(error).partition("\n")[0][:120]
            raise source.error(f"cannot be read: {type(error).__name__}: {reason}") from error

    def home(self, dependency: Dependency) -> SectionKey:
        """Return the key of the section that a new declaration of *dependency* belongs to."""
        return SectionKey(dependency.kind, dependency.group)

    def home_in(self, scan: Scan, dependency: Dependency) -> SectionKey:
        """Return the same where it depends on what the file already has."""
        return self.home(dependency)

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that make a missing section holding *added*. Raises `ManifestError` if it cannot."""
        where = f"{key.kind} dependencies" + (f" of {key.group!r}" if key.group else "")
        raise scan.source.error(f"has no place for {where}: {added[0].name} cannot be written here")

    def read(self, data: bytes, path: str) -> Manifest:
        """Return what the file declares. Raises `ManifestError`."""
        scan = self._scanned(Text.decode(data, path))
        found = (entry.dependency for section in scan.sections for entry in section.entries)
        return Manifest(format=self.name, dependencies=tuple(found), notes=tuple(scan.notes))

    def mask(self, data: bytes, path: str, kinds: Collection[DependencyKind] | None = None) -> bytes:
        """Remove all declarations of *kinds* (None: `masked_kinds`). Raises `ManifestError`.

        An optional declaration that stands among those of a masked kind goes with them, as `optional = true` does
        in `[dependencies]` and in Poetry's table.
        """
        masked = self.masked_kinds if kinds is None else frozenset(kinds)
        scan = self._scanned(Text.decode(data, path))
        edits: list[Edit] = []
        remaining: set[str] = set()
        for section in scan.sections:
            kept = [i for i, entry in enumerate(section.entries) if not _is_masked(entry, section, masked)]
            remaining.update(section.entries[i].dependency.normalised for i in kept)
            if not kept and (section.entries or section.key.kind in masked):
                edits += section.clearing()
            elif len(kept) < len(section.entries):
                edits += section.rewriting(kept, ())
        for companion in scan.companions:
            edits += companion.pruning(lambda name: name not in remaining)
        return edited(scan.source, edits)

    def write(
        self,
        data: bytes,
        dependencies: Sequence[Dependency],
        path: str,
        kinds: Collection[DependencyKind] | None = None,
    ) -> bytes:
        """Make *dependencies* what the file declares of *kinds* (None: all kinds). Raises `ManifestError`.

        Declarations whose `identity` is among *dependencies* stay byte for byte, others go, missing ones are
        added at the end of their section, which is made when it does not exist.
        """
        scan = self._scanned(Text.decode(data, path))
        concerned = [item for item in dependencies if kinds is None or item.kind in kinds]
        wanted = Counter(item.identity for item in concerned)
        kept: list[list[int]] = []
        for section in scan.sections:
            kept.append([])
            for i, entry in enumerate(section.entries):
                identity = entry.dependency.identity
                if kinds is not None and entry.dependency.kind not in kinds:
                    kept[-1].append(i)
                elif wanted[identity] > 0:
                    wanted[identity] -= 1
                    kept[-1].append(i)
        added: dict[SectionKey, list[Dependency]] = {}
        for item in concerned:
            if wanted[item.identity] > 0:
                wanted[item.identity] -= 1
                added.setdefault(self.home_in(scan, item), []).append(item)
        result = edited(scan.source, self._edits(scan, kept, added))
        # What `_edits` left in `added` has no section yet. Each new one moves what follows it: scan again.
        for key, new in added.items():
            scan = self._scanned(Text.decode(result, path))
            result = edited(scan.source, self.create(scan, key, new))
        return result

    def _edits(
        self, scan: Scan, kept: Sequence[Sequence[int]], added: dict[SectionKey, list[Dependency]]
    ) -> list[Edit]:
        """Return the edits of the sections there are; takes out of *added* what has a section."""
        staying = {new.normalised for items in added.values() for new in items}
        gone: set[str] = set()
        edits: list[Edit] = []
        for section, indices in zip(scan.sections, kept, strict=True):
            new = added.pop(section.key, [])
            if new or len(indices) < len(section.entries):
                edits += section.rewriting(indices, new)
            for i, entry in enumerate(section.entries):
                (staying if i in indices else gone).add(entry.dependency.normalised)
        gone -= staying
        if gone:
            for companion in scan.companions:
                edits += companion.pruning(gone.__contains__)
        return edits


def whole_lines(source: Text, span: Span) -> Span:
    """Return the span of all lines that *span* touches, line ends included."""
    last = max(span.start, span.end - 1)
    return Span(source.line_start(span.start), source.line_end(last))


def with_touching_comments(source: Text, lines: Span) -> Span:
    """Widen *lines* by the comment lines directly above and below, which are about what is declared there.

    A comment directly above a `[header]` belongs to the header and stays.
    """
    start, end, text = lines.start, lines.end, source.text
    while start > 0:
        above = source.line_start(start - 1)
        if _first(source, above) != "#":
            break
        start = above
    below = end
    while text[below - 1] == "\n" and _first(source, below) == "#":
        below = source.line_end(below)
    if text[below : below + 1] != "[":
        end = below
    return Span(start, end)


def _first(source: Text, offset: int) -> str:
    return source.text[offset : source.line_end(offset)].lstrip()[:1]


def with_blank_lines_below(source: Text, lines: Span) -> Span:
    """Widen *lines* by the blank lines directly below."""
    end = lines.end
    while end < len(source.text) and not source.text[end : source.line_end(end)].strip():
        end = source.line_end(end)
    return Span(lines.start, end)


def deletions(spans: Collection[Span]) -> list[Edit]:
    """Return the edits that delete *spans*, which may overlap."""
    merged: list[Edit] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Edit(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(Edit(*span))
    return merged


def inserted_lines(source: Text, offset: int, lines: Collection[str]) -> list[Edit]:
    """Return the edit that puts *lines* at the start of a line at *offset*, or after an unfinished last line."""
    if not lines:
        return []
    newline = source.newline
    body = "".join(line + newline for line in lines)
    if offset and source.text[offset - 1] != "\n":
        body = newline + body.removesuffix(newline)
    return [Edit(offset, offset, body)]


_BEFORE_COMMA = re.compile(r"(?:[ \t\r\n\\)]+|#[^\n]*)*")
_COMMENT = re.compile(r"#[^\n]*")
_LINE_TAIL = re.compile(r"[ \t]*(?:#[^\r\n]*)?")
_STEP = "    "


@dataclass(frozen=True)
class BracketSection(Section):
    """The elements between two brackets that are declarations; other elements (`fixed`) always stay."""

    source: Text
    key: SectionKey
    entries: Sequence[ManifestEntry]
    inner: Span
    render: Callable[[Dependency], str]
    fixed: Sequence[Span] = ()
    """Elements that are no declarations (`include-group` tables, expressions)."""

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept* and the fixed elements, then *added*."""
        staying = {entry.span for i, entry in enumerate(self.entries) if i in kept} | set(self.fixed)
        items = sorted({entry.span for entry in self.entries} | set(self.fixed))
        gone = [item for item in items if item not in staying]
        new = [self.render(item) for item in added]
        return [rearranged(self.source, self.inner, items, gone, new)]

    def clearing(self) -> list[Edit]:
        """Return the edits that leave the fixed elements, and without any nothing but the brackets."""
        if self.fixed:
            return self.rewriting((), ())
        inside = self.source.text[self.inner.start : self.inner.end]
        return [Edit(*self.inner)] if inside.strip() else []


def rearranged(
    source: Text,
    inner: Span,
    items: Sequence[Span],
    gone: Collection[Span],
    new: Sequence[str],
    *,
    inline: bool = False,
) -> Edit:
    """Return the edit that takes *gone* out of the comma-separated *items* and puts *new* at their end.

    *inline* keeps an empty list on one line, without a comma at the end, as TOML's inline tables demand.
    """
    listing = _Listing.split(source.text, inner, items)
    smaller = listing.without(i for i, item in enumerate(items) if item in gone)
    if inline and not listing.cells:
        return Edit(*inner, f" {', '.join(new)} " if new else "")
    larger = smaller.extended(new, listing, source.newline, source.indent_at(inner.start))
    return Edit(*inner, larger.joined())


@dataclass(frozen=True)
class _Cell:
    """One element in its parentheses, with lines and blanks before it, its comma, and the rest of its line."""

    lead: str
    item: str
    gap: str = ""
    comma: bool = False
    tail: str = ""

    def joined(self) -> str:
        return f"{self.lead}{self.item}{self.gap}{',' if self.comma else ''}{self.tail}"


@dataclass(frozen=True)
class _Listing:
    """What stands between two brackets, taken apart; `joined` gives it back."""

    cells: tuple[_Cell, ...]
    rest: str

    @classmethod
    def split(cls, text: str, inner: Span, items: Sequence[Span]) -> "_Listing":
        cells, at = [], inner.start
        for item in items:
            opening = _without_comments(text[at : item.start]).find("(")
            start = item.start if opening < 0 else at + opening
            lead = text[at:start]
            comma = _BEFORE_COMMA.match(text, item.end, inner.end)
            after = comma.end() if comma else item.end
            closed = item.end + _without_comments(text[item.end : after]).rfind(")") + 1
            has_comma = text[after] == ","
            at = after + 1 if has_comma else closed
            gap = text[closed : at - 1 if has_comma else at]
            tail = _LINE_TAIL.match(text, at, inner.end)
            end = tail.end() if tail and (tail.end() == inner.end or text[tail.end()] in "\r\n") else at
            cells.append(_Cell(lead, text[start:closed], gap, has_comma, text[at:end]))
            at = end
        return cls(tuple(cells), text[at : inner.end])

    def joined(self) -> str:
        return "".join(cell.joined() for cell in self.cells) + self.rest

    @property
    def multiline(self) -> bool:
        return "\n" in self.rest or any("\n" in cell.lead for cell in self.cells)

    def without(self, removed: Iterable[int]) -> "_Listing":
        """Take elements out with their commas and trailing comments; comment lines stay."""
        gone = set(removed)
        if not gone:
            return self
        kept: list[_Cell] = []
        carried = ""
        for i, cell in enumerate(self.cells):
            lead = _after(carried, cell.lead) if carried or i - 1 in gone else cell.lead
            if i in gone:
                carried = lead
            else:
                carried = ""
                kept.append(replace(cell, lead=lead))
        last = len(self.cells) - 1
        rest = self.rest
        if last in gone:  # comment lines above the last element stay, so the closing bracket gets them
            rest = _comment_lines(carried) + rest
            if "#" in rest and "\n" not in self.rest:
                rest += "\n"
            if kept:
                kept[-1] = replace(kept[-1], comma=self.cells[last].comma)
        return _Listing(tuple(kept), rest)

    def extended(self, new: Sequence[str], before: "_Listing", newline: str, base: str) -> "_Listing":
        """Put elements at the end, laid out as the list was *before* anything was taken out."""
        if not new:
            return self
        rest, first_lead = self.rest, ""
        multiline = before.multiline or not before.cells
        lead = newline + (before.indent() or base + _STEP) if multiline else " "
        trailing = before.cells[-1].comma if before.cells else True
        if not before.cells:
            first_lead, rest = rest.rstrip() + lead, newline + base
        elif self.cells or multiline:
            first_lead = lead
        kept = [*self.cells[:-1], replace(self.cells[-1], comma=True)] if self.cells else []
        cells = [_Cell(lead if i else first_lead, item, comma=True) for i, item in enumerate(new)]
        cells[-1] = replace(cells[-1], comma=trailing)
        return _Listing((*kept, *cells), rest)

    def indent(self) -> str:
        """Return the blanks before the first element that starts a line."""
        leads = (cell.lead for cell in self.cells if "\n" in cell.lead)
        return next((lead.rpartition("\n")[2] for lead in leads), "")


def _without_comments(text: str) -> str:
    """Return *text* with blanks in place of comments."""
    return _COMMENT.sub(lambda found: " " * len(found[0]), text)


def _comment_lines(lead: str) -> str:
    """Return *lead* without the start of its last line: the comment lines above an element."""
    return lead.rpartition("\n")[0].rstrip("\r") if "#" in lead else ""


def _after(carried: str, lead: str) -> str:
    """Return what stands before an element whose predecessor, led by *carried*, was taken out."""
    if "\n" not in lead:
        return carried
    return _comment_lines(carried) + lead
