"""Small changes of a service, which hidden tests should notice: of statuses, routes, fields, values, conditions.

A change is made in a function that answers a route, by the place of a node in the text; all else stays as it is.
"""

import ast
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from groundup.curation.services.handlers import Function, Sources

MutantKind = Literal["route", "status", "field", "value", "condition"]
KINDS: tuple[MutantKind, ...] = ("route", "status", "field", "value", "condition")
_GONE = "/zq-gone"


class Mutant(NamedTuple):
    """One change."""

    kind: MutantKind
    file: str
    line: int
    told: str
    text: str
    """Of the whole file, changed."""


class _Change(NamedTuple):
    kind: MutantKind
    node: ast.expr
    text: str


def mutants_of(root: Path, wanted: Sequence[tuple[str, str]], most: int) -> tuple[Mutant, ...]:
    """Return at most *most* mutants of handlers of the routes *wanted* (method and shape of path).

    The kinds take turns, and the same sources give the same ones. The sources are those below *root*.
    """
    sources = Sources(root)
    found: dict[MutantKind, list[Mutant]] = {kind: [] for kind in KINDS}
    for route in sources.routes:
        handler = sources.handler(route)
        tree = sources.trees.get(route.file)
        if handler is None or tree is None or not _is_wanted(route.method, route.path, wanted):
            continue
        changes = [(route.file, change) for change in _of_route(tree, route.line, route.path)]
        changes += [(handler.file, change) for change in _of_function(handler.function)]
        for file, change in changes:
            mutant = _changed(file, (root / file).read_text(encoding="utf-8", errors="replace"), change)
            if mutant is not None and mutant not in found[change.kind]:
                found[change.kind].append(mutant)
    return tuple(_in_turn(found, most))


def _is_wanted(method: str, path: str, wanted: Sequence[tuple[str, str]]) -> bool:
    bare = path.rstrip("/") or "/"
    return any(method in (one, "*") and (shape.rstrip("/") or "/") == bare for one, shape in wanted)


def _in_turn(found: dict[MutantKind, list[Mutant]], most: int) -> Iterator[Mutant]:
    dice = random.Random(0)  # noqa: S311 - it keeps no secret
    queues = [sorted(found[kind], key=lambda one: (one.file, one.line, one.told)) for kind in KINDS]
    for queue in queues:
        dice.shuffle(queue)
    count = 0
    while count < most and any(queues):
        for queue in queues:
            if queue and count < most:
                count += 1
                yield queue.pop()


def _of_route(tree: ast.Module, line: int, path: str) -> Iterator[_Change]:
    """Yield the route under another path."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value:
            continue
        text = node.value
        if node.lineno == line and (text.startswith("/") or path.strip("/").endswith(text.strip("/"))):
            yield _Change("route", node, repr(_GONE + "/" + text.lstrip("/")))
            return


def _of_function(function: Function) -> Iterator[_Change]:
    for node in (inner for statement in function.body for inner in ast.walk(statement)):
        yield from _of_status(node)
        if isinstance(node, ast.Dict):
            yield from _of_dict(node)
        if isinstance(node, ast.If):
            yield _Change("condition", node.test, f"not ({ast.unparse(node.test)})")
    for decorator in function.decorator_list:
        for node in ast.walk(decorator):
            yield from _of_status(node)


def _of_status(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Constant) and type(node.value) is int and 200 <= node.value < 600:
        yield _Change("status", node, str(_other_status(node.value)))
    if isinstance(node, ast.Attribute) and node.attr.startswith("HTTP_"):
        number = node.attr.split("_")[1]
        if number.isdigit():
            yield _Change("status", node, str(_other_status(int(number))))


def _other_status(status: int) -> int:
    return {200: 202, 201: 202, 204: 202, 404: 410, 400: 409}.get(status, 418)


def _of_dict(node: ast.Dict) -> Iterator[_Change]:
    keys = [key for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    if len(keys) != len(node.keys) or not keys:
        return
    yield _Change("field", keys[0], repr(f"zq_{keys[0].value!s}"))
    if len(keys) > 1:
        first, second = node.values[0], node.values[1]
        if ast.dump(first) != ast.dump(second):
            parts = [
                f"{ast.unparse(key)}: {ast.unparse(value)}"
                for key, value in zip(keys, (second, first, *node.values[2:]), strict=True)
            ]
            yield _Change("field", node, f"{{{', '.join(parts)}}}")
    for value in node.values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
            yield _Change("value", value, repr(f"{value.value} zq"))
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            yield _Change("value", value, repr(not value.value))


def _changed(file: str, text: str, change: _Change) -> Mutant | None:
    """Return *text* with the node replaced; None where what comes out is no Python."""
    node = change.node
    lines = text.encode().splitlines(keepends=True)
    begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or node.lineno) - 1])) + (node.end_col_offset or 0)
    data = text.encode()
    before = data[begin:end].decode(errors="replace")
    whole = (data[:begin] + change.text.encode() + data[end:]).decode(errors="replace")
    try:
        ast.parse(whole)
    except (SyntaxError, ValueError):
        return None
    told = f"{' '.join(before.split())[:60]} -> {' '.join(change.text.split())[:60]}"
    return Mutant(change.kind, file, node.lineno, told, whole)
