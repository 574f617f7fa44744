"""XML with spans: where elements, attributes and comments stand, and edits of elements that hold declarations."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, DependencyKind, SectionKey
from groundup.manifests.sections import ManifestEntry, Section, deletions

_NAME = r"[^\s<>/=\"'!?]+"
_ATTRIBUTE = re.compile(rf"\s*(?P<name>{_NAME})\s*=\s*(?P<quote>[\"'])(?P<value>.*?)(?P=quote)", re.DOTALL)
_TAG = re.compile(rf"<(?P<name>{_NAME})(?P<attributes>(?:\"[^\"]*\"|'[^']*'|[^\"'>])*?)(?P<closed>/?)>", re.DOTALL)
_CLOSING = re.compile(r"</[^>]*>")
_ENTITY = re.compile(r"&(?:#(?P<decimal>\d+)|#x(?P<hexadecimal>[0-9A-Fa-f]+)|(?P<name>\w+));")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_SPECIALS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))


@dataclass(frozen=True)
class Attribute:
    """`name="value"` of an opening tag."""

    name: str
    value: str
    value_span: Span
    """Between the quotes."""


@dataclass
class Element:
    """An element as it is written. `local` is its name without a prefix."""

    name: str
    attributes: tuple[Attribute, ...]
    start: int
    inner: Span
    """Between the tags; empty, at the end of the tag, when `closed`."""
    closed: bool
    """Written as `<name/>`."""
    parent: "Element | None" = field(default=None, repr=False)
    children: list["Element"] = field(default_factory=list)
    comments: list[Span] = field(default_factory=list)
    """Between its children; the root has also those around it."""
    text: str = ""
    """Its own character data, stripped."""
    end: int = 0

    @property
    def local(self) -> str:
        """The name without a namespace prefix."""
        return self.name.rpartition(":")[2]

    @property
    def prefix(self) -> str:
        """The namespace prefix with its colon, or nothing."""
        return self.name[: len(self.name) - len(self.local)]

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    def attribute(self, name: str) -> str | None:
        """Return the value of the attribute *name*, upper or lower case, or None."""
        return next((item.value for item in self.attributes if item.name.lower() == name.lower()), None)

    def walk(self) -> Iterator["Element"]:
        """Yield this element and all below it, in document order."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending += reversed(element.children)

    def ancestors(self) -> Iterator["Element"]:
        """Yield the parent, its parent, and so on."""
        element = self.parent
        while element is not None:
            yield element
            element = element.parent


def _mistake(error: expat.ExpatError, lines: Sequence[str], opened: Sequence[tuple[str, int]]) -> int:
    """Return the line to mend: what is not closed is noticed where an outer element is, or at the end."""
    here = lines[error.lineno - 1][max(error.offset - 2, 0) :] if 0 < error.lineno <= len(lines) else ""
    closing = re.match(r"\s*</\s*([^\s>]+)", here)
    outer = {name for name, _ in opened[:-1]}
    if opened and (closing[1] in outer if closing else not here.strip()):
        return opened[-1][1]
    return error.lineno


def parse(source: Text) -> Element:
    """Return the root element of *source*. Raises `ManifestError` that names the line."""
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise source.error("has a document type, which no build reads; remove it", 0)

    opened: list[tuple[str, int]] = []
    parser.StartElementHandler = lambda name, _: opened.append((name, parser.CurrentLineNumber))
    parser.EndElementHandler = lambda _: opened.pop()
    # Entities of a document type could unfold to any size.
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(source.encode(source.text), True)
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, str(error))
        lines = source.text.splitlines()
        line = _mistake(error, lines, opened)
        offset = source.offset_of(min(max(line, 1), source.text.count("\n") + 1), 0)
        raise source.error(f"is not valid XML: {reason}; mend the file", offset) from error
    except (LookupError, ValueError) as error:
        raise source.error(f"is not readable XML: {error}; save it as UTF-8", 0) from error
    return _scan(source.text)


def escaped(text: str) -> str:
    """Return *text* for use between double quotes or tags."""
    for char, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ('"', "quot")):
        text = text.replace(char, f"&{name};")
    return text.replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")


def unescaped(text: str) -> str:
    """Return *text* with references replaced, as readable text: bytes of unknown encoding become U+FFFD."""

    def character(match: re.Match[str]) -> str:
        if match["decimal"]:
            return chr(int(match["decimal"]))
        if match["hexadecimal"]:
            return chr(int(match["hexadecimal"], 16))
        return _ENTITIES.get(match["name"], match[0])

    return readable(_ENTITY.sub(character, text))


def readable(text: str) -> str:
    """Return *text* without halves of surrogate pairs, which stand for bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _scan(text: str) -> Element:
    """Walk a text that expat has accepted, so that nothing need be checked."""
    root: Element | None = None
    current: Element | None = None
    around: list[Span] = []
    at = 0
    while True:
        start = text.find("<", at)
        if start < 0:
            break
        if current is not None:
            current.text += text[at:start]
        special = next(((mark, end) for mark, end in _SPECIALS if text.startswith(mark, start)), None)
        if special is not None:
            at = text.index(special[1], start + len(special[0])) + len(special[1])
            _note_special(current, text, Span(start, at), around)
            continue
        closing = _CLOSING.match(text, start)
        if closing:
            assert current is not None
            at = closing.end()
            _close(current, Span(current.inner.start, start), at)
            current = current.parent
            continue
        element = _opened(text, start, current)
        at = element.inner.start
        root = root or element
        if element.closed:
            _close(element, element.inner, at)
        else:
            current = element
    assert root is not None
    root.comments += around
    return root


def _note_special(current: Element | None, text: str, span: Span, around: list[Span]) -> None:
    if text.startswith("<!--", span.start):
        (around if current is None else current.comments).append(span)
    elif current is not None and text.startswith("<![CDATA[", span.start):
        # References in CDATA are none: escaped here, so that `unescaped` gives back what stood there.
        current.text += text[span.start + 9 : span.end - 3].replace("&", "&amp;")


def _opened(text: str, start: int, parent: Element | None) -> Element:
    tag = _TAG.match(text, start)
    assert tag is not None
    base = tag.start("attributes")
    attributes = tuple(
        Attribute(
            match["name"],
            unescaped(match["value"]),
            Span(base + match.start("value"), base + match.end("value")),
        )
        for match in _ATTRIBUTE.finditer(tag["attributes"])
    )
    inner = Span(tag.end(), tag.end())
    element = Element(tag["name"], attributes, start, inner, bool(tag["closed"]), parent)
    if parent is not None:
        parent.children.append(element)
    return element


def _close(element: Element, inner: Span, end: int) -> None:
    element.inner, element.end = inner, end
    element.text = unescaped(element.text).strip()


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
        # By where they start: two elements may be equal.
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
            # A comment before a child that stays is about that child; one after a declaration may name it.
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
        return []

    def clearing(self) -> list[Edit]:
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
