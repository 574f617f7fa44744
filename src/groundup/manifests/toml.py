"""TOML with spans: where every table, key and value of a document stands. Validity is `tomllib`'s judgement.

`parse` gives a `Document`: `data` is the plain value that `tomllib` reads, and `children(path)` lists what stands
directly below a table however it is written: `key = value` below a `[header]`, a dotted key, a member of an
inline table, or a `[header.key]` table of its own. It changes nothing; `toml_sections.py` does.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field

from groundup.manifests.editing import Span, Text

Path = tuple[str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_FILLER = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_PLAIN_END = re.compile(r"[,\]}#\r\n]|$")
_AT = re.compile(r"^(?P<reason>.*?) \(at (?:line (?P<line>\d+), column \d+|end of document)\)$", re.DOTALL)
_STRINGS = {
    '"""': re.compile(r'"""(?:[^\\]|\\.)*?"""(?!"(?!""))"{0,2}', re.DOTALL),
    "'''": re.compile(r"'''.*?'''(?!'(?!''))'{0,2}", re.DOTALL),
    '"': re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    "'": re.compile(r"'[^'\n]*'"),
}


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
    """One key directly below a table, and all the places that say something about it."""

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
    return TomlDocument(source, data, tuple(_Scanner(source.text).tables()))


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


class _Scanner:
    """Walks a text that `tomllib` has accepted, so that it need not check anything."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def tables(self) -> list[Table]:
        tables = [Table((), None)]
        self._skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                tables[-1].end = self.at
                tables.append(self._header())
            else:
                tables[-1].members.append(self._member())
            self._skip()
        tables[-1].end = len(self.text)
        return tables

    def _skip(self, pattern: re.Pattern[str] = _FILLER) -> None:
        match = pattern.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _header(self) -> Table:
        start = self.at
        array = self.text.startswith("[[", start)
        self.at += 2 if array else 1
        path = self._keys()
        self.at = self.text.index("]", self.at) + (2 if array else 1)
        return Table(path, Span(start, self.at), array)

    def _member(self) -> TomlMember:
        start = self.at
        keys = self._keys()
        self.at = self.text.index("=", self.at) + 1
        self._skip(_BLANK)
        value = self._value()
        return TomlMember(keys, Span(start, self.at), value)

    def _keys(self) -> Path:
        keys = []
        while True:
            self._skip(_BLANK)
            if self.text[self.at] in "\"'":
                keys.append(str(self._string().plain))
            else:
                match = _BARE.match(self.text, self.at)
                assert match is not None
                keys.append(match[0])
                self.at = match.end()
            self._skip(_BLANK)
            if self.text[self.at] != ".":
                return tuple(keys)
            self.at += 1

    def _value(self) -> Value:
        char = self.text[self.at]
        if char in "\"'":
            return self._string()
        if char == "[":
            return self._array()
        if char == "{":
            return self._inline_table()
        match = _PLAIN_END.search(self.text, self.at)
        end = match.start() if match else len(self.text)
        start, self.at = self.at, self.at + len(self.text[self.at : end].rstrip(" \t"))
        return Value(Span(start, self.at))

    def _string(self) -> Value:
        start = self.at
        quote = self.text[start]
        opening = quote * 3 if self.text.startswith(quote * 3, start) else quote
        match = _STRINGS[opening].match(self.text, start)
        assert match is not None
        self.at = match.end()
        raw = match[0]
        if opening == quote and "\\" not in raw:
            return Value(Span(start, self.at), plain=raw[1:-1])
        return Value(Span(start, self.at), plain=tomllib.loads(f"v = {raw}")["v"])

    def _array(self) -> Value:
        start = self.at
        self.at += 1
        items = []
        self._skip()
        while self.text[self.at] != "]":
            items.append(self._value())
            self._comma()
        self.at += 1
        return Value(Span(start, self.at), items=tuple(items))

    def _inline_table(self) -> Value:
        start = self.at
        self.at += 1
        members = []
        self._skip()
        while self.text[self.at] != "}":
            members.append(self._member())
            self._comma()
        self.at += 1
        return Value(Span(start, self.at), members=tuple(members))

    def _comma(self) -> None:
        self._skip()
        if self.text[self.at] == ",":
            self.at += 1
            self._skip()
