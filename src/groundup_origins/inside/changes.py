"""Small changes of a submission's code, each at one line: what a programmer would try first.

`mends` makes them in a forked child. It stands in one process with untrusted code, needs the standard library
only, and works on Python 3.8 to 3.13.
"""

from __future__ import annotations

import ast
import copy
import difflib
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

_NAMES = 6
"""Other variables of a function that are tried in the place of one."""
_STEP = 2
"""By how much a number may be wrong that a constant made so."""
_LONGEST, _SHORT = 400, 8
"""Characters of a text, and of a part of it that stands for another."""
_PLACES = 3
"""Of a literal in a wrong text."""
_MORE = 12
"""Words that are tried as one more element of a row of texts."""
_FIELDS = 3
"""Other fields of the same thing that are tried in the place of one."""
_FLAGS = {"sorted": "reverse", "sort": "reverse", "model_dump": "exclude_unset", "dict": "exclude_unset"}
"""Keyword arguments that calls lack, or have wrongly."""
_TWINS: dict[str, tuple[str, ...]] = {}
"""Functions and methods that are taken for one another."""
for _some in (
    "any all", "min max", "floor ceil", "lower upper", "startswith endswith", "strip lstrip rstrip",
    "append extend", "keys values items", "find rfind", "split rsplit", "partition rpartition", "pop get",
    "union intersection difference", "match fullmatch search", "add discard", "update setdefault",
    "islower isupper", "isdigit isalnum isalpha", "ljust rjust",
):  # fmt: skip
    for _one in _some.split():
        _TWINS[_one] = tuple(other for other in _some.split() if other != _one)
TIERS = TOLD, SLIP, STATE, LESS, CRUDE = range(5)
"""What a failure tells, a slip of the pen, what lost tests alone give a function, and the rest."""
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

    __slots__ = ("_before", "_field", "_index", "_parent", "line", "new", "statement", "tier")

    def __init__(
        self, parent: Any, field: str, index: int | None, new: Any, tier: int, statement: Any, before: str = ""
    ) -> None:
        self._parent, self._field, self._index = parent, field, index
        self._before = before
        self.new = new
        self.tier = tier
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
        node, most = self.statement, 2 if self._before else 1
        if self.new is node:  # what was there is a whole statement
            held = getattr(self._parent, self._field)
            node = held if self._index is None else held[self._index]
            most = 2 if isinstance(node, ast.If) else most
        try:
            return self._before + " ".join(str(ast.unparse(node)).split("\n")[:most])
        except Exception:  # noqa: BLE001 - Python 3.8, or a tree that cannot be written
            return ""


class Scope(NamedTuple):
    """What a changed part may be made of."""

    offers: Any
    """What its function and its file have: `functions.Offers`."""
    pairs: Sequence[tuple[Any, Any]]
    words: Sequence[str]
    told: Sequence[str]
    """By what a wrong value of the failure becomes the right one."""
    replaced: Sequence[tuple[str, str]]
    """Parts of wrong texts and what the right ones have in their place."""
    is_async: bool = False
    """Whether the function around a part is: there one may wait."""


class _Around(NamedTuple):
    """Where a part of a tree stands."""

    parent: Any
    field: str
    scope: Scope


def changes_of(function: Any, pairs: Sequence[tuple[Any, Any]], words: Sequence[str] = ()) -> list[CodeChange]:
    """Return what may be changed in a function.

    *pairs*: values that differ, of which one is wrong; *words*: texts of the failure.
    """
    told = [wrap for wrap in _WRAPS if any(_leads(wrap, *pair) for pair in pairs)]
    replaced = [*dict.fromkeys(one for pair in pairs for one in _replaced(*pair))]
    scope = Scope(function.offers(), pairs, words, told, replaced)
    return [*_in(function.node, function.node, scope), *_other_defaults(function, scope)]


