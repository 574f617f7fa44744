"""JSON with spans: where every value and member of a document stands, how it is laid out, and edits of its lists.

The standard library judges validity, apart from NaN and Infinity, which JSON does not have; spans are
tree-sitter's.
"""

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from groundup import grammars
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, SectionKey
from groundup.manifests.sections import ManifestEntry, Section

if TYPE_CHECKING:
    import tree_sitter

_HALF = re.compile("[\ud800-\udfff]")
_MAX_DEPTH = 200


@dataclass(frozen=True)
class JsonNode:
    """A value as it is written: a scalar, an array (`items`) or an object (`members`)."""

    span: Span
    plain: object
    items: tuple["JsonNode", ...] | None = None
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
    value: JsonNode

    @property
    def span(self) -> Span:
        """From the key's quote to the end of the value."""
        return Span(self.key_span.start, self.value.span.end)


@dataclass(frozen=True)
class JsonDocument:
    """A parsed file whose top is an object."""

    source: Text
    root: JsonNode

    def member(self, *path: str) -> JsonMember | None:
        """Return the member at *path*, or None."""
        node: JsonNode | None = self.root
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


def _mistake(source: Text, error: json.JSONDecodeError) -> int:
    """Return where to mend: a comma that is missing, or one too many, stands before where reading ended."""
    before = source.before(error.pos)
    is_comma = source.text[before : before + 1] == "," and source.text[error.pos : error.pos + 1] in ("}", "]")
    return before if is_comma or error.msg == "Expecting ',' delimiter" else error.pos


