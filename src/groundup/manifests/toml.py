"""TOML with spans: where every table, key and value of a document stands.

`tomllib` judges validity and reads the values; spans are tree-sitter's.

`parse` gives a `TomlDocument`: `data` is the plain value, and `children(path)` lists what stands directly below
a table however it is written: `key = value` below a `[header]`, a dotted key, a member of an inline table, or
a `[header.key]` table of its own. Nothing is changed here; `toml_sections.py` makes the edits.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from groundup import grammars
from groundup.manifests.editing import Span, Text

if TYPE_CHECKING:
    from tree_sitter import Node

Path = tuple[str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTINUED = re.compile(rb"\\+(?=[ \t]+\r?$)", re.MULTILINE)
_AT = re.compile(r"^(?P<reason>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$", re.DOTALL)


@dataclass(frozen=True)
class Value:
    """A value as it is written."""

    span: Span
    plain: object = None
    """The text of a string; None for everything else."""
    items: tuple["Value", ...] | None = None
    """The elements of an array; None for everything else."""
    members: tuple["TomlMember", ...] | None = None
    """The members of an inline table; None for everything else."""

    @property
    def inner(self) -> Span:
        """What stands between the brackets of an array or an inline table."""
        return Span(self.span.start + 1, self.span.end - 1)


@dataclass(frozen=True)
class TomlMember:
    """`key = value`, or `dotted.key = value`."""

    keys: Path
    span: Span
    value: Value


@dataclass
class Table:
    """What stands below one header, or before the first one (`header` is None)."""

    path: Path
    header: Span | None
    array: bool = False
    members: list[TomlMember] = field(default_factory=list)
    end: int = 0
    """Offset of the next header's line, or of the end of the text."""

    @property
    def content_end(self) -> int:
        """Offset after the last member, or after the header when there is none."""
        if self.members:
            return self.members[-1].span.end
        return self.header.end if self.header else 0


@dataclass(frozen=True)
class Child:
    """One key directly below a table, and all the places that set something below it."""

    name: str
    members: tuple[TomlMember, ...]
    """Assignments whose key is `name` or starts with it, relative to the table asked about."""
    tables: tuple[Table, ...]
    """Tables of their own, and tables below them."""
    owner: Value | None
    """The inline table that the members stand in, if any."""

    @property
    def span(self) -> Span:
        """The first place."""
        places = [item.span for item in self.members]
        return min(places + [Span(item.header.start, item.content_end) for item in self.tables if item.header])

    @property
    def start(self) -> int:
        """Offset of the first place."""
        return self.span.start

    @property
    def value(self) -> Value | None:
        """The value of a plain `name = value`; None when the child is written in pieces."""
        if len(self.members) == 1 and not self.tables and len(self.members[0].keys) == 1:
            return self.members[0].value
        return None


@dataclass(frozen=True)
class TomlDocument:
    """A parsed file."""

    source: Text
    data: dict[str, object]
    tables: tuple[Table, ...]

    def plain(self, *path: str) -> object:
        """Return the plain value at *path*, or None."""
        found: object = self.data
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return None
            found = found[key]
        return found

    def table(self, *path: str) -> Table | None:
        """Return the table with the header `[path]`, or None."""
        return next((item for item in self.tables if item.path == path and not item.array and item.header), None)

    def children(self, *path: str) -> list[Child]:
        """Return what stands directly below *path*, in file order. Tables inside arrays of tables are left out."""
        members: dict[tuple[str, int], list[TomlMember]] = {}
        owners: dict[int, Value | None] = {}
        for member, owner in self._members_below(path):
            # One key may be set in a table and in an inline table: each place is edited by its own rules.
            mark = -1 if owner is None else owner.span.start
            owners[mark] = owner
            members.setdefault((member.keys[0], mark), []).append(member)
        tables: dict[str, list[Table]] = {}
        arrays = {item.path for item in self.tables if item.array}
        for table in self.tables:
            inside = any(table.path[: len(array)] == array for array in arrays)
            if table.path[: len(path)] == path and len(table.path) > len(path) and not inside:
                tables.setdefault(table.path[len(path)], []).append(table)
        found = [
            Child(name, tuple(parts), tuple(tables.pop(name, ())), owners[mark])
            for (name, mark), parts in members.items()
        ]
        found += [Child(name, (), tuple(parts), None) for name, parts in tables.items()]
        return sorted(found, key=lambda child: child.start)

    def value(self, *path: str) -> Value | None:
        """Return the value assigned at *path* by a key, dotted or not, or inside an inline table; else None."""
        child = next((item for item in self.children(*path[:-1]) if item.name == path[-1]), None)
        return child.value if child else None

    def _members_below(self, path: Path) -> Iterator[tuple[TomlMember, Value | None]]:
        for table in self.tables:
            if not table.array and path[: len(table.path)] == table.path:
                yield from _matching(table.members, path[len(table.path) :], None)


