"""What one function of a test suite expects, and how each expectation is made false: pure, by edits of its source.

A false expectation differs as little as it can: another literal where there is one, the opposite operator or
method, another exception, and only where nothing else helps a value in a list. It can still be
evaluated: an error would show a submission which of the two it meets.

The text of a source with the places of its syntax tree, and changes of it, in bytes.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from random import Random
from typing import NamedTuple

from groundup_integrity.exceptions import Errors
from groundup_integrity.literals import (
    Vocabulary,
    is_least,
    leaves,
    other_least,
    other_literal,
    other_sought,
    words_in,
)
from groundup_integrity.variables import (
    EQUALITIES,
    Function,
    fixed_from_the_start,
    is_display,
    name_called,
    only_expected,
)


class SourceEdit(NamedTuple):
    """A place in a source, in bytes, and what stands there instead."""

    start: int
    stop: int
    new: bytes


class SourceText:
    """A source with the places of its syntax tree's nodes."""

    def __init__(self, source: bytes, tree: ast.Module) -> None:
        self.source = source
        self.words = words_in(source)
        self._tree = tree
        self._lines = [0]
        for line in source.split(b"\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)

    def line(self, number: int) -> int:
        """Return where a line begins; the first one is 1."""
        return self._lines[number - 1]

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def stop(self, node: ast.expr | ast.stmt) -> int:
        """Return where *node* has ended."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def indentation(self, node: ast.stmt) -> bytes:
        """Return what stands before *node* on its line, as far as it is space."""
        start = self.start(node)
        before = self.source[self.source.rfind(b"\n", 0, start) + 1 : start]
        return before[: len(before) - len(before.lstrip())]

    def of(self, node: ast.expr | ast.stmt) -> bytes:
        """Return the source of *node*."""
        return self.source[self.start(node) : self.stop(node)]

    @cached_property
    def _texts(self) -> tuple[bytes, ...]:
        return tuple(self._texts_in(self._tree))

    def _texts_in(self, node: ast.AST) -> Iterator[bytes]:
        """Yield literals that can stand on one line."""
        for one in ast.walk(node):
            match one:
                case ast.Constant(value=str() | bytes()) if one.lineno == one.end_lineno:
                    yield self.of(one)

    def vocabulary(self, function: Function) -> Vocabulary:
        """Return what may stand in the texts that *function* expects."""
        near = tuple(self._texts_in(function))
        return Vocabulary(self.words, words_in(b" ".join(near)), near + self._texts)

    def numbers(self, function: Function) -> Sequence[int]:
        """Return the whole numbers that stand in *function*."""
        found = (one.value for one in ast.walk(function) if isinstance(one, ast.Constant))
        return [value for value in found if type(value) is int]


_LEAST_SOUGHT = 3
"""Characters of a text that is looked for in another one; a shorter one may be found by chance."""
_OPERATORS: dict[type[ast.cmpop], tuple[str, bytes]] = {
    ast.NotEq: (r"!=", b"=="),
    ast.Is: (r"\bis\b", b"is not"),
    ast.IsNot: (r"\bis\s+not\b", b"is"),
    ast.In: (r"\bin\b", b"not in"),
    ast.NotIn: (r"\bnot\s+in\b", b"in"),
    ast.Lt: (r"<", b">"),
    ast.LtE: (r"<=", b">"),
    ast.Gt: (r">", b"<"),
    ast.GtE: (r">=", b"<"),
}
_WIDER = {b">": b">=", b"<": b"<="}
"""In place of these where `<` and `>` were: so all four stand in false tests and in true ones."""
_WIDER_METHODS = {"assertGreater": "assertGreaterEqual", "assertLess": "assertLessEqual"}
_OPPOSITES = {
    "assertTrue": "assertFalse",
    "assert_": "assertFalse",
    "assertNotEqual": "assertEqual",
    "assertNotEquals": "assertEqual",
    "assertAlmostEqual": "assertNotAlmostEqual",
    "assertAlmostEquals": "assertNotAlmostEqual",
    "assertIn": "assertNotIn",
    "assertIs": "assertIsNot",
    "assertIsNone": "assertIsNotNone",
    "assertIsInstance": "assertNotIsInstance",
    "assertGreaterEqual": "assertLess",
    "assertLessEqual": "assertGreater",
    "assertRegex": "assertNotRegex",
    "assert_called": "assert_not_called",
    "assert_called_once": "assert_not_called",
}
_OPPOSITES |= {new: old for old, new in _OPPOSITES.items() if old not in ("assert_", "assertNotEquals")}
_OPPOSITES |= {"assertGreater": "assertLess", "assertLess": "assertGreater"}
_OPPOSITES |= {"assertNotAlmostEqual": "assertAlmostEqual", "assert_not_called": "assert_called"}
_NEARLY = frozenset({"assertAlmostEqual", "assertAlmostEquals"})
_CALLED_WITH = frozenset({"assert_called_with", "assert_called_once_with", "assert_any_call"})
_RAISING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp"})
_WARNING = frozenset({"warns", "assertWarns", "assertWarnsRegex"})
_HOLDERS = ((b"[", b", 0]"), (b"(", b", 0)"), (b"{0: ", b"}"), (b"[", b", None]"))
"""Never one element alone: a number of NumPy's equals the list that holds just it."""
_OTHER_LENGTH = 0.4
"""How often a list that is expected loses or gets an element, where it has several."""
_SWALLOWING = frozenset({*_RAISING, "suppress", "subTest"})


class Expectation(NamedTuple):
    """One expectation of a function. *is_certain*: a test that passes has evaluated it."""

    is_certain: bool
    falsified: Callable[[Random], Sequence[SourceEdit]]


def expectations(function: Function, text: SourceText, errors: Errors) -> list[Expectation]:
    """Return what *function* expects, in the order of its source. *errors*: what it may expect to be raised."""
    return list(_Reader(function, text, errors).read())


class _Reader:
    """Reads one function."""

    def __init__(self, function: Function, text: SourceText, errors: Errors) -> None:
        self._function = function
        self._text = text
        self._errors = errors
        self._fixed = fixed_from_the_start(function)
        self._values, self._given = only_expected(function)

    def read(self) -> Iterator[Expectation]:
        yield from self._block(self._function.body, certain=True)

    def _block(self, body: Sequence[ast.stmt], *, certain: bool) -> Iterator[Expectation]:
        for statement in body:
            yield from self._statement(statement, certain=certain)
            # A passing test may have left before it came to what follows.
            if _may_return(statement):
                certain = False

    def _statement(self, node: ast.stmt, *, certain: bool) -> Iterator[Expectation]:
        match node:
            case ast.Assert():
                yield self._expected(node.test, certain=certain)
            case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=ast.Call() as call)):
                yield from self._call(call, certain=certain)
            case ast.Assign(value=ast.Call() as call):
                yield from self._call(call, certain=certain)
            case ast.If(orelse=[], body=[only]) if _fails(only):
                yield Expectation(certain, lambda _: self._negated(node.test))
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    if isinstance(item.context_expr, ast.Call):
                        yield from self._call(item.context_expr, certain=certain)
                # A block that swallows errors can be left half-way, and its test still passes.
                names = {name_called(item.context_expr) for item in node.items}
                yield from self._block(node.body, certain=certain and not names & (_SWALLOWING | _WARNING))
            # A loop over nothing passes without having looked at anything.
            case ast.For() | ast.AsyncFor():
                yield from self._block(node.body, certain=certain and _is_full(node.iter))
            case ast.Try():
                yield from self._block(node.body, certain=certain and not node.handlers)
                for part in (*(handler.body for handler in node.handlers), node.orelse):
                    yield from self._block(part, certain=False)
                yield from self._block(node.finalbody, certain=certain)
            case _:
                for block in _inner_blocks(node):
                    yield from self._block(block, certain=False)

    def _expected(self, node: ast.expr, *, certain: bool) -> Expectation:
        return Expectation(certain, lambda random: self._falsified(node, random))

    def _call(self, call: ast.Call, *, certain: bool) -> Iterator[Expectation]:
        name, arguments = name_called(call), call.args
        is_near = name in _NEARLY and len(arguments) == 2 and not call.keywords and any(map(_is_number, arguments))
        if (name in EQUALITIES and len(arguments) >= 2) or is_near:
            unequal = partial(self._unequal, arguments[0], arguments[1])
            yield Expectation(certain, unequal)
        elif name == "assertIsInstance" and (others := self._other_classes(arguments)):
            yield Expectation(certain, lambda random: [self._replaced(arguments[1], random.choice(others))])
        elif name in _OPPOSITES and isinstance(call.func, ast.Attribute):
            yield Expectation(certain, lambda random: [self._opposite(call, name, random)])
        elif name in _CALLED_WITH:
            yield Expectation(certain, lambda random: [self._called_otherwise(call, random)])
        elif name in _RAISING and arguments:
            yield Expectation(certain, lambda random: [self._other_error(arguments[0], random)])
        elif name in _WARNING and arguments:
            yield Expectation(certain, lambda random: [self._other_warning(arguments[0], random)])

    def _falsified(self, node: ast.expr, random: Random) -> Sequence[SourceEdit]:
        match node:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                return self._unequal(left, right, random)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return [self._compared_otherwise(left, operator, right, random)]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                start = self._text.start(node)
                gap = re.match(rb"not\s*", self._text.source[start : self._text.start(operand)])
                return [SourceEdit(start, start + (gap.end() if gap else 3), b"")]
            case ast.BoolOp(op=ast.And(), values=values):
                chosen = [one for one in values if any(_leaves_of_sides(one))] or values
                return self._falsified(random.choice(chosen), random)
            # `assert True` or `assert 1`: a false literal shows less than a `not` before it.
            case ast.Constant(value=bool() | int() as value):
                return [self._replaced(node, other_literal(b"", bool(value), random))]
            case ast.Call(
                func=ast.Attribute(attr="startswith" | "endswith"),
                args=[ast.Constant(value=str() as value) as word],
            ):
                if len(value) >= _LEAST_SOUGHT:
                    return [self._replaced(word, other_sought(self._text.of(word), value, random))]
            case ast.Call(func=ast.Name(id="isinstance"), args=arguments):
                if others := self._other_classes(arguments):
                    return [self._replaced(arguments[1], random.choice(others))]
        return self._negated(node)

    def _negated(self, node: ast.expr) -> Sequence[SourceEdit]:
        start, stop = self._text.start(node), self._text.stop(node)
        # These bind closer than `not`; anything else needs the parentheses.
        if isinstance(node, ast.Call | ast.Name | ast.Attribute | ast.Subscript):
            return [SourceEdit(start, start, b"not ")]
        return [SourceEdit(start, start, b"not ("), SourceEdit(stop, stop, b")")]

    def _unequal(self, left: ast.expr, right: ast.expr, random: Random) -> Sequence[SourceEdit]:
        """Make two sides differ that were equal: the one that is expected changes."""
        # The right side first: suites usually write the expectation there.
        left, right = _without_tolerance(left), _without_tolerance(right)
        sides = [side for side in (right, left) if any(leaves(side)) or is_display(side)]
        if sides:
            return [self._other_value(sides[0], random)]
        for side in (right, left):
            if isinstance(side, ast.Name) and (values := self._values_of(side)):
                return [self._other_value(value, random) for value in values]
        fixed = [side for side in (right, left) if isinstance(side, ast.Name) and side.id in self._fixed]
        if fixed:
            value = self._fixed[fixed[0].id]
            return [self._replaced(fixed[0], self._other(value, random))]
        given = [side for side in (right, left) if isinstance(side, ast.Name) and side.id in self._given]
        if len(given) == 1 and (edit := self._rebound(given[0].id, random)):
            return [edit]
        return self._wrapped(given[0] if given else right, random)

    def _values_of(self, name: ast.Name) -> Sequence[ast.expr]:
        """Return the literals, one of which is a variable's that is only compared with; none if unknown."""
        at = (name.lineno, name.col_offset)
        before = [one for one in self._values.get(name.id, ()) if one.start < at]
        return before[-1].values if before and at < before[-1].stop else ()

    def _other(self, node: ast.Constant, random: Random) -> bytes:
        if isinstance(node.value, str | bytes):
            known = self._text.vocabulary(self._function)
        else:
            known = Vocabulary(numbers=self._text.numbers(self._function))
        return other_literal(self._text.of(node), node.value, random, known)

    def _other_value(self, node: ast.expr, random: Random) -> SourceEdit:
        # Else whoever forges tests that expect nothing or what is empty would never meet a false one.
        if is_least(node) and random.random() < 0.5:
            return self._replaced(node, other_least(node, random))
        if (longer := self._of_other_length(node, random)) and random.random() < _OTHER_LENGTH:
            return longer
        found = list(leaves(node))
        if found:
            leaf = random.choice(found)
            return self._replaced(leaf, self._other(leaf, random))
        # An empty display, or one of names only, gets one element more.
        number = str(random.randint(2, 99)).encode()
        at = self._text.start(node) + 1
        if isinstance(node, ast.Dict):
            return SourceEdit(at, at, number + b": " + number + (b", " if node.keys else b""))
        return SourceEdit(
            at, at, number + (b", " if getattr(node, "elts", ()) or isinstance(node, ast.Tuple) else b"")
        )

    def _of_other_length(self, node: ast.expr, random: Random) -> SourceEdit | None:
        """Leave out the first or the last of several, or add the next number: what is in order stays so."""
        match node:
            case ast.List(elts=[_, _, *_] as parts) | ast.Tuple(elts=[_, _, _, *_] as parts):
                (first, second), (before, last) = parts[:2], parts[-2:]
                values = [getattr(part, "value", None) for part in (before, last)]
                if all(type(value) is int for value in values) and random.random() < 0.5:
                    following = 2 * ast.literal_eval(last) - ast.literal_eval(before)
                    at = self._text.stop(last)
                    return SourceEdit(at, at, f", {following}".encode())
                start, stop = random.choice(
                    (
                        (self._text.start(first), self._text.start(second)),
                        (self._text.stop(before), self._text.stop(last)),
                    )
                )
                # What `*` stands for may be nothing.
                is_plain = not any(isinstance(part, ast.Starred) for part in parts)
                lost = self._text.source[start:stop]
                if is_plain and b"\n" not in lost and lost.count(b"(") == lost.count(b")"):
                    return SourceEdit(start, stop, b"")
        return None

    def _rebound(self, name: str, random: Random) -> SourceEdit | None:
        """Give a parameter another value at the function's start, so that its own value is never seen."""
        body = self._function.body
        first = body[1] if ast.get_docstring(self._function, clean=False) is not None and body[1:] else body[0]
        if isinstance(first, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None  # decorators may stand before it
        start = self._text.start(first)
        before, after = random.choice(_HOLDERS)
        line = name.encode() + b" = " + before + name.encode() + after
        gap = b"\n" + self._text.indentation(first) if hasattr(first, "body") else b"; "
        return SourceEdit(start, start, line + gap)

    def _wrapped(self, node: ast.expr, random: Random) -> Sequence[SourceEdit]:
        start, stop = self._text.start(node), self._text.stop(node)
        before, after = random.choice(_HOLDERS)
        return [SourceEdit(start, start, before), SourceEdit(stop, stop, after)]

    def _compared_otherwise(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr, random: Random
    ) -> SourceEdit:
        singleton = isinstance(right, ast.Constant) and (right.value is None or isinstance(right.value, bool))
        if isinstance(operator, ast.Is) and singleton:
            assert isinstance(right, ast.Constant)
            others = [value for value in (None, True, False) if value is not right.value]
            return self._replaced(right, str(random.choice(others)).encode())
        sought = left.value if isinstance(operator, ast.In) and isinstance(left, ast.Constant) else None
        if isinstance(sought, str | bytes) and len(sought) >= _LEAST_SOUGHT:
            return self._replaced(left, other_sought(self._text.of(left), sought, random))
        pattern, new = _OPERATORS[type(operator)]
        if isinstance(operator, ast.Lt | ast.Gt) and random.random() < 0.5:
            new = _WIDER[new]
        start = self._text.stop(left)
        found = re.search(pattern.encode(), _without_comments(self._text.source[start : self._text.start(right)]))
        assert found is not None, "the operator stands between its sides"
        return SourceEdit(start + found.start(), start + found.end(), new)

    def _called_otherwise(self, call: ast.Call, random: Random) -> SourceEdit:
        found = [leaf for argument in call.args for leaf in leaves(argument)]
        if found:
            leaf = random.choice(found)
            return self._replaced(leaf, self._other(leaf, random))
        opening = self._text.stop(call.func)
        at = self._text.source.index(b"(", opening) + 1
        return SourceEdit(
            at, at, str(random.randint(2, 99)).encode() + (b", " if call.args or call.keywords else b"")
        )

    def _other_warning(self, node: ast.expr, random: Random) -> SourceEdit:
        text = self._text.of(node).decode("utf-8", "replace")
        return self._replaced(node, random.choice(self._errors.unrelated_warnings(text)).encode())

    def _other_error(self, node: ast.expr, random: Random) -> SourceEdit:
        text = self._text.of(node).decode("utf-8", "replace")
        return self._replaced(node, random.choice(self._errors.unrelated(text)).encode())

    def _other_classes(self, arguments: Sequence[ast.expr]) -> Sequence[bytes]:
        """Return classes of which what is an instance of the second argument is none."""
        match arguments:
            case [_, ast.Name() | ast.Attribute() as kind]:
                return [one.encode() for one in self._errors.unrelated_classes(ast.unparse(kind))]
        return ()

    def _opposite(self, call: ast.Call, name: str, random: Random) -> SourceEdit:
        stop, new = self._text.stop(call.func), _OPPOSITES[name]
        if name in _WIDER_METHODS and random.random() < 0.5:
            new = _WIDER_METHODS[new]
        return SourceEdit(stop - len(name), stop, new.encode())

    def _replaced(self, node: ast.expr, new: bytes) -> SourceEdit:
        return SourceEdit(self._text.start(node), self._text.stop(node), new)


def _without_tolerance(node: ast.expr) -> ast.expr:
    """Return the number that `approx` is given, where its tolerance is the usual one."""
    match node:
        case ast.Call(args=[value], keywords=[]) if name_called(node) == "approx" and _is_number(value):
            return value
    return node


def _is_number(node: ast.expr) -> bool:
    found = list(leaves(node))
    return bool(found) and all(type(one.value) in (int, float) for one in found)


def _leaves_of_sides(node: ast.expr) -> Iterator[ast.Constant]:
    """Yield the literals with which *node* compares."""
    if isinstance(node, ast.Compare):
        for side in (node.left, *node.comparators):
            yield from leaves(side)


def _is_full(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple | ast.Set) and bool(node.elts)


def _fails(node: ast.stmt) -> bool:
    return isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and name_called(node.value) == "fail"
    )


def _may_return(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    return isinstance(node, ast.Return | ast.Break | ast.Continue) or any(
        map(_may_return, ast.iter_child_nodes(node))
    )


def _inner_blocks(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for case in getattr(node, "cases", ()):
        yield case.body


def _without_comments(source: bytes) -> bytes:
    return re.sub(rb"#[^\n]*", lambda found: b" " * len(found[0]), source)
