"""False values in the table of a parametrised test, and what its cases are called then. Pure.

pytest keeps the parameters where a submission can read them. So what stands there is false too, where the names of
the cases that follow from it are known; a test whose case names are unknown is falsified in its body.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.literals import Vocabulary, leaves, other_literal
from groundup.grading.library.source_text import SourceEdit, SourceText
from groundup.grading.library.variables import Function
from groundup.grammars import python_value

_PLAIN = (str, bytes, bool, int, float, complex, type(None))
_TRIES = 10
_BUILDERS = {"set": set, "frozenset": frozenset, "list": list, "tuple": tuple, "dict": dict}


class FalseRow(NamedTuple):
    """The edit of one row, and what its cases are called then -> their names with the true table."""

    edit: SourceEdit
    renamed: Mapping[NumberedTest, NumberedTest]

    @property
    def cases(self) -> frozenset[NumberedTest]:
        """The cases of the row, by their own names."""
        return frozenset(self.renamed.values())


class FalseTable(NamedTuple):
    """A table all of whose rows are false; if they are *separable*, each may be so without the others."""

    rows: tuple[FalseRow, ...]
    separable: bool


class _Table(NamedTuple):
    names: tuple[str, ...]
    rows: tuple[tuple[ast.expr, ...], ...]

    def case(self, number: int, instead: Mapping[int, object]) -> str:
        """Return what pytest calls a row; *instead*: other values by column."""
        return "-".join(self._part(number, column, instead) for column in range(len(self.names)))

    def _part(self, number: int, column: int, instead: Mapping[int, object]) -> str:
        node = self.rows[number][column]
        value = instead.get(column, _literal_value(node) if _is_literal(node) else node)
        # These are pytest's own rules: other values are called by their parameter and the row's number.
        if isinstance(value, str):
            return value.encode("unicode_escape").decode()
        if isinstance(value, bytes):
            return value.decode("ascii", "backslashreplace")
        return str(value) if isinstance(value, _PLAIN) else f"{self.names[column]}{number}"


def false_table(
    function: Function, text: SourceText, expected: Collection[NumberedTest], random: Random
) -> FalseTable | None:
    """Return another table for the cases *expected* of *function*; None where there is none that is sure."""
    table = _table(function)
    columns = [] if table is None else [at for at in range(len(table.names)) if _is_usable(function, table, at)]
    if table is None or not columns:
        return None
    prefixes = {key.id.partition("[")[0] for key in expected}
    known = text.vocabulary(function)
    try:
        cases = [table.case(number, {}) for number in range(len(table.rows))]
        # Names that come out otherwise than pytest reported them show that the table was misunderstood.
        if {NumberedTest.of(f"{place}[{case}]") for place in prefixes for case in cases} != set(expected):
            return None
        found = None
        for _ in range(_TRIES):
            edits, names = _drawn(table, random.choice(columns), text, known, random)
            # Of equal names pytest numbers all, so they must differ, as they are and as they become.
            if len({*names}) == len(cases) == len({*cases}):
                found = _renamed(edits, names, cases, prefixes)
                if found.separable:
                    break
    except (ValueError, TypeError, SyntaxError):
        return None
    return found


def _renamed(
    edits: Sequence[SourceEdit], names: Sequence[str], cases: Sequence[str], places: Collection[str]
) -> FalseTable:
    """Return a table whose rows are called *names* in place of *cases*, in each of *places*."""
    rows = [
        FalseRow(
            edit,
            {NumberedTest.of(f"{place}[{name}]"): NumberedTest.of(f"{place}[{case}]") for place in sorted(places)},
        )
        for edit, name, case in zip(edits, names, cases, strict=True)
    ]
    # A false row beside a true one must not have its name.
    others = {*cases}
    separable = all(name == case or name not in others for name, case in zip(names, cases, strict=True))
    return FalseTable(tuple(rows), separable)


def _drawn(
    table: _Table, column: int, text: SourceText, known: Vocabulary, random: Random
) -> tuple[list[SourceEdit], list[str]]:
    """Return edits that make one column false in every row, and the names of the rows."""
    edits, names = [], []
    for number, row in enumerate(table.rows):
        leaf = random.choice(list(leaves(row[column])))
        new = other_literal(text.of(leaf), leaf.value, random, known)
        edits.append(SourceEdit(text.start(leaf), text.stop(leaf), new))
        is_whole = isinstance(row[column], ast.Constant)
        names.append(table.case(number, {column: python_value(f"({new.decode()})")} if is_whole else {}))
        if not is_whole and isinstance(_literal_value(row[column]), _PLAIN):
            raise ValueError("a number behind a sign, or joined texts")
    return edits, names


def _table(function: Function) -> _Table | None:
    """Return the one table of *function*, when each row can be read."""
    found = [one for one in function.decorator_list if "parametrize" in ast.unparse(one)]
    match found:
        case [
            ast.Call(
                args=[ast.Constant(value=str() as names), ast.List(elts=rows) | ast.Tuple(elts=rows)], keywords=[]
            )
        ]:
            split = tuple(name.strip() for name in names.split(",") if name.strip())
        case [
            ast.Call(
                args=[ast.List(elts=words) | ast.Tuple(elts=words), ast.List(elts=rows) | ast.Tuple(elts=rows)],
                keywords=[],
            )
        ]:
            split = tuple(str(one.value) for one in words if isinstance(one, ast.Constant))
        case _:
            return None
    read = [tuple(_row(row, len(split))) for row in rows]
    is_read = all(len(row) == len(split) for row in read)
    return _Table(split, tuple(read)) if read and split and is_read else None


def _row(row: ast.expr, width: int) -> Sequence[ast.expr]:
    if width == 1:
        return [row]
    return row.elts if isinstance(row, ast.Tuple | ast.List) else []


def _is_usable(function: Function, table: _Table, column: int) -> bool:
    return all(_is_literal(row[column]) and any(leaves(row[column])) for row in table.rows) and _decides(
        function, table.names[column]
    )


def _decides(function: Function, name: str) -> bool:
    """Whether each run of *function* that passes compares something with the parameter, which has no other use."""
    uses = [node for node in _loaded(function) if node.id == name]
    sides = {id(side) for statement in ast.walk(function) for side in _compared(statement)}
    certain = {id(side) for statement in function.body for side in _compared(statement)}
    is_left = any(isinstance(one, ast.Return | ast.Try) for one in ast.walk(function))
    is_set = any(isinstance(one, ast.Name) and one.id == name and one not in uses for one in ast.walk(function))
    return (
        bool(uses)
        and all(id(one) in sides for one in uses)
        and any(id(one) in certain for one in uses)
        and not (is_left or is_set)
    )


def _compared(statement: ast.AST) -> Iterator[ast.expr]:
    """Yield what a statement says is equal, without its tolerance."""
    match statement:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
            yield from (_exact(left), _exact(right))
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="assertEqual"), args=[left, right, *_])):
            yield from (left, right)
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Name() as right])):
            yield right


def _exact(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Attribute(attr="approx") | ast.Name(id="approx"), args=[value, *_]):
            return value
    return node


def _is_literal(node: ast.expr) -> bool:
    """Whether *node* is a value that its text alone gives."""
    match node:
        case ast.Constant():
            return node.value is not Ellipsis
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_literal(operand)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return all(map(_is_literal, parts))
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and _is_literal(key) for key in keys) and all(map(_is_literal, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(left) and _is_text(right)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return name in _BUILDERS and len(args) <= 1 and all(map(_is_literal, args))
    return False


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and _is_text(node.left) and _is_text(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _literal_value(node: ast.expr) -> object:
    """Return the value of a literal. Raises `ValueError` or `TypeError` for one that Python refuses."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _literal_value(left) + _literal_value(right)  # type: ignore[operator]
        case ast.Call(func=ast.Name(id=name), args=args):
            return _BUILDERS[name](*map(_literal_value, args))
    return ast.literal_eval(node)


def _loaded(function: Function) -> list[ast.Name]:
    """Return where the function reads names."""
    return [node for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