def _matching(
    members: list[TomlMember], rest: Path, owner: Value | None
) -> Iterator[tuple[TomlMember, Value | None]]:
    """Yield the members below the relative path *rest*, with keys relative to it."""
    for member in members:
        if len(member.keys) > len(rest) and member.keys[: len(rest)] == rest:
            yield TomlMember(member.keys[len(rest) :], member.span, member.value), owner
        elif rest[: len(member.keys)] == member.keys and member.value.members is not None:
            yield from _matching(list(member.value.members), rest[len(member.keys) :], member.value)


def parse(source: Text) -> TomlDocument:
    """Parse *source*. Raises `ManifestError` that names the line."""
    try:
        data = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        match = _AT.match(str(error))
        reason = match["reason"] if match else str(error)
        line = int(match["line"]) if match and match["line"] else None
        offset = len(source.text) if line is None else source.offset_of(line, 0)
        raise source.error(f"is not valid TOML: {reason}; mend the file", offset) from error
    except RecursionError as error:
        raise source.error("is nested too deeply to be read as TOML") from error
    return TomlDocument(source, data, tuple(_tables(source)))


def quoted(text: str) -> str:
    """Return *text* as a basic TOML string."""
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif ord(char) < 0x20 or ord(char) == 0x7F:
            out.append(f"\\u{ord(char):04X}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def key(name: str) -> str:
    """Return *name* as a TOML key, quoted when it must be."""
    return name if _BARE.fullmatch(name) else quoted(name)


def _tables(source: Text) -> Iterator[Table]:
    """Yield the tables of a text that `tomllib` has accepted, so that nothing need be checked.

    The grammar takes `\\` and blanks at the end of a line for an error in a string of several lines. No string is
    read from the tree, so such backslashes may be blanks there.
    """
    tree = grammars.parse("toml", _CONTINUED.sub(lambda match: b" " * len(match[0]), source.utf8))
    if tree.root_node.has_error:
        raise source.error("is TOML in a form that cannot be edited here; write it more plainly")
    table = Table((), None)
    for node in tree.root_node.named_children:
        if node.type == "pair":
            table.members.append(_member(source, node))
        elif node.type != "comment":
            closing = next(child for child in node.children if child.type in ("]", "]]"))
            header = Span(source.span_of(node).start, source.span_of(closing).end)
            table.end = header.start
            yield table
            key, *pairs = node.named_children
            members = [_member(source, pair) for pair in pairs if pair.type == "pair"]
            table = Table(_keys(source, key), header, closing.type == "]]", members)
    table.end = len(source.text)
    yield table


def _member(source: Text, pair: "Node") -> TomlMember:
    """Return a key with its value. The node of a pair is longer: it has the comment behind it."""
    key, node = pair.named_children[:2]
    value = _value(source, node)
    return TomlMember(_keys(source, key), Span(source.span_of(key).start, value.span.end), value)


def _keys(source: Text, node: "Node") -> Path:
    if node.type == "dotted_key":
        return tuple(key for child in node.named_children for key in _keys(source, child))
    text = source.text[slice(*source.span_of(node))]
    return (text if node.type == "bare_key" else _plain(text),)


def _value(source: Text, node: "Node") -> Value:
    span = source.span_of(node)
    if node.type == "string":
        return Value(span, plain=_plain(source.text[span.start : span.end]))
    if node.type == "array":
        items = [_value(source, item) for item in node.named_children if item.type != "comment"]
        return Value(span, items=tuple(items))
    if node.type == "inline_table":
        return Value(span, members=tuple([_member(source, pair) for pair in node.named_children]))
    return Value(span)


def _plain(raw: str) -> str:
    """Return the text of a string: `tomllib` reads those with escapes and those of several lines."""
    if "\\" in raw or raw.startswith(('"""', "'''")):
        return str(tomllib.loads(f"v = {raw}")["v"])
    return raw[1:-1]