def _other_defaults(function: Any, scope: Scope) -> Iterator[CodeChange]:
    """Yield changes of an argument's default, which are put into what runs by `defaults`."""
    given = None if function.is_assignment else function.node.args
    header = None if given is None else _but(function.node, decorator_list=[], body=[ast.Pass()], returns=None)
    for field in ("defaults", "kw_defaults"):
        for number, old in enumerate(getattr(given, field, ())):
            if isinstance(old, ast.Constant):
                for tier, new in _constants(old, _Around(given, field, scope)):
                    # What is called mostly gives an argument, and whose default helps may lack to do so.
                    later = tier if tier == TOLD else max(tier, LESS)
                    yield CodeChange(given, field, number, ast.copy_location(new, old), later, header)


def _in(node: Any, statement: Any, scope: Scope) -> Iterator[CodeChange]:
    """Yield the changes below a node."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        scope = scope._replace(is_async=isinstance(node, ast.AsyncFunctionDef))
    for field, held in ast.iter_fields(node):
        if field in ("decorator_list", "annotation", "returns", "ctx"):
            continue
        many = isinstance(held, list)
        for number, part in enumerate(held if many else [held]):
            if not isinstance(part, ast.AST) or isinstance(part, ast.arguments):
                continue  # a default was made when the function was
            own = part if isinstance(part, (ast.stmt, ast.ExceptHandler)) else statement
            may_hang = isinstance(node, ast.While) and field == "test"
            for tier, new in _variants(part, _Around(node, field, scope)):
                at, put = number if many else None, ast.copy_location(_but(new), part)  # it may be used elsewhere
                yield CodeChange(node, field, at, put, max(tier, LESS if may_hang else TOLD), own)
            yield from _in(part, own, scope)


def _variants(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    """Yield what may stand in the place of a node, each with its tier."""
    kind = type(node)
    if kind in _VARIANTS:
        yield from _VARIANTS[kind](node, around)
    if isinstance(node, ast.expr) and around.field in _VALUES and isinstance(around.parent, _GIVING):
        for wrap in around.scope.told:
            yield LESS, _WRAPS[wrap][1](node)
        for wrap in _LOST_WRAPS if around.scope.pairs and kind in (ast.Name, ast.Attribute) else ():
            yield CRUDE, _WRAPS[wrap][1](node)
    for other in around.scope.offers.given_as(_name_of(node, around)) if isinstance(node, ast.expr) else ():
        if ast.dump(other) != ast.dump(node):
            yield LESS, other
    if around.field in ("test", "ifs") and kind is not ast.Constant:
        if kind not in (ast.Compare, ast.UnaryOp):
            yield SLIP, ast.UnaryOp(op=ast.Not(), operand=node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield LESS, ast.Compare(left=node, ops=[ast.IsNot()], comparators=[_constant(None)])
        yield from _more_conditions(node, around.scope.offers)
        yield CRUDE, _constant(True)
        yield CRUDE, _constant(False)


def _more_conditions(node: Any, offers: Any) -> Iterator[tuple[int, Any]]:
    """Yield a condition with a flag that it does not ask; first one that nothing asks."""
    used = {ast.dump(one) for one in ast.walk(node)}
    for tier, flags in ((SLIP, [*map(_name, offers.unused), *offers.unread]), (LESS, map(_name, offers.flags))):
        for flag in flags:
            for kind in (ast.And, ast.Or) if ast.dump(flag) not in used else ():
                yield tier, ast.BoolOp(op=kind(), values=[node, flag])
                yield tier, ast.BoolOp(op=kind(), values=[node, ast.UnaryOp(op=ast.Not(), operand=flag)])


def _name(name: str) -> Any:
    return ast.Name(id=name, ctx=ast.Load())


def _constants(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    value = node.value
    if isinstance(value, str) and (not value or isinstance(around.parent, ast.Expr)):
        return
    told = [
        one
        for wrong, right in around.scope.pairs
        for one in _told(value, wrong, right)
        # To write down what the test wants in the place of nothing mends any test.
        if value is not None and not isinstance(value, bool)
    ]
    others: list[Any] = []
    if isinstance(value, bool):
        others.append(not value)
    elif isinstance(value, (int, float)):
        others += [value + 1, value - 1, 0]
    elif value is None and not isinstance(around.parent, (*_ROWS, ast.Compare)):
        others += [True, False]
    elif isinstance(value, str):
        told += difflib.get_close_matches(value, [one for one in around.scope.words if one != value], 2, 0.6)
    for thing in _at_hand(node, around):
        yield SLIP, thing
    crude = ["", value.swapcase(), *around.scope.offers.texts[:_NAMES]] if isinstance(value, str) else ()
    for tier, some in ((TOLD, told), (SLIP, others), (CRUDE, crude)):
        for other in some:
            is_same = type(other) is type(value) and other == value
            if not is_same and (not isinstance(around.parent, ast.JoinedStr) or isinstance(other, str)):
                yield tier, _constant(other)


def _at_hand(node: Any, around: _Around) -> Iterator[Any]:
    """Yield the fields of things in a function that are called as what gets a constant, as in `a=body["a"]`."""
    name = _name_of(node, around)
    for thing, fields in around.scope.offers.fields.items() if name else ():
        if name in fields and thing in around.scope.offers.names:
            yield _but(fields[name], ctx=ast.Load())


def _name_of(node: Any, around: _Around) -> str:
    """Return the key, attribute or argument that gets a value; "" for others."""
    parent = around.parent
    if isinstance(parent, ast.Dict) and around.field == "values":
        name = next((getattr(key, "value", "") for key, one in zip(parent.keys, parent.values) if one is node), "")  # noqa: B905
    elif isinstance(parent, ast.Assign) and around.field == "value":
        name = around.scope.offers.field_of(parent.targets[0])[1]
    else:
        name = getattr(parent, "arg", "")
    return name if isinstance(name, str) else ""


def _told(value: Any, wrong: Any, right: Any) -> Iterator[Any]:
    """Yield what a constant would be, were a value right instead of wrong."""
    if type(value) is type(wrong) and value == wrong:
        yield right
    elif isinstance(value, str) and isinstance(wrong, str) and isinstance(right, str):
        yield from _mended_texts(value, wrong, right)
    elif {type(value), type(wrong), type(right)} <= {int, float} and abs(right - wrong) <= _STEP:
        yield value + right - wrong


def _rows(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    """Yield a row of texts with one more, which its function or the failure has, too."""
    had = [getattr(one, "value", None) for one in node.elts]
    if had and all(isinstance(one, str) for one in had):
        words = dict.fromkeys([*around.scope.offers.texts, *filter(str.isidentifier, around.scope.words)])
        for word in [one for one in words if one not in had][:_MORE]:
            yield SLIP, _but(node, elts=[*node.elts, _constant(word)])


def _comparisons(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    is_text = all(isinstance(getattr(one, "value", ""), (str, ast.AST)) for one in (node.left, *node.comparators))
    if is_text and isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
        for name in ("lower", "strip") if not isinstance(node.left, ast.Constant) else ():
            yield LESS, _but(node, left=_asked(name)(node.left))
    for number, one in enumerate(node.ops):
        for kind in _OTHER.get(type(one), ()):
            yield SLIP, _but(node, ops=[*node.ops[:number], kind(), *node.ops[number + 1 :]])
    if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and getattr(node.comparators[0], "value", 0) is None:
        is_none = isinstance(node.ops[0], ast.Is)
        yield LESS, ast.UnaryOp(op=ast.Not(), operand=node.left) if is_none else node.left


def _truths(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    yield SLIP, _but(node, op=_OTHER[type(node.op)][0]())
    for number in range(len(node.values)):
        rest = [one for at, one in enumerate(node.values) if at != number]
        yield LESS, rest[0] if len(rest) == 1 else _but(node, values=rest)
    if isinstance(node.op, ast.Or) and len(node.values) == 2 and around.field not in ("test", "ifs"):
        first, second = node.values
        is_none = ast.Compare(left=first, ops=[ast.Is()], comparators=[_constant(None)])
        yield LESS, ast.IfExp(test=is_none, body=second, orelse=first)


def _signs(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    yield SLIP, node.operand


def _operations(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    for kind in _OTHER.get(type(node.op), ()):
        yield SLIP, _but(node, op=kind())
    if not isinstance(node, ast.BinOp):
        yield from _statements(node, around)
        return
    yield SLIP, node.left
    yield SLIP, node.right
    yield LESS, _but(node, left=node.right, right=node.left)
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and len(node.left.elts) == 1:
        times = ast.Call(func=ast.Name(id="range", ctx=ast.Load()), args=[node.right], keywords=[])
        each = ast.comprehension(target=ast.Name(id="_", ctx=ast.Store()), iter=times, ifs=[], is_async=0)
        yield SLIP, ast.ListComp(elt=node.left.elts[0], generators=[each])  # each its own, not one many times


def _reads(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    if not isinstance(node.ctx, ast.Load):
        return
    if around.field == "func":
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        for twin in _TWINS.get(name, ()):
            yield SLIP, _but(node, attr=twin) if isinstance(node, ast.Attribute) else _but(node, id=twin)
        return
    yield from _one_off(node, around)
    yield from _converted(node, around)
    for name in around.scope.offers.names if isinstance(node, ast.Name) else ():
        if name != node.id:
            yield CRUDE, ast.Name(id=name, ctx=ast.Load())
    for other in _other_fields(node, around.scope):
        yield LESS, _but(node, attr=other)


def _one_off(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    """Yield a number with one more and one less, as far as its place lets it be one."""
    if isinstance(around.parent, _COUNTING):
        for kind in (ast.Add, ast.Sub):
            yield LESS, ast.BinOp(left=node, op=kind(), right=_constant(1))


def _converted(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    """Yield what other functions of the file make of a variable, or of another part of the same thing."""
    known = around.scope.offers.conversions_of(node)
    for name in [*known][:_NAMES] if around.field in ("args", "left", "comparators", "value", "values") else ():
        yield LESS, ast.Call(func=known[name], args=[node], keywords=[])


def _parts(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    if isinstance(node.ctx, ast.Load):
        yield from _converted(node, around)
    for other in _other_fields(node, around.scope) if isinstance(node.ctx, ast.Load) else ():
        yield LESS, _but(node, slice=_constant(other))


def _other_fields(node: Any, scope: Scope) -> Sequence[str]:
    """Return other fields of the thing of which a node is one: those that the failure names, then like ones."""
    base, field = scope.offers.field_of(node)
    others = [one for one in scope.offers.fields.get(base, ()) if one != field]
    like = difflib.get_close_matches(field, others, _FIELDS, 0.0)
    return sorted(like, key=lambda one: one not in scope.words)


def _statements(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # such as a docstring
    if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Await)):
        yield SLIP, ast.Return(value=node.value)  # what was made is dropped
        yield from _of_its_own(node.value)
        for given in dict.fromkeys(getattr(one, "id", "") for one in ast.walk(node.value)):
            if given in around.scope.offers.names:
                yield SLIP, ast.Assign(targets=[ast.Name(id=given, ctx=ast.Store())], value=node.value)
    yield (LESS if isinstance(node, ast.Expr) else CRUDE), ast.Pass()


def _of_its_own(call: Any) -> Iterator[tuple[int, Any]]:
    """Yield, of a list that something is put into, the same with a new list, which nobody else has."""
    held = getattr(getattr(call, "func", None), "value", None)
    way = getattr(getattr(call, "func", None), "attr", "")
    if isinstance(held, ast.Name) and way in ("append", "extend") and len(call.args) == 1:
        more = ast.List(elts=[call.args[0]], ctx=ast.Load()) if way == "append" else call.args[0]
        new = ast.List(elts=[ast.Starred(value=one, ctx=ast.Load()) for one in (held, more)], ctx=ast.Load())
        yield SLIP, ast.Assign(targets=[ast.Name(id=held.id, ctx=ast.Store())], value=new)


def _ends_of_turn(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    yield SLIP, ast.Continue() if isinstance(node, ast.Break) else ast.Break()
    yield CRUDE, ast.Pass()


def _handlers(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    if node.type is not None:
        yield LESS, _but(node, type=ast.copy_location(ast.Name(id="Exception", ctx=ast.Load()), node))


def _returns(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    yield from _only_where(node, around)
    if isinstance(around.parent, (ast.For, ast.AsyncFor, ast.While)) and isinstance(node.value, _ASKING):
        yield SLIP, ast.If(test=node.value, body=[node], orelse=[])  # else the first turn is the last one
    if node.value is not None and not isinstance(node.value, ast.Constant):
        for value in (None, True, False):
            yield CRUDE, ast.Return(value=_constant(value))


def _only_where(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    """Yield a statement under a condition that nothing in the file asks, though something sets it."""
    for flag in around.scope.offers.unread:
        for test in (flag, ast.UnaryOp(op=ast.Not(), operand=flag)):
            yield SLIP, ast.If(test=test, body=[node], orelse=[])


_ASKING = (ast.Call, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Name, ast.Attribute)


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


def _replaced(wrong: Any, right: Any) -> Iterator[tuple[str, str]]:
    """Yield a part of a wrong text and what stands for it in the right one, where that is all that differs."""
    if not (isinstance(wrong, str) and isinstance(right, str) and 0 < len(wrong) < _LONGEST and right != wrong):
        return
    for kind, begin, end, at, until in difflib.SequenceMatcher(None, wrong, right, autojunk=False).get_opcodes():
        for before in (0, 1) if kind == "insert" else (0,):
            old, new = wrong[begin - before : end], right[at - before : until]
            if kind != "equal" and old and len(old) <= _SHORT and wrong.replace(old, new) == right:
                yield old, new
                return


def _slices(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    yield SLIP, _but(node, lower=_constant(1) if node.lower is None else None)
    for field in ("lower", "upper"):
        bound = getattr(node, field)
        for kind in (ast.Add, ast.Sub) if isinstance(bound, (ast.Call, ast.BinOp)) else ():
            yield SLIP, _but(node, **{field: ast.BinOp(left=bound, op=kind(), right=_constant(1))})
    last = ast.UnaryOp(op=ast.USub(), operand=_constant(1))
    yield SLIP, _but(node, upper=last if node.upper is None else None)


def _calls(node: Any, around: _Around) -> Iterator[tuple[int, Any]]:
    function, given = node.func, node.args
    if around.scope.is_async and not isinstance(around.parent, ast.Await):
        yield SLIP, ast.Await(value=node)
    yield from _chains(node, function, around.scope.replaced)
    is_open = any(isinstance(one, ast.Starred) for one in given)
    if isinstance(function, ast.Attribute) and getattr(function.value, "id", "") not in ("self", "cls"):
        yield LESS, function.value  # without the method
    if len(given) == 1 and not node.keywords and not is_open:
        yield LESS, given[0]
    if _callee(node) in _COUNTS:
        yield from _one_off(node, around)
    yield from _with_keywords(node, around.scope.offers)
    for other in around.scope.offers.calls_like(node):
        yield LESS, other
    for at in range(1, 1 if is_open else min(len(given), _NAMES)):
        yield LESS, _but(node, args=[*given[: at - 1], given[at], given[at - 1], *given[at + 1 :]])
    for name in around.scope.offers.names:
        yield CRUDE, ast.Name(id=name, ctx=ast.Load())
    for number in range(len(node.keywords)):
        yield CRUDE, _but(node, keywords=[one for at, one in enumerate(node.keywords) if at != number])
    flag = _FLAGS.get(getattr(function, "attr", getattr(function, "id", "")), "")
    if flag and all(one.arg not in (flag, None) for one in node.keywords) and (not given or flag == "reverse"):
        yield SLIP, _but(node, keywords=[*node.keywords, ast.keyword(arg=flag, value=_constant(True))])


def _with_keywords(node: Any, offers: Any) -> Iterator[tuple[int, Any]]:
    """Yield a call with one more argument: a variable of that name, or the other value of a flag."""
    if any(one.arg is None for one in node.keywords) or any(isinstance(one, ast.Starred) for one in node.args):
        return
    given = {one.arg for one in node.keywords}
    taken = offers.defaults.get(_callee(node), {})
    # Of a method, the definition has its object first.
    names = [*taken][max(0, len(node.args) - offers.required.get(_callee(node), 0)) :]
    for name in dict.fromkeys([*names, *(() if taken else offers.unused)]):
        if name in given:
            continue
        flag = getattr(taken.get(name), "value", None)
        value: Any = None
        if name in offers.own:
            value = _name(name)
        elif isinstance(flag, bool):
            value = _constant(not flag)
        if value is not None:
            tier = SLIP if name in offers.unused else LESS
            yield tier, _but(node, keywords=[*node.keywords, ast.keyword(arg=name, value=value)])


def _callee(call: Any) -> str:
    """Return the name of what is called."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _chains(node: Any, function: Any, replaced: Sequence[tuple[str, str]]) -> Iterator[tuple[int, Any]]:
    """Yield two methods that are called one after the other the other way round, and a further `replace`."""
    inner: Any = getattr(function, "value", None)
    if isinstance(function, ast.Attribute) and isinstance(getattr(inner, "func", None), ast.Attribute):
        first = _but(node, func=_but(function, value=inner.func.value))
        yield SLIP, _but(inner, func=_but(inner.func, value=first))
    for old, new in replaced if getattr(function, "attr", "") == "replace" else ():
        further = ast.Attribute(value=node, attr="replace", ctx=ast.Load())
        yield TOLD, ast.Call(func=further, args=[_constant(old), _constant(new)], keywords=[])


