"""Small changes of a submission's code, each at one line: what a programmer would try first.

`mends` makes them in a forked child. It stands in one process with untrusted code, needs the standard library
only, and works on Python 3.8 to 3.13.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

_LARGEST = 512 * 1024
_NAMES = 6
"""Other variables of a function that are tried in the place of one."""
_PLACES = 3
"""Of a literal in a wrong text."""
_OTHER: dict[Any, tuple[Any, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.FloorDiv),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
"""Operators that are taken for one another."""


class CodeChange:
    """One part of a syntax tree and what may stand in its place."""

    __slots__ = ("_field", "_index", "_parent", "line", "new", "statement", "tier")

    def __init__(self, parent: Any, field: str, index: int | None, new: Any, tier: int, statement: Any) -> None:
        self._parent, self._field, self._index = parent, field, index
        self.new = new
        self.tier = tier
        """0: a slip of the pen; 2: crude."""
        self.statement = statement
        old = getattr(parent, field)
        old = old if index is None else old[index]
        self.line: int = getattr(old, "lineno", getattr(parent, "lineno", statement.lineno))

    def swap(self) -> None:
        """Put the new part in and keep the old one, or the other way round."""
        if self._index is None:
            old = getattr(self._parent, self._field)
            setattr(self._parent, self._field, self.new)
        else:
            held = getattr(self._parent, self._field)
            old, held[self._index] = held[self._index], self.new
        self.new = old

    def words(self) -> str:
        """Return the statement as it is now, in its first line; "" where Python cannot write it."""
        try:
            return str(ast.unparse(self.statement)).partition("\n")[0]
        except Exception:  # noqa: BLE001 - Python 3.8, or a tree that cannot be written
            return ""


class Function:
    """A function or an assignment of a module or a class, with the classes around it."""

    def __init__(self, node: Any, classes: Sequence[str]) -> None:
        self.node = node
        self.classes = tuple(classes)
        self.is_assignment = not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        decorators = getattr(node, "decorator_list", [])
        self.first: int = min([node.lineno, *(one.lineno for one in decorators)])
        self.last: int = node.end_lineno
        self.names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and self.is_assignment}
        self.made: list[CodeChange] = []
        self.made_for: Any = None
        """For which test these changes were made."""

    def statement_at(self, line: int) -> range:
        """Return the lines of the innermost statement that has a line, of one with a body those above it."""
        best = range(line, line + 1)
        size = self.last - self.first + 2
        for one in ast.walk(self.node):
            if isinstance(one, ast.stmt) and one is not self.node:
                body = getattr(one, "body", None)
                end = max(body[0].lineno - 1, one.lineno) if body else one.end_lineno or one.lineno
                if one.lineno <= line <= end and end - one.lineno < size:
                    best, size = range(one.lineno, end + 1), end - one.lineno
        return best

    def changes(self, pairs: Sequence[tuple[Any, Any]]) -> list[CodeChange]:
        """Return what may be changed; *pairs*: values that differ, of which one is wrong."""
        if self.is_assignment:
            return [*_in(self.node, self.node, (), pairs)]
        arguments = self.node.args
        every = [*arguments.args, *arguments.kwonlyargs, *getattr(arguments, "posonlyargs", ())]
        names = [one.arg for one in every][:_NAMES]
        return [*_in(self.node, self.node, names, pairs)]

    def alone(self, path: str) -> types.CodeType:
        """Compile an assignment as it is now, without the classes around it."""
        module = ast.Module(body=[self.node], type_ignores=[])
        return compile(ast.fix_missing_locations(module), path, "exec", dont_inherit=True)

    def codes(self, path: str, flags: int) -> list[types.CodeType]:
        """Compile the function as it is now, where it stands, and return its code and that of inner ones."""
        node = self.node
        for name in reversed(self.classes):
            node = ast.ClassDef(name=name, bases=[], keywords=[], body=[node], decorator_list=[])
            vars(node)["type_params"] = []  # Python 3.12 wants it
            ast.copy_location(node, self.node)
        module = ast.Module(body=[node], type_ignores=[])
        ast.fix_missing_locations(module)
        found = [compile(module, path, "exec", flags, dont_inherit=True)]
        for code in found:  # which grows
            found += [one for one in code.co_consts if isinstance(one, types.CodeType)]
        return found


def functions_of(path: str) -> list[Function]:
    """Return the outermost functions of a file, and the assignments of its modules and classes."""
    with open(path, "rb") as file:  # noqa: PTH123 - tests replace much, and this the least
        text = file.read(_LARGEST + 1)
    return [*_outermost(ast.parse(text).body, ())] if len(text) <= _LARGEST else []


def _outermost(body: Sequence[Any], classes: tuple[str, ...]) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _outermost(node.body, (*classes, node.name))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Function(node, classes)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if all(isinstance(one, ast.Name) for one in targets):
                yield Function(node, classes)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _outermost(node.body, classes)
            yield from _outermost(getattr(node, "orelse", []), classes)


class _Around(NamedTuple):
    """Where a part of a tree stands."""

    parent: Any
    field: str
    names: Sequence[str]
    """The function's arguments."""
    pairs: Sequence[tuple[Any, Any]]