def parse(source: Text) -> JsonDocument:
    """Parse *source*. Raises `ManifestError` that names the line."""
    source.refuse_other_encodings()
    try:
        plain = json.loads(source.text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise source.error(f"is not valid JSON: {error.msg}; mend the file", _mistake(source, error)) from error
    except RecursionError as error:
        raise source.error("is nested too deeply to be read as JSON") from error
    except ValueError as error:
        raise source.error(f"is not valid JSON: {error}; mend the file") from error
    if not isinstance(plain, dict):
        raise source.error("does not hold a JSON object", 0)
    # json says whether it is JSON and what it means; the grammar says where everything stands.
    tree = grammars.parse("json", source.utf8).root_node
    if tree.has_error:
        raise source.error("is JSON in a form that cannot be edited here; write it more plainly")
    return JsonDocument(source, _node(source, tree.named_children[0], 0))


def quoted(text: str) -> str:
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


@dataclass(frozen=True)
class BracketedList:
    """The members of one object, or the elements of one array, as spans between two brackets."""

    document: JsonDocument
    inner: Span
    items: Sequence[Span]

    def rewriting(self, kept: Collection[int], added: Sequence[str]) -> list[Edit]:
        """Return the edits that leave the items of index in *kept*, then *added*, laid out as the list was."""
        if len(kept) == len(self.items) and not added:
            return []
        return self._among_kept(kept, added) if kept else self._from_nothing(added)

    def _among_kept(self, kept: Collection[int], added: Sequence[str]) -> list[Edit]:
        last = max(kept)
        edits = [
            # Up to the last one that stays, an item goes with the comma behind it; later ones with the comma
            # before them.
            Edit(item.start, self.items[i + 1].start) if i < last else Edit(self.items[i - 1].end, item.end)
            for i, item in enumerate(self.items)
            if i not in kept
        ]
        end = self.items[last].end
        between = self._between()
        return [Edit(end, end, "".join(f",{between}{item}" for item in added)), *edits] if added else edits

    def _from_nothing(self, added: Sequence[str]) -> list[Edit]:
        if not added:
            return [Edit(*self.inner)]
        if self.items:
            body = f",{self._between()}".join(added)
            return [Edit(self.items[0].start, self.items[-1].end, body)]
        indent = self.document.source.indent_at(self.inner.start)
        return [Edit(*self.inner, bracketed(added, self.document, indent))]

    def _between(self) -> str:
        """Return what stands after a comma."""
        text: Text = self.document.source
        if len(self.items) > 1:
            return text.text[self.items[-2].end : self.items[-1].start].partition(",")[2]
        lead = text.text[self.inner.start : self.items[0].start]
        return lead if "\n" in lead else self.document.space


@dataclass(frozen=True)
class ListSection(Section):
    """The declarations of one object or array. A key that is written twice counts once: the last one."""

    document: JsonDocument
    key: SectionKey
    node: JsonNode
    entries: Sequence[ManifestEntry]
    render: Callable[[Dependency], str]

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave *kept*, then *added*."""
        new = [self.render(item) for item in added]
        if self.node.members is None and self.node.items is None:  # null stands where an object belongs
            indent = self.document.source.indent_at(self.node.span.start)
            return [Edit(*self.node.span, "{" + bracketed(new, self.document, indent) + "}")] if new else []
        if self.node.members is not None:
            gone = {self._name(entry) for i, entry in enumerate(self.entries) if i not in kept}
            staying = [i for i, item in enumerate(self.node.members) if item.key not in gone]
            spans = [item.span for item in self.node.members]
        else:
            starts = {entry.span.start for i, entry in enumerate(self.entries) if i not in kept}
            staying = [i for i, item in enumerate(self.node.items or ()) if item.span.start not in starts]
            spans = [item.span for item in self.node.items or ()]
        return BracketedList(self.document, self.node.inner, spans).rewriting(staying, new)

    def clearing(self) -> list[Edit]:
        """Return the edits that leave nothing between the brackets."""
        nothing = not (self.node.members or self.node.items)
        return [] if nothing else [Edit(*self.node.inner)]

    def _name(self, entry: ManifestEntry) -> str:
        return next(item.key for item in self.node.members or () if item.span == entry.span)


@dataclass(frozen=True)
class PeerSection(ListSection):
    """`peerDependencies` with their entries in `peerDependenciesMeta`: both go and come together."""

    meta: JsonNode | None
    render_meta: Callable[[Dependency], str | None]

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits to both objects."""
        edits = super().rewriting(kept, added)
        if self.meta is None or self.meta.members is None:
            return edits
        gone = {self._name(entry) for i, entry in enumerate(self.entries) if i not in kept}
        staying = [i for i, item in enumerate(self.meta.members) if item.key not in gone]
        new = [text for text in map(self.render_meta, added) if text is not None]
        spans = [item.span for item in self.meta.members]
        return edits + BracketedList(self.document, self.meta.inner, spans).rewriting(staying, new)

    def clearing(self) -> list[Edit]:
        """Return the edits that empty both objects."""
        meta = [Edit(*self.meta.inner)] if self.meta and self.meta.members else []
        return super().clearing() + meta


@dataclass(frozen=True)
class ShadowedSection(Section):
    """An object that declares nothing: its key is written again below, or nothing refers to it.

    Its names would leak, so a mask empties it. Its key must be no declaration's home.
    """

    key: SectionKey
    node: JsonNode
    entries: Sequence[ManifestEntry] = ()

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        return []

    def clearing(self) -> list[Edit]:
        """Return the edits that leave nothing between the brackets."""
        return [Edit(*self.node.inner)] if self.node.members or self.node.items else []


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _node(source: Text, node: "tree_sitter.Node", depth: int) -> JsonNode:
    """Return the value that *node* stands for. `json` has accepted the text: only what it lets pass is checked."""
    span = source.span_of(node)
    if depth > _MAX_DEPTH:
        raise source.error(f"is nested more than {_MAX_DEPTH} levels deep", span.start)
    if node.type == "object":
        members = tuple([_member(source, pair, depth + 1) for pair in node.named_children])
        return JsonNode(span, {item.key: item.value.plain for item in members}, members=members)
    if node.type == "array":
        items = tuple([_node(source, item, depth + 1) for item in node.named_children])
        return JsonNode(span, [item.plain for item in items], items=items)
    plain = json.loads(source.text[span.start : span.end])
    if isinstance(plain, str) and _HALF.search(plain):
        raise source.error("holds half of a surrogate pair, which is no text", span.start)
    return JsonNode(span, plain)


def _member(source: Text, pair: "tree_sitter.Node", depth: int) -> JsonMember:
    key, value = pair.named_children
    named = _node(source, key, depth)
    return JsonMember(str(named.plain), named.span, _node(source, value, depth))
