"""JSON with spans: where every value and member of a document stands, and how the document is laid out.

The standard library judges validity, apart from NaN and Infinity, which JSON does not have; spans are
tree-sitter's.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from groundup import grammars
from groundup.manifests.editing import Span, Text

if TYPE_CHECKING:
    import tree_sitter

_HALF = re.compile("[\ud800-\udfff]")
_MAX_DEPTH = 200


@dataclass(frozen=True)
class Node:
    """A value as it is written: a scalar, an array (`items`) or an object (`members`)."""

    span: Span
    plain: object
    items: tuple["Node", ...] | None = None
    members: tuple["JsonMember", ...] | None = None

    @property
    def inner(self) -> Span:
        """What stands between the brackets of an array or an object."""
        return Span(self.span.start + 1, self.span.end - 1)

    def member(self, key: str) -> "JsonMember | None":
        """Return the member that counts for *key*: the last one, as JSON readers have it."""
        return next((item for item in reversed(self.members or ()) if item.key == key), None)


@dataclass(frozen=True)
class JsonMember:
    """`"key": value` of an object."""

    key: str
    key_span: Span
    value: Node

    @property
    def span(self) -> Span:
        """From the key's quote to the end of the value."""
        return Span(self.key_span.start, self.value.span.end)


@dataclass(frozen=True)
class JsonDocument:
    """A parsed file whose top is an object."""

    source: Text
    root: Node

    def member(self, *path: str) -> JsonMember | None:
        """Return the member at *path*, or None."""
        node: Node | None = self.root
        found: JsonMember | None = None
        for key in path:
            found = node.member(key) if node else None
            node = found.value if found else None
        return found

    @cached_property
    def unit(self) -> str:
        """The blanks of one level of indentation; empty when the file is written on one line."""
        if not self.root.members:
            return "  "
        start = self.root.members[0].span.start
        lead = self.source.text[self.root.inner.start : start]
        return lead.rpartition("\n")[2] if "\n" in lead else ""

    @cached_property
    def colon(self) -> str:
        """What the file writes between a key and its value."""
        first = next(iter(self.root.members or ()), None)
        return self.source.text[first.key_span.end : first.value.span.start] if first else ": "

    @cached_property
    def space(self) -> str:
        """What the file writes after a comma that does not end a line."""
        members = self.root.members or ()
        if self.unit or len(members) < 2:
            return " "
        return self.source.text[members[0].span.end : members[1].span.start].partition(",")[2]


def parse(source: Text) -> JsonDocument:
    """Parse *source*. Raises `ManifestError` that names the line."""
    source.refuse_other_encodings()
    try:
        plain = json.loads(source.text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise source.error(f"is not valid JSON: {error.msg}; mend the file", error.pos) from error
    except RecursionError as error:
        raise source.error("is nested too deeply to be read as JSON") from error
    except ValueError as error:
        raise source.error(f"is not valid JSON: {error}; mend the file") from error
    if not isinstance(plain, dict):
        raise source.error("does not hold a JSON object", 0)
    tree = grammars.parse("json", source.utf8).root_node
    if tree.has_error:
        raise source.error("is JSON in a form that cannot be edited here; write it more plainly")
    return JsonDocument(source, _node(source, tree.named_children[0], 0))


def quoted(text: str) -> str:
    """Return *text* as a JSON string."""
    return json.dumps(text, ensure_ascii=False)


def laid_out(value: object, document: JsonDocument, indent: str) -> str:
    """Return *value* as JSON text in the document's style; *indent* is that of the line it starts on."""
    if isinstance(value, dict) and value:
        parts = [f"{quoted(str(key))}{document.colon}{laid_out(item, document, indent + document.unit)}"
                 for key, item in value.items()]  # fmt: skip
        return "{" + bracketed(parts, document, indent) + "}"
    if isinstance(value, list) and value:
        return "[" + bracketed([laid_out(item, document, indent + document.unit) for item in value],
                               document, indent) + "]"  # fmt: skip
    return json.dumps(value, ensure_ascii=False)


def bracketed(parts: Sequence[str], document: JsonDocument, indent: str) -> str:
    """Return what stands between two brackets when *parts* are all there is."""
    if not document.unit:
        return ("," + document.space).join(parts)
    newline = document.source.newline
    lead = newline + indent + document.unit
    return lead + ("," + lead).join(parts) + newline + indent


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _node(source: Text, node: "tree_sitter.Node", depth: int) -> Node:
    """Return the value that *node* stands for. `json` has accepted the text: only what it lets pass is checked."""
    span = source.span_of(node)
    if depth > _MAX_DEPTH:
        raise source.error(f"is nested more than {_MAX_DEPTH} levels deep", span.start)
    if node.type == "object":
        members = tuple([_member(source, pair, depth + 1) for pair in node.named_children])
        return Node(span, {item.key: item.value.plain for item in members}, members=members)
    if node.type == "array":
        items = tuple([_node(source, item, depth + 1) for item in node.named_children])
        return Node(span, [item.plain for item in items], items=items)
    raw = source.text[span.start : span.end]
    plain = raw[1:-1] if raw[0] == '"' and "\\" not in raw else json.loads(raw)
    if isinstance(plain, str) and _HALF.search(plain):
        raise source.error("holds half of a surrogate pair, which is no text", span.start)
    return Node(span, plain)


def _member(source: Text, pair: "tree_sitter.Node", depth: int) -> JsonMember:
    key, value = pair.named_children
    named = _node(source, key, depth)
    return JsonMember(str(named.plain), named.span, _node(source, value, depth))