def _in(node: Any, statement: Any, names: Sequence[str], pairs: Sequence[tuple[Any, Any]]) -> Iterator[CodeChange]:
    """Yield the changes below a node."""
    for field, held in ast.iter_fields(node):
        if field in ("decorator_list", "annotation", "returns", "ctx"):
            continue
        many = isinstance(held, list)
        for number, part in enumerate(held if many else [held]):
            if not isinstance(part, ast.AST) or isinstance(part, ast.arguments):
                continue  # a default was made when the function was
            own = part if isinstance(part, ast.stmt) else statement
            may_hang = isinstance(node, ast.While) and field == "test"
            for tier, new in _variants(part, _Around(node, field, names, pairs)):
                at, put = number if many else None, ast.copy_location(new, part)
                yield CodeChange(node, field, at, put, max(tier, int(may_hang)), own)
            yield from _in(part, own, names, pairs)


def _variants(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    """Yield what may stand in the place of a node, each with its tier."""
    kind = type(node)
    if kind in _VARIANTS:
        yield from _VARIANTS[kind](node, around)
    if around.field in ("test", "ifs") and kind is not ast.Constant:
        if kind not in (ast.Compare, ast.UnaryOp):
            yield 0, ast.UnaryOp(op=ast.Not(), operand=node)
        yield 2, _constant(True)
        yield 2, _constant(False)


def _constants(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    value = node.value
    others: list[Any] = []
    for wrong, right in around.pairs:
        if type(value) is type(wrong) and value == wrong:
            others.append(right)
        elif isinstance(value, str) and value and isinstance(wrong, str) and isinstance(right, str):
            others += _mended_texts(value, wrong, right)
    if isinstance(value, bool):
        others.append(not value)
    elif isinstance(value, (int, float)):
        others += [value + 1, value - 1, 0]
    elif value is None:
        others += [True, False]
    elif isinstance(value, str) and value and not isinstance(around.parent, ast.Expr):
        others.append("")
    for other in others:
        is_same = type(other) is type(value) and other == value
        if not is_same and (not isinstance(around.parent, ast.JoinedStr) or isinstance(other, str)):
            yield 0, _constant(other)


def _comparisons(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    for number, operator in enumerate(node.ops):
        for kind in _OTHER.get(type(operator), ()):
            yield 0, _but(node, ops=[*node.ops[:number], kind(), *node.ops[number + 1 :]])


def _truths(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    yield 0, _but(node, op=_OTHER[type(node.op)][0]())
    for number in range(len(node.values)):
        rest = [one for at, one in enumerate(node.values) if at != number]
        yield 1, rest[0] if len(rest) == 1 else _but(node, values=rest)


def _signs(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    yield 0, node.operand


def _operations(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    for kind in _OTHER.get(type(node.op), ()):
        yield 0, _but(node, op=kind())
    if isinstance(node, ast.BinOp):
        yield 0, node.left
        yield 0, node.right
    else:
        yield from _statements(node, around)


def _reads(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    if not isinstance(node.ctx, ast.Load) or around.field == "func":
        return
    if isinstance(around.parent, (ast.BinOp, ast.Compare, ast.Call, ast.Subscript, ast.Slice, ast.Return)):
        for kind in (ast.Add, ast.Sub):
            yield 1, ast.BinOp(left=node, op=kind(), right=_constant(1))
    if isinstance(node, ast.Name):
        for name in around.names:
            if name != node.id:
                yield 2, ast.Name(id=name, ctx=ast.Load())


def _statements(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # such as a docstring
    yield (1 if isinstance(node, ast.Expr) else 2), ast.Pass()


def _returns(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    if node.value is not None and not isinstance(node.value, ast.Constant):
        for value in (None, True, False):
            yield 2, ast.Return(value=_constant(value))


def _mended_texts(literal: str, wrong: str, right: str) -> Iterator[str]:
    """Yield what a literal in *wrong* would have to be for the text to be *right*."""
    at = -1
    for _ in range(_PLACES):
        at = wrong.find(literal, at + 1)
        if at < 0:
            return
        before, after = wrong[:at], wrong[at + len(literal) :]
        if right.startswith(before) and right[at:].endswith(after):
            yield right[at : len(right) - len(after)]


def _slices(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    yield 0, _but(node, lower=_constant(1) if node.lower is None else None)
    last = ast.UnaryOp(op=ast.USub(), operand=_constant(1))
    yield 0, _but(node, upper=last if node.upper is None else None)


def _calls(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    function, given = node.func, node.args
    is_open = any(isinstance(one, ast.Starred) for one in given)
    if isinstance(function, ast.Attribute) and getattr(function.value, "id", "") not in ("self", "cls"):
        yield 1, function.value  # without the method
    if len(given) == 1 and not node.keywords and not is_open:
        yield 1, given[0]
    if len(given) == 2 and not is_open:
        yield 1, _but(node, args=given[::-1])
    for number in range(len(node.keywords)):
        yield 2, _but(node, keywords=[one for at, one in enumerate(node.keywords) if at != number])


_VARIANTS: dict[Any, Callable[[Any, _Around], Iterator[tuple[int, Any]]]] = {
    ast.Constant: _constants,
    ast.Compare: _comparisons,
    ast.BoolOp: _truths,
    ast.UnaryOp: _signs,
    ast.BinOp: _operations,
    ast.AugAssign: _operations,
    ast.Slice: _slices,
    ast.Call: _calls,
    ast.Name: _reads,
    ast.Attribute: _reads,
    ast.Expr: _statements,
    ast.Assign: _statements,
    ast.Raise: _statements,
    ast.Delete: _statements,
    ast.Return: _returns,
}


def _constant(value: Any) -> Any:
    return ast.Constant(value=value, kind=None)


def _but(node: Any, **changes: Any) -> Any:
    new = copy.copy(node)
    for name, value in changes.items():
        setattr(new, name, value)
    return new
