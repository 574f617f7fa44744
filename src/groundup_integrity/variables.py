"""What a test function's variables stand for where it compares with them: literals that its text shows. Pure."""

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeGuard

from groundup_integrity.literals import leaves

Function = ast.FunctionDef | ast.AsyncFunctionDef

EQUALITIES = frozenset(
    {"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual", "assertSetEqual"}
    | {
        "assertSequenceEqual",
        "assertMultiLineEqual",
        "assertCountEqual",
        "assertItemsEqual",
        "assert_equal",
        "eq_",
    }
)


class Stretch(NamedTuple):
    """Between which places of a source, by line and column, a variable is one of *values*; empty: unknown ones."""

    start: tuple[int, int]
    stop: tuple[int, int]
    values: tuple[ast.expr, ...]


def only_expected(function: Function) -> tuple[dict[str, list[Stretch]], frozenset[str]]:
    """Return what is only compared with: variables with the literals that they are set to, and parameters."""
    nodes = list(ast.walk(function))
    compared: list[ast.expr] = []
    for node in nodes:
        if isinstance(node, ast.Compare) and all(isinstance(one, ast.Eq) for one in node.ops):
            compared += [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and name_called(node) in EQUALITIES:
            compared += node.args[:2]
    places = {id(node) for node in compared}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load) and id(node) not in places}
    stored = [node.id for node in names if not isinstance(node.ctx, ast.Load)]
    # A function inside may be called after the variable has another value.
    most = 1 if any(isinstance(one, Function | ast.Lambda) for one in nodes[1:]) else len(stored)
    set_to: dict[str, list[Stretch]] = {}
    for name, setting in _settings(function.body):
        set_to.setdefault(name, []).append(setting)
    values = {
        name: settings
        for name, settings in set_to.items()
        if name not in used and stored.count(name) == len(settings) <= most
    }
    given = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
    return values, frozenset(given - used - set(stored))


def _settings(body: Sequence[ast.stmt]) -> Iterator[tuple[str, Stretch]]:
    """Yield each variable that a statement sets, or a loop over a table, with the literals that it then is."""
    for statement in body:
        start, stop = (statement.lineno, statement.col_offset), (statement.end_lineno or 0, sys.maxsize)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, Stretch(start, (sys.maxsize, 0), _falsifiable([value]))
            case ast.For(target=ast.Tuple(elts=targets), iter=ast.List(elts=rows) | ast.Tuple(elts=rows)):
                for at, target in enumerate(targets):
                    cells = [row.elts[at] for row in rows if _is_row(row, len(targets))]
                    if isinstance(target, ast.Name):
                        known = _falsifiable(cells) if len(cells) == len(rows) else ()
                        yield target.id, Stretch(start, stop, known)


def _is_row(node: ast.expr, width: int) -> TypeGuard[ast.Tuple | ast.List]:
    if not isinstance(node, ast.Tuple | ast.List):
        return False
    return len(node.elts) == width and not any(isinstance(one, ast.Starred) for one in node.elts)


def _falsifiable(values: Sequence[ast.expr]) -> tuple[ast.expr, ...]:
    """Return *values* where each of them can be made another one."""
    return tuple(values) if all(any(leaves(value)) or is_display(value) for value in values) else ()


def fixed_from_the_start(function: Function) -> dict[str, ast.Constant]:
    """Return the variables that are one short literal from the start on."""
    names = [
        node for node in ast.walk(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    ]
    stored = [node.id for node in names] + [one.arg for one in ast.walk(function) if isinstance(one, ast.arg)]
    found = {}
    for statement in function.body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Constant(value=str() | bytes() | int()) as value
            ):
                if stored.count(name) == 1 and value.lineno == value.end_lineno:
                    found[name] = value
    return found


def name_called(node: ast.expr) -> str:
    """Return the last part of what is called."""
    match node:
        case ast.Call(func=function):
            return name_called(function)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def is_display(node: ast.expr) -> bool:
    """Say whether *node* is written in brackets, so that something can be added."""
    if isinstance(node, ast.Tuple):
        return False  # it may stand without parentheses, and is compared as a whole only with them
    return isinstance(node, ast.List | ast.Dict | ast.Set)
