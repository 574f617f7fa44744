"""What is seen in the functions of a file, what is tried in them, and what of a service is blamed.

`python -m tests.groundup_origins.inside.test_golden` writes golden/shop.txt and quay.txt anew: read what changed.
"""

import ast
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from groundup_origins.inside import changes, missing, statements
from groundup_origins.inside.afar import Code
from groundup_origins.inside.blame import Blame
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


QUAY, BLAMED = HERE / "quay.py.txt", HERE / "quay.txt"
Asked = tuple[str, str, int, str, str]
BUILD: Asked = ("POST", "/boats", 201, '{"name": "ann", "length": 7}', "build checked")
ODD: Asked = ("POST", "/boats", 201, '{"name": " ", "length": -7, "more": true}', "build checked")
LONG: Asked = ("POST", "/boats", 409, '{"name": "annann", "length": 7000}', "build checked")
REFUSED: Asked = ("POST", "/boats", 422, '{"name": "ann"}', "build>checked checked>raise refused")
SHOWN: Asked = ("GET", "/boats/ann", 200, "", "shown found")
LOST_ONE: Asked = ("GET", "/boats/ann", 404, "", "shown>boat found>abort")
EVERY: Asked = ("GET", "/boats?sort=name", 200, "", "every")
SUNK: Asked = ("DELETE", "/boats/ann", 204, "", "sink found")
NAMED: Asked = ("PUT", "/boats/ann", 200, "other=5&more=x", "rename found")
UNFIT: Asked = ("PUT", "/boats/ann", 500, "other=0", "rename>size found rename-except")
BROKEN: Asked = ("GET", "/boats", 500, "nonsense", "every>kept")
GOT = "last exchange: GET /boats/ann -> 200"
TOLD: dict[str, tuple[tuple[Asked, ...], str, str]] = {
    "still there": ((BUILD, SUNK, SHOWN), "assert 200 == 404", GOT),
    "taken": ((BUILD, ODD), "assert 201 == 422", "last exchange: POST /boats, sent {} -> 201"),
    "taken twice": ((BUILD, BUILD), "assert 201 == 409", "last exchange: POST /boats, sent {} -> 201"),
    "refused": ((BUILD, REFUSED), "assert 422 == 201", "last exchange: POST /boats, sent {} -> 422"),
    "refused otherwise": ((REFUSED,), "assert 422 == 400", "last exchange: POST /boats -> 422"),
    "conflict": ((BUILD, LONG, SUNK), "assert 409 == 201", "last exchange: POST /boats -> 409"),
    "not found": ((BUILD, NAMED, LOST_ONE), "assert 404 == 200", "last exchange: GET /boats/ann -> 404"),
    "not found again": ((SUNK, LOST_ONE), "assert 404 == 410", "last exchange: GET /boats/ann -> 404"),
    "wrong value": (
        (BUILD, SHOWN),
        "assert 14 == 7",
        f"{GOT}\nassert boat['length'] == 7",
    ),
    "wrong name": ((BUILD, NAMED, SHOWN), "assert 'ann' == 'bob'", GOT),
    "constant": (
        (BUILD, EVERY),
        "assert 'sunk' == 'afloat'",
        "last exchange: GET /boats -> 200\nKeyError: 'size'",
    ),
    "order": ((BUILD, BUILD, EVERY), "assert ['b', 'a'] == ['a', 'b']", "At index 0 diff: 'b' != 'a'\nsorted"),
    "other success": ((BUILD, SUNK), "assert 204 == 200", "last exchange: DELETE /boats/ann -> 204"),
    "broken": ((BUILD, BROKEN), "assert 500 == 200", "last exchange: GET /boats -> 500"),
    "let through": ((BUILD, UNFIT), "assert 500 == 400", "last exchange: PUT /boats/ann -> 500"),
    "no status": ((BUILD, UNFIT), "KeyError: 'crew'", ""),
    "nothing asked": ((), "assert 1 == 2", ""),
}


def _exchange(
    asked: Asked, known: statements.Statements, texts: list[str]
) -> tuple[dict[str, Any], dict[Any, int]]:
    """Return one in which statements of functions ran."""
    # `name>word` ran up to a statement with that word, and of `name-word` ran that one alone.
    method, path, status, sent, ran = asked
    lines: dict[Any, int] = {}
    for part in ran.split():
        name = part.replace("-", ">").partition(">")[0]
        word = part[len(name) + 1 :]
        inside = [line for line, one in known.first.items() if getattr(known.function[one], "name", "") == name]
        for line in sorted(inside):
            text = texts[line - 1]
            if "-" not in part or word in text:
                lines[Code("/workspace/quay.py", 1, ()), line] = len(lines) + 1
            if ">" in part and word in text:
                break
    return {"method": method, "address": f"http://here{path}", "sent": sent, "status": status}, lines


def _blamed(folder: Path, text: str, suspects: list[tuple[str, int]]) -> Iterator[str]:
    (folder / "quay.py").write_text(text, encoding="utf-8")
    known, texts = statements.Statements(text), text.splitlines()
    fine = {"fine": (BUILD, SHOWN, EVERY), "more": (BUILD, SUNK, LOST_ONE)}
    for name, (asked, message, said) in TOLD.items():
        given = {
            key: [_exchange(one, known, texts) for one in some] for key, some in {**fine, name: asked}.items()
        }
        given["beside"] = given[name][:1]
        lost = SimpleNamespace(key=name, message=message, said=f"{message}\n{said}", cause=message)
        beside = SimpleNamespace(key="beside", message="", said="", cause="another")
        passing = [SimpleNamespace(key=key) for key in fine]
        blame = Blame(statements, lambda _: str(folder / "quay.py"), given, [lost, beside], passing)
        lines = [line for _, line in blame.of(lost, suspects)]
        yield f"{name}, {len(suspects)} suspects: {lines}"
        yield from (f"  {texts[line - 1].strip()}" for line in lines)


def _all_blamed(folder: Path) -> str:
    text = QUAY.read_text(encoding="utf-8")
    lines = [*_blamed(folder, text, []), *_blamed(folder, text, [("q", 30), ("q", 73)])]
    lines += _blamed(folder, text.partition("\n\ndef unused")[0], [])
    return "\n".join(lines) + "\n"


def test_statements_of_a_service_are_blamed_as_recorded(tmp_path: Path) -> None:
    """By what lost and passing tests asked and ran, for each kind of loss, with and without other suspects."""
    assert _all_blamed(tmp_path) == BLAMED.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        BLAMED.write_text(_all_blamed(Path(place)), encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text(_all(Path(place)), encoding="utf-8")
