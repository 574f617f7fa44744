"""What is seen in the functions of a file, and what is tried in them: each change with its line, tier and words.

`python -m tests.groundup_origins.inside.test_golden` writes golden/shop.txt anew: read what changed.
"""

import ast
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from groundup_origins.inside import changes, missing, statements
from groundup_origins.inside.changes import CodeChange
from groundup_origins.inside.functions import Function, functions_of

HERE = Path(__file__).parent / "golden"
SHOP, GOLDEN = HERE / "shop.py.txt", HERE / "shop.txt"
PAIRS: dict[str, list[tuple[Any, Any]]] = {
    "price_of": [(4, 5), (5, 4), (2.5, 3), ("3.0", 3.0)],
    "label": [("a-b c", "a-b_c"), ("Net: x", "Crate: x"), ("ab", "AB"), ("xab", "xyab"), ([3, 1], [1, 3])],
    "checked": [("  x ", "x"), (-1, 1), (None, True), ("cba", "abc")],
}
WORDS = ["Crate", "crew", "size", "colour", "label of", "amounts"]
EMPTY, SOME = ("items", "list", True), ("items", "list", False)
LOST = {
    "sold": ([EMPTY, ("count", "int", True)], [SOME, ("count", "int", False)]),
    "checked": ([("text", "NoneType", True), ("strict", "is True", False)], [("text", "str", False)]),
    "moved": ([("boxes", "dict", False), ("to", "str", True)], [("boxes", "list", False), ("to", "str", False)]),
}


def _told(found: Iterable[CodeChange]) -> Iterator[str]:
    for one in found:
        one.swap()
        yield f"  {one.line} {one.tier} {one.words()}"
        one.swap()


def _shown(value: Any) -> str:
    """Return trees as Python writes them, and rows and tables of trees in their order."""
    if isinstance(value, ast.AST):
        return ast.unparse(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_shown(one)}" for name, one in value.items()) + "}"
    if isinstance(value, frozenset):
        return " ".join(sorted(value))
    return "[" + ", ".join(map(_shown, value)) + "]" if isinstance(value, list) else str(value)


def _function(one: Function, all_of: list[Function]) -> Iterator[str]:
    name = getattr(one.node, "name", "") or ", ".join(sorted(one.names))
    offers = one.offers()
    yield f"== {'.'.join((*one.classes, name))}, lines {one.first} to {one.last}, {'forgets' * one.forgets()}"
    for field in ("names", "own", "flags", "texts", "unused", "unread"):
        yield f"{field}: {_shown(getattr(offers, field))}"
    places = map(one.statement_at, range(one.first - 1, one.last + 2))
    yield f"statements: {[(at.start, at.stop) for at in places]}"
    yield f"defaults: {one.lines_of_defaults()}, changed {one.defaults()}"
    yield f"compiled: {[code.co_name for code in one.codes('shop.py', 0)]}"
    yield "changed:"
    yield from _told(changes.changes_of(one, PAIRS.get(name, []), WORDS))
    yield "inserted:"
    yield from _told(missing.inserted(changes, one, missing.donors(all_of)))
    yield "repeated:"
    yield from _told(missing.repeated(changes, one, missing.plain_statements(all_of)))
    yield "prepared and kept:"
    yield from _told(missing.prepared(changes, one, all_of))
    yield from _told(missing.kept(changes, one, all_of))
    if name in LOST:
        lost, passing = LOST[name]
        lines = range(one.first, one.last + 1)
        yield "by state:"
        states = {line: {frozenset(lost)} for line in lines}, {line: {frozenset(passing)} for line in lines}
        yield from _told(missing.by_state(changes, one, "ValueError", *states))


def _file(text: str) -> Iterator[str]:
    known = statements.Statements(text)
    yield "== statements"
    yield f"names: {' '.join(sorted(filter(None, known.names)))}"
    yield f"unregistered: {[one.name for one in known.unregistered()]}"
    for name in ("stock", "crew", "total", "LIMIT", "absent"):
        yield f"{name}: empty {known.begins_empty(name)}, declared {[*known.declaring(name)]}"
    for line in sorted({*known.first, *known.parts}):
        node, around = known.node(line), known.around(line)
        read, written = statements.keys(node)
        words = ast.unparse(node).splitlines()[0]
        yield f"{line} in {getattr(around, 'name', None)}, whole {known.whole(line)}: {words}"
        sets = {
            "loaded": statements.loaded(node),
            "stored": statements.stored(node),
            "named": statements.named(node),
            "reads": read,
            "writes": written,
            "constants": statements.constants(node),
        }
        yield f"  {'; '.join(f'{what} {_shown(some)}' for what, some in sets.items() if some)}".rstrip()
        given = [f"{key} at {known.giving(known.whole(line), key)}" for key, _ in statements.given(node)]
        marks = ["changes"] * statements.changes(node) + ["guards"] * statements.is_guard(node)
        marks += ["answers"] * (isinstance(node, statements.FUNCTIONS) and statements.is_route(node))
        marks += ["empty"] * (isinstance(node, ast.Assign) and statements.is_empty(node.value))
        yield f"  {statements.computing(node)} computed; {' '.join([*given, *marks])}".rstrip()


def _all(folder: Path) -> str:
    text = SHOP.read_text(encoding="utf-8")
    path = folder / "shop.py"
    path.write_text(text, encoding="utf-8")
    found = functions_of(str(path))
    beside = found[0].beside
    lines = [f"{name}: {_shown(beside[name])}" for name in ("fields", "defaults", "required")]
    listed = {name: {one: [*some.values()] for one, some in beside[name].items()} for name in ("calls", "given")}
    lines += [f"{name}: {_shown(one)}" for name, one in listed.items()]
    lines += [f"conversions: {[_shown([*some.values()]) for some in beside['conversions'].values()]}"]
    lines += [line for one in found for line in _function(one, found)]
    return "\n".join([*lines, *_file(text)]) + "\n"


def test_a_file_offers_what_is_recorded(tmp_path: Path) -> None:
    """Every change of every function, in its order, and what each statement reads, sets and gives."""
    assert _all(tmp_path) == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text(_all(Path(place)), encoding="utf-8")
