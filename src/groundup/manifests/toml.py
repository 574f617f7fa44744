"""TOML with spans: where every table, key and value of a document stands, and edits of tables of dependencies.

`tomllib` judges validity and reads the values; spans are tree-sitter's.

`parse` gives a `TomlDocument`: `data` is the plain value, and `children(path)` lists what stands directly below
a table however it is written: `key = value` below a `[header]`, a dotted key, a member of an inline table, or
a `[header.key]` table of its own.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from groundup import grammars
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, SectionKey
from groundup.manifests.sections import (
    Companion,
    ManifestEntry,
    Section,
    deletions,
    inserted_lines,
    rearranged,
    whole_lines,
    with_blank_lines_below,
    with_touching_comments,
)

if TYPE_CHECKING:
    from tree_sitter import Node

Path = tuple[str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTINUED = re.compile(rb"\\+(?=[ \t]+\r?$)", re.MULTILINE)
_AT = re.compile(
    r"^(?P<reason>.*?) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$", re.DOTALL
)


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
class TomlTable:
    """What stands below one header, or before the first one (`header` is None)."""

    path: Path
    header: Span | None
    array: bool = False
    members: list[TomlMember] = field(default_factory=list)

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
    tables: tuple[TomlTable, ...]
    """Tables of their own, and tables below them."""
    owner: Value | None
    """The inline table that the members stand in, if any."""

    @property
    def span(self) -> Span:
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
    tables: tuple[TomlTable, ...]

    def plain(self, *path: str) -> object:
        """Return the plain value at *path*, or None."""
        found: object = self.data
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return None
            found = found[key]
        return found

    def table(self, *path: str) -> TomlTable | None:
        """Return the table with the header `[path]`, or None."""
        return next((item for item in self.tables if item.path == path and not item.array and item.header), None)

    def children(self, *path: str) -> list[Child]:
        """Return what stands directly below *path*, in file order. Tables inside arrays of tables are left out."""
        members: dict[str, tuple[list[TomlMember], Value | None]] = {}
        for member, owner in self._members_below(path):
            members.setdefault(member.keys[0], ([], owner))[0].append(member)
        tables: dict[str, list[TomlTable]] = {}
        arrays = {item.path for item in self.tables if item.array}
        for table in self.tables:
            inside = any(table.path[: len(array)] == array for array in arrays)
            if table.path[: len(path)] == path and len(table.path) > len(path) and not inside:
                tables.setdefault(table.path[len(path)], []).append(table)
        found = [
            Child(name, tuple(parts), tuple(tables.pop(name, ())), owner)
            for name, (parts, owner) in members.items()
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
        known = match and match["line"]
        offset = source.offset_of(int(known), int(match["column"]) - 1) if match and known else len(source.text)
        if reason.startswith("Unclosed"):  # its reader names what stands after it
            offset = source.before(offset)
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


def _tables(source: Text) -> Iterator[TomlTable]:
    """Yield the tables of a text that `tomllib` has accepted, so that nothing need be checked.

    The grammar takes `\\` and blanks at the end of a line for an error in a string of several lines. No string is
    read from the tree, so such backslashes may be blanks there.
    """
    tree = grammars.parse("toml", _CONTINUED.sub(lambda match: b" " * len(match[0]), source.utf8))
    if tree.root_node.has_error:
        raise source.error("is TOML in a form that cannot be edited here; write it more plainly")
    table = TomlTable((), None)
    for node in tree.root_node.named_children:
        if node.type == "pair":
            table.members.append(_member(source, node))
        elif node.type != "comment":
            closing = next(child for child in node.children if child.type in ("]", "]]"))
            header = Span(source.span_of(node).start, source.span_of(closing).end)
            yield table
            key, *pairs = node.named_children
            members = [_member(source, pair) for pair in pairs if pair.type == "pair"]
            table = TomlTable(_keys(source, key), header, closing.type == "]]", members)
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
    """Return the text of a string."""
    return str(tomllib.loads(f"v = {raw}")["v"])


Assignment = tuple[str, str]
"""A key, unquoted, and the text of its value."""


@dataclass(frozen=True)
class KeySection(Section):
    """A table whose keys are dependencies: `[dependencies]`, `[tool.poetry.dependencies]`, `[packages]`."""

    document: TomlDocument
    path: Path
    key: SectionKey
    entries: Sequence[ManifestEntry]
    children: Sequence[Child]
    """One for each entry; an array of alternatives gives one child for several entries."""
    render: Callable[[Sequence[Dependency]], Assignment]
    """Makes one key of all dependencies of one name; called with one where a name stands once."""
    key_of: Callable[[Dependency], str] = lambda dependency: dependency.name

    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave the entries *kept*, then *added*.

        A key that keeps only some of its alternatives, or gets another one, is written anew.
        """
        names = {self.key_of(item) for item in added}
        torn = {child.start for i, child in enumerate(self.children) if i not in kept or child.name in names}
        gone = [child for child in self.children if child.start in torn]
        renewed = [self.entries[i].dependency for i in kept if self.children[i].start in torn]
        by_key: dict[str, list[Dependency]] = {}
        for item in [*renewed, *added]:
            by_key.setdefault(self.key_of(item), []).append(item)
        new = [self.render(items) for items in by_key.values()]
        return removal(self.document, gone, new, self.path, comments=False)

    def clearing(self) -> list[Edit]:
        """Return the edits that remove all entries and the comments that touch them."""
        return removal(self.document, self.children, [], self.path, comments=True)