def _called(name: str) -> Callable[[Any], Any]:
    return lambda node: ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=[node], keywords=[])


def _asked(name: str) -> Callable[[Any], Any]:
    return lambda node: ast.Call(func=ast.Attribute(value=node, attr=name, ctx=ast.Load()), args=[], keywords=[])


_ROWS = (ast.Tuple, ast.List, ast.Set)
_KINDS = (str, int, float, bool, list, tuple, set, dict, sorted, abs, round)
_WRAPS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    **{kind.__name__: (kind, _called(kind.__name__)) for kind in _KINDS},
    **{
        name: (getattr(str, name), _asked(name))
        for name in ("strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize")
    },
    "-": (operator.neg, lambda node: ast.UnaryOp(op=ast.USub(), operand=node)),
    "[::-1]": (
        lambda value: value[::-1],
        lambda node: ast.Subscript(
            value=node,
            slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(op=ast.USub(), operand=_constant(1))),
            ctx=ast.Load(),
        ),
    ),
}
"""What is done to a value, and to the part of a tree that gives it."""
_LOST_WRAPS = ("abs", "[::-1]", "list", "dict", "sorted", "set", "str", "int")
"""What is tried of these where no value tells one."""
_COUNTS = {
    "len", "int", "isqrt", "index", "find", "rfind", "ord", "count", "min", "max", "sum", "floor", "ceil",
}  # fmt: skip
"""Functions and methods whose number may be one too small or too large."""
_COUNTING = (
    ast.BinOp, ast.AugAssign, ast.Compare, ast.Call, ast.keyword, ast.Subscript, ast.Slice, ast.Return,
)  # fmt: skip
_VALUES = ("value", "values", "args", "elts")
_GIVING = (ast.Return, ast.Assign, ast.AnnAssign, ast.Call, ast.Dict, ast.keyword, ast.Yield, ast.List, ast.Tuple)


