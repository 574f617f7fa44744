"""Editing declarations on lines of their own, and lists in brackets, with their commas and comments."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, SectionKey
from groundup.manifests.sections import ManifestEntry, Section


def whole_lines(source: Text, span: Span) -> Span:
    """Return the span of all lines that *span* touches, line ends included."""
    last = max(span.start, span.end - 1)
    return Span(source.line_start(span.start), source.line_end(last))


def with_touching_comments(source: Text, lines: Span, marks: str = "#") -> Span:
    """Widen *lines* by the comment lines directly above and below, which are about what is declared there.

    A comment directly above a `[header]` belongs to the header and stays.
    """
    start, end, text = lines.start, lines.end, source.text
    while start > 0:
        above = source.line_start(start - 1)
        if _first(source, above) not in tuple(marks):
            break
        start = above
    below = end
    while below < len(text) and text[below - 1] == "\n" and _first(source, below) in tuple(marks):
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
            return self.rewriting((), ()) if self.entries else []
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
    """One element with what belongs to it: lines and blanks before it, its comma, the rest of its line."""

    lead: str
    item: str
    gap: str = ""
    comma: bool = False
    tail: str = ""

    def joined(self) -> str:
        return f"{self.lead}{self.item}{self.gap}{',' if self.comma else ''}{self.tail}"

    def with_comma(self, comma: bool) -> "_Cell":
        if comma and not self.comma:
            # The gap may hold a comment: a comma behind it would be part of the comment.
            return replace(self, comma=True, gap="", tail=self.gap + self.tail)
        return replace(self, comma=comma)


@dataclass(frozen=True)
class _Listing:
    """What stands between two brackets, taken apart; `joined` gives it back."""

    cells: tuple[_Cell, ...]
    rest: str

    @classmethod
    def split(cls, text: str, inner: Span, items: Sequence[Span]) -> "_Listing":
        cells, at = [], inner.start
        for item in items:
            lead = text[at : item.start]
            comma = _BEFORE_COMMA.match(text, item.end, inner.end)
            after = comma.end() if comma else item.end
            has_comma = after < inner.end and text[after] == ","
            at = after + 1 if has_comma else item.end
            if not has_comma and comma and ")" in comma[0]:
                at = item.end + comma[0].rindex(")") + 1
            gap = text[item.end : at - 1 if has_comma else at]
            tail = _LINE_TAIL.match(text, at, inner.end)
            end = tail.end() if tail and (tail.end() == inner.end or text[tail.end()] in "\r\n") else at
            cells.append(_Cell(lead, text[item.start : item.end], gap, has_comma, text[at:end]))
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
                kept[-1] = kept[-1].with_comma(self.cells[last].comma)
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
        kept = [*self.cells[:-1], self.cells[-1].with_comma(True)] if self.cells else []
        cells = [_Cell(lead if i else first_lead, item, comma=True) for i, item in enumerate(new)]
        cells[-1] = replace(cells[-1], comma=trailing)
        return _Listing((*kept, *cells), rest)

    def indent(self) -> str:
        """Return the blanks before the first element that starts a line."""
        leads = (cell.lead for cell in self.cells if "\n" in cell.lead)
        return next((lead.rpartition("\n")[2] for lead in leads), "")


def _comment_lines(lead: str) -> str:
    """Return *lead* without the start of its last line: the comment lines above an element."""
    return lead.rpartition("\n")[0].rstrip("\r") if "#" in lead else ""


def _after(carried: str, lead: str) -> str:
    """Return what stands before an element whose predecessor, led by *carried*, was taken out."""
    if "\n" not in lead:
        return carried
    return _comment_lines(carried) + lead