@dataclass(frozen=True)
class KeyCompanion(Companion):
    """A table with more about dependencies declared elsewhere, by name: `[tool.uv.sources]`."""

    document: TomlDocument
    path: Path
    children: Mapping[str, Child]
    """By normalised name."""

    def pruning(self, is_gone: Callable[[str], bool]) -> list[Edit]:
        """Return the edits that remove the entries of the names that are gone."""
        gone = [child for name, child in self.children.items() if is_gone(name)]
        return removal(self.document, gone, [], self.path, comments=True)


def removal(
    document: TomlDocument, gone: Sequence[Child], added: Sequence[Assignment], path: Path, *, comments: bool
) -> list[Edit]:
    """Return the edits that take children out of the table at *path*, with *comments* on request, and add keys."""
    source = document.source
    spans: list[Span] = []
    owners: dict[int, tuple[Value, set[TomlMember]]] = {}
    for child in gone:
        if child.owner is not None:
            owners.setdefault(child.owner.span.start, (child.owner, set()))[1].update(child.members)
            continue
        spans += child_spans(source, child, comments=comments)
    home = inline_home(document, path) if added else None
    if home is not None:
        owners.setdefault(home.span.start, (home, set()))
    edits = deletions(spans)
    for owner, members in owners.values():
        new = [f"{key(name)} = {value}" for name, value in added] if owner == home else []
        starts = {item.span.start for item in members}
        items = [item.span for item in owner.members or ()]
        edits.append(
            rearranged(source, owner.inner, items, [i for i in items if i.start in starts], new, inline=True)
        )
    return edits if home is not None or not added else edits + assignments(document, path, added)


def child_spans(source: Text, child: Child, *, comments: bool) -> list[Span]:
    """Return the lines that declare *child*: of its keys, and of its own tables with the blank lines below."""
    headed = [Span(table.header.start, table.content_end) for table in child.tables if table.header]
    spans = []
    for span in [member.span for member in child.members] + headed:
        lines = whole_lines(source, span)
        lines = with_touching_comments(source, lines) if comments else lines
        spans.append(with_blank_lines_below(source, lines) if span in headed else lines)
    return spans


def inline_home(document: TomlDocument, path: Path) -> Value | None:
    """Return the inline table that is the value at *path*, or None."""
    value = document.value(*path) if path else None
    return value if value is not None and value.members is not None else None


def assignments(document: TomlDocument, path: Path, added: Sequence[Assignment]) -> list[Edit]:
    """Return the edits that set new keys in the table at *path*, wherever that is, made when it is missing."""
    source = document.source
    inline = inline_home(document, path)
    if inline is not None:
        items = [item.span for item in inline.members or ()]
        new = [f"{key(name)} = {value}" for name, value in added]
        return [rearranged(source, inline.inner, items, (), new, inline=True)]
    table = document.table(*path)
    if table is not None:
        lines = [f"{key(name)} = {value}" for name, value in added]
        return inserted_lines(source, _after_content(source, table), _in_newlines(source, lines))
    dotted = _dotted_home(document, path)
    if dotted is not None:
        table, prefix, offset = dotted
        lines = [".".join(map(key, (*prefix, name))) + f" = {value}" for name, value in added]
        return inserted_lines(source, offset, _in_newlines(source, lines))
    return _new_table(document, path, added)


def _after_content(source: Text, table: TomlTable) -> int:
    return source.line_end(table.content_end - 1)


def _in_newlines(source: Text, lines: Sequence[str]) -> list[str]:
    return [line.replace("\n", source.newline) for line in lines]


def _dotted_home(document: TomlDocument, path: Path) -> tuple[TomlTable, Path, int] | None:
    """Return the table, the relative key and the offset where dotted keys below *path* stand, if any do."""
    for table in document.tables:
        rest = path[len(table.path) :]
        if table.array or not rest or path[: len(table.path)] != table.path:
            continue
        below = [member for member in table.members if member.keys[: len(rest)] == rest]
        if below:
            return table, rest, document.source.line_end(below[-1].span.end - 1)
    return None


def _new_table(document: TomlDocument, path: Path, added: Sequence[Assignment]) -> list[Edit]:
    source = document.source
    lines = ["[" + ".".join(map(key, path)) + "]", *(f"{key(name)} = {value}" for name, value in added)]
    siblings = [table for table in document.tables if path[:-1] and table.path[: len(path) - 1] == path[:-1]]
    if siblings:
        offset = _after_content(source, siblings[-1])
        return inserted_lines(source, offset, _in_newlines(source, ["", *lines]))
    offset = len(source.text)
    blank = [""] if source.text.strip() and not source.text.endswith(("\n\n", "\r\n\r\n")) else []
    return inserted_lines(source, offset, _in_newlines(source, [*blank, *lines]))