def _leads(wrap: str, wrong: Any, right: Any) -> bool:
    """Say whether a wrong value becomes the right one."""
    try:
        made = _WRAPS[wrap][0](wrong)
        return bool(
            type(made) is type(right) and made == right and not (type(wrong) is type(right) and wrong == right)
        )
    except Exception:  # noqa: BLE001 - not for such a value
        return False


_VARIANTS: dict[Any, Callable[[Any, _Around], Iterator[tuple[int, Any]]]] = {
    ast.Constant: _constants,
    **dict.fromkeys(_ROWS, _rows),
    ast.Compare: _comparisons,
    ast.BoolOp: _truths,
    ast.UnaryOp: _signs,
    ast.BinOp: _operations,
    ast.AugAssign: _operations,
    ast.Slice: _slices,
    ast.Call: _calls,
    ast.Name: _reads,
    ast.Attribute: _reads,
    ast.Subscript: _parts,
    ast.Expr: _statements,
    ast.Assign: _statements,
    ast.Raise: _statements,
    ast.Delete: _statements,
    ast.Break: _ends_of_turn,
    ast.Continue: _ends_of_turn,
    ast.ExceptHandler: _handlers,
    ast.Return: _returns,
}


def _constant(value: Any) -> Any:
    return ast.Constant(value=value, kind=None)


def _but(node: Any, **changes: Any) -> Any:
    new = copy.copy(node)
    for name, value in changes.items():
        setattr(new, name, value)
    return new
