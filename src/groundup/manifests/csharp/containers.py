"""Elements that hold declarations as child elements, edited line by line where they have lines of their own."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from groundup.manifests.csharp.xml_tree import Element
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.lines import deletions
from groundup.manifests.records import Dependency, DependencyKind, SectionKey
from groundup.manifests.sections import ManifestEntry, Section

_COMMENTS = SectionKey(DependencyKind.RUNTIME, "comments")


@dataclass(frozen=True)
class Container(Section):
    """The declarations that are children of one element; its other children always stay."""

    source: Text
    root: Element
    element: Element
    key: SectionKey
    entries: Sequence[ManifestEntry]
    owners: Sequence[Element]
    """The child that each entry stands in; one child may name several packages."""
    render: Callable[[Dependency], str]
    declaring: re.Pattern[str]
    """Found in comments that hold declarations."""

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept* and all other children, then *added*."""
        staying = {self.owners[i].start for i in kept}
        gone = {owner.start: owner for owner in self.owners if owner.start not in staying}
        edits = deletions(footprints(self.source, self.element, [item.span for item in gone.values()]))
        edits += self._thinned(kept, staying)
        return edits + self._additions(gone, [self.render(item) for item in added])

    def clearing(self) -> list[Edit]:
        """Return the edits that remove all declarations and the comments, but for those about other children."""
        if not self.entries:
            return []
        gone = {owner.start: owner.span for owner in self.owners}
        others = sorted(item.start for item in self.element.children if item.start not in gone)
        spans = list(gone.values())
        for comment in self.element.comments:
            if not self.element.inner.start <= comment.start < self.element.inner.end:
                continue
            following = next((start for start in others if start > comment.start), None)
            between = any(comment.start < start < (following or comment.start) for start in gone)
            beside = any(not self._newline_between(span.end, comment.start) for span in spans)
            declaring = self.declaring.search(self.source.text, *comment)
            if following is None or between or beside or declaring:
                spans.append(comment)
        return deletions(footprints(self.source, self.element, spans))

    def _newline_between(self, end: int, start: int) -> bool:
        return start < end or "\n" in self.source.text[end:start]

    def _thinned(self, kept: Collection[int], staying: Collection[int]) -> list[Edit]:
        """Return the edits to elements that name several packages of which only some stay."""
        edits = []
        for owner in {owner.start: owner for owner in self.owners if owner.start in staying}.values():
            indices = [i for i, item in enumerate(self.owners) if item is owner]
            if all(i in kept for i in indices):
                continue
            spans = [self.entries[i].span for i in indices]
            text = ";".join(self.source.text[slice(*self.entries[i].span)] for i in indices if i in kept)
            edits.append(Edit(min(spans).start, max(spans).end, text))
        return edits

    def _additions(self, gone: Collection[int], new: Sequence[str]) -> list[Edit]:
        if not new:
            return []
        source, element, newline = self.source, self.element, self.source.newline
        base = source.indent_at(element.start)
        staying = [item for item in element.children if item.start not in gone]
        indent = next(
            (source.indent_at(item.start) for item in element.children if self._leads_line(item)),
            base + unit_of(source, self.root),
        )
        body = "".join(f"{newline}{indent}{text.replace(chr(10), newline)}" for text in new)
        if element.closed:
            slash = source.text.rindex("/", element.start, element.end)
            start = len(source.text[:slash].rstrip())
            return [Edit(start, element.end, f">{body}{newline}{base}</{element.name}>")]
        if "\n" not in source.text[slice(*element.inner)]:
            if staying:
                return [Edit(staying[-1].end, staying[-1].end, "".join(new))]
            return [Edit(element.inner.start, element.inner.start, body + newline + base)]
        if not staying:
            return [Edit(element.inner.start, element.inner.start, body)]
        at = self._line_tail(staying[-1].end)
        return [Edit(at, at, body)]

    def _leads_line(self, item: Element) -> bool:
        start = self.source.line_start(item.start)
        return not self.source.text[start : item.start].strip()

    def _line_tail(self, at: int) -> int:
        """Return the offset after a comment that follows *at* on its line, or *at*."""
        comment = next((span for span in self.element.comments if span.start >= at), None)
        if comment and not self.source.text[at : comment.start].strip(" \t"):
            return comment.end
        return at


@dataclass(frozen=True)
class DeclaringComments(Section):
    """Comments that hold declarations which are out of use. A mask removes them; nothing else touches them."""

    source: Text
    spans: Sequence[Span]
    key: SectionKey = _COMMENTS
    entries: Sequence[ManifestEntry] = ()

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return no edits: nothing is declared here."""
        return []

    def clearing(self) -> list[Edit]:
        """Return the edits that remove the comments."""
        return deletions([_widened(self.source, span, Span(0, len(self.source.text))) for span in self.spans])


def declaring_comments(
    source: Text, root: Element, containers: Sequence[Container], declaring: re.Pattern[str]
) -> DeclaringComments:
    """Return the comments that hold declarations, but for those that go with a container's own."""
    cleared = [container.element.inner for container in containers if container.entries]
    spans = [
        comment
        for element in root.walk()
        for comment in element.comments
        if declaring.search(source.text, *comment)
        and not any(inner.start <= comment.start < inner.end for inner in cleared)
    ]
    return DeclaringComments(source, spans)


def new_element(
    source: Text, root: Element, after: Element | None, name: tuple[str, str], lines: Sequence[str]
) -> list[Edit]:
    """Return the edits that put an element (name, attributes) below *after*, or at the end of *root*."""
    newline, unit = source.newline, unit_of(source, root)
    base = source.indent_at(after.start) if after else source.indent_at(root.start) + unit
    body = "".join(f"{newline}{base}{unit}{text}" for text in lines)
    element = f"<{name[0]}{name[1]}>{body}{newline}{base}</{name[0]}>"
    if after:
        return [Edit(after.end, after.end, f"{newline}{newline}{base}{element}")]
    if root.closed:
        slash = source.text.rindex("/", root.start, root.end)
        start = len(source.text[:slash].rstrip())
        return [Edit(start, root.end, f">{newline}{base}{element}{newline}</{root.name}>")]
    at = root.inner.start + len(source.text[slice(*root.inner)].rstrip())
    end = "" if "\n" in source.text[at : root.inner.end] else newline
    return [Edit(at, at, f"{newline}{base}{element}{end}")]


def footprints(source: Text, element: Element, spans: Iterable[Span]) -> list[Span]:
    """Return *spans*, those with only blanks between them joined, each with its line when it has it for itself."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and not source.text[joined[-1].end : span.start].strip():
            joined[-1] = Span(joined[-1].start, span.end)
        else:
            joined.append(span)
    return [_widened(source, span, element.inner) for span in joined]


def unit_of(source: Text, element: Element) -> str:
    """Return the blanks of one level of indentation, as the first child of *element* shows it."""
    first = next(iter(element.children), None)
    if first is None:
        return "  "
    base, indent = source.indent_at(element.start), source.indent_at(first.start)
    leads = source.line_start(first.start) + len(indent) == first.start
    return indent.removeprefix(base) if leads and len(indent) > len(base) else "  "


def _widened(source: Text, span: Span, bounds: Span) -> Span:
    start, end = source.line_start(span.start), source.line_end(span.end - 1)
    before, after = source.text[start : span.start], source.text[span.end : end]
    if before.strip() or after.strip() or start < bounds.start or end > bounds.end:
        return span
    return Span(start, end)
