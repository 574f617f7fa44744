"""XML with spans: where every element, attribute and comment stands. Validity is expat's judgement."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from groundup.manifests.editing import Span, Text

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
    span: Span
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
        """The whole element."""
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


def parse(source: Text) -> Element:
    """Return the root element of *source*. Raises `ManifestError` that names the line."""
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise source.error("has a document type, which no build reads; remove it", 0)

    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(source.encode(source.text), True)
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, str(error))
        lines = source.text.count("\n") + 1
        offset = source.offset_of(min(max(error.lineno, 1), lines), 0)
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
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _scan(text: str) -> Element:
    """Walk a text that expat has accepted, so that nothing need be checked."""
    root: Element | None = None
    current: Element | None = None
    around: list[Span] = []
    at = 0
    while True:
        start = text.find("<", at)
        if current is not None:
            current.text += text[at : start if start >= 0 else len(text)]
        if start < 0:
            break
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
        current.text += text[span.start + 9 : span.end - 3].replace("&", "&amp;")


def _opened(text: str, start: int, parent: Element | None) -> Element:
    tag = _TAG.match(text, start)
    assert tag is not None
    base = tag.start("attributes")
    attributes = tuple(
        Attribute(
            match["name"],
            unescaped(match["value"]),
            Span(base + match.start("name"), base + match.end()),
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
