"""TOML with spans agrees with tomllib about what every span holds."""

import ast
import tomllib
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.manifests.editing import Span, Text, apply
from groundup.manifests.records import ManifestError
from groundup.manifests.sections import rearranged
from groundup.manifests.toml import TomlDocument, TomlTable, Value, key, parse, quoted

HARD = """\
a = \"\"\"x\"\"\"\"
b = '''y''''
c = \"\"\"
\\\"\"\" \"\"\" # not the end
"d.e" . f = { g = [1, 2, # ]
  { h = '}' } ], i.j = 1979-05-27 07:32:00 }
[ x . "y.z" ] # w
q.w = 1e3
[[p]]
r = []
[p.s]
t = inf
[[p]]
"""


def rebuilt(document: TomlDocument) -> dict[str, object]:
    """Return the document's data, put together from spans alone."""
    out: dict[str, object] = {}
    for table in document.tables:
        target = place(out, table)
        for member in table.members:
            put(target, member.keys, plain(member.value, document.source.text))
    return out


def place(out: dict[str, object], table: TomlTable) -> dict[str, object]:
    """Return the dictionary that a table's members go into."""
    target = out
    for name in table.path[:-1] if table.array else table.path:
        target = last(target.setdefault(name, {}))
    if table.array:
        target.setdefault(table.path[-1], [])
        entries = target[table.path[-1]]
        assert isinstance(entries, list)
        entries.append({})
        return last(entries)
    return target


def last(value: object) -> dict[str, object]:
    """Return a table, or the last one of an array of tables."""
    found = value[-1] if isinstance(value, list) else value
    assert isinstance(found, dict)
    return found


def put(target: dict[str, object], keys: tuple[str, ...], value: object) -> None:
    """Set a dotted key."""
    for name in keys[:-1]:
        target = last(target.setdefault(name, {}))
    target[keys[-1]] = value


def plain(value: Value, text: str) -> object:
    """Return a value from its span."""
    if value.items is not None:
        return [plain(item, text) for item in value.items]
    if value.members is not None:
        out: dict[str, object] = {}
        for member in value.members:
            put(out, member.keys, plain(member.value, text))
        return out
    if value.plain is not None:
        return value.plain
    return tomllib.loads(f"v = {text[value.span.start : value.span.end]}")["v"]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_hard_cases(ends: str) -> None:
    """Quotes in quotes, brackets in strings, dates, dotted keys and arrays of tables keep their places."""
    document = parse(Text.decode(HARD.replace("\n", ends).encode(), "x"))
    assert rebuilt(document) == document.data


SCALARS = st.one_of(st.integers(), st.booleans(), st.text(max_size=6))
KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=4)


@given(st.dictionaries(KEYS, st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(KEYS, SCALARS))))
def test_generated_documents(data: dict[str, object]) -> None:
    """What any document says is what its spans say, and quoted text reads back as itself."""
    text = "".join(f"{key(name)} = {written(value)}\n" for name, value in data.items())
    document = parse(Text.decode(text.encode("utf-8", "surrogatepass"), "x"))
    assert document.data == data
    assert rebuilt(document) == data


def written(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return "[ " + ",\n ".join(map(written, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key(name)} = {written(item)}" for name, item in value.items()) + "}"
    return str(value)


def test_children_however_they_are_written() -> None:
    """A key below a table is found as a key, dotted, inline, and as a table of its own."""
    for text in ("[a.b]\nc = 1\n", "[a]\nb.c = 1\n", "a.b.c = 1\n", "a = {b = {c = 1}}\n", "[a]\nb = {c = 1}\n"):
        document = parse(Text.decode(text.encode(), "x"))
        assert [child.name for child in document.children("a", "b")] == ["c"]
        assert document.value("a", "b", "c") is not None
    document = parse(Text.decode(b"[a.b.c]\nd = 1\n[a.b]\nx = 2\n", "x"))
    assert [child.name for child in document.children("a", "b")] == ["c", "x"]


def test_too_deep() -> None:
    """A document that is nested beyond reason is refused with a clear error."""
    with pytest.raises(ManifestError, match="nested too deeply"):
        parse(Text.decode(b"a = " + b"[" * 100_000, "x"))


LISTS = (
    '["a", "b", "c"]',
    '["a", "b", "c",]',
    '[\n  "a",\n  # x\n  "b", # y\n  "c"\n]',
    '[\n  "a",\n  # x\n  "b", # y\n  "c", # last\n  # tail\n]',
    '["a",\n "b",\n "c"]',
    '[\r\n  "a", "b",\r\n "c" # z\r\n]',
    "[]",
    "[\n # only\n]",
    '["a"\n, "b"\n,"c"]',
    '["a", # q\n "b" # r\n ]',
)


@pytest.mark.parametrize("text", LISTS)
def test_rearranged_lists(text: str) -> None:
    """Whichever elements go and come, the list holds the right ones, and comment lines stay."""
    source = Text.decode(f"v = {text}\nw = 1\n".encode(), "x")
    value = parse(source).value("v")
    assert value is not None
    assert value.items is not None
    spans = [item.span for item in value.items]
    for count in range(len(spans) + 1):
        for gone in combinations(spans, count):
            for new in ([], ['"x"'], ['"x"', '"y"']):
                changed = apply(source.text, [rearranged(source, value.inner, spans, gone, new)])
                stayed = [item.plain for item in value.items if item.span not in gone]
                assert tomllib.loads(changed) == {"v": [*stayed, *(item.strip('"') for item in new)], "w": 1}
                assert ("# x" in changed) == ("# x" in text)


@pytest.mark.parametrize("last", ['("b")', '("b" # c)\n)', '"b" # (c)\n'])
def test_an_element_in_parentheses_keeps_them(last: str) -> None:
    """In a list in Python, a comma stands behind the parenthesis of what was last, and in no comment."""
    source = Text.decode(f'["a", {last}]'.encode(), "x")
    spans = [Span(at, at + 3) for at in (source.text.index('"a"'), source.text.index('"b"'))]
    for gone, left in ((), ["a", "b"]), (spans[:1], ["b"]), (spans[1:], ["a"]), (spans, []):
        for new in ([], ['"x"'], ['"x"', '"y"']):
            edit = rearranged(source, Span(1, len(source.text) - 1), spans, gone, new)
            assert ast.literal_eval(apply(source.text, [edit])) == [*left, *(item.strip('"') for item in new)]
