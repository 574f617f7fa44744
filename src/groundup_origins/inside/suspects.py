"""Which statements are told of a lost test where no change of a line proves one: a few, the likelier first.

`origins` and `afar` ask. It stands in one process with untrusted code, needs the standard library only, and works
on Python 3.8 to 3.13.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

_TOLD = 3
_LOOKED_AT = 40
"""Lines of a test, the most suspicious ones, and those of the function that gave the wrong value."""
_ALIKE = 10
"""Lines are alike whose suspicion differs by less than a part of so many."""
_UNLIKE = 0.7
"""What the suspicion of lines counts in functions that refuse nothing, where a refusal is in question."""
_APART = 0.6
"""What it counts of lines that ran for statements of the test with which the failing one shares nothing."""
_FORGETFUL = 1.3
"""What it counts in functions that make something, or take it, and use it nowhere."""
_FAR = 1000
_LATE = re.compile(r"\s*(?:raise\b|try:|(?:async )?with [\w.]+:)")
_ANSWERS = re.compile(r"\b2\d\d\b.*\b4\d\d\b|\b4\d\d\b.*\b2\d\d\b")
"""A success of HTTP and a refusal that are compared."""
_COMPUTES = (
    ast.Call, ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.IfExp, ast.comprehension,
    ast.Constant,
)  # fmt: skip
_MUCH = 2
"""Parts of a statement that may each be wrong, after which more say nothing."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "decorator_list")


class Suspects:
    """The statements of a submission, by file."""

    def __init__(self, functions: Callable[[str], Sequence[Any]], source: Callable[[str], str]) -> None:
        self._functions = functions
        self._source = source
        self._begins: dict[tuple[str, int], int] = {}
        self._statements: dict[str, dict[int, Any]] = {}
        self._forgetful: dict[Any, bool] = {}
        self._tests: dict[str, list[Any]] = {}
        """The functions of the tests' files."""
        self._read: dict[tuple[str, int], tuple[Any, set[str]]] = {}
        """By line: its function, and the variables of its statement; a loop runs a line many times."""

    def of(self, one: Any, lines: Sequence[Any], suspicion: Mapping[Any, float]) -> list[tuple[str, int]]:
        """Return file and line of what is told of a lost test; *lines*: those that it ran, ranked.

        Of equally suspicious ones those come first that made the value which a function returned, or led to a
        `raise`, by how many assignments and conditions are between; then those that compute more, since more can
        be wrong; then what ran last. A `raise` comes after them, since it tells of what is wrong already, and so
        do a `try` and a lock, which only hold others. Where a service refused, or should have, lines of functions
        count more that refuse something. Of a statement of several lines the one is told that computes most.
        """
        is_refusal = bool(_ANSWERS.search(one.message))
        origin = one.origin and self._function(*one.origin)
        steps = self._steps(one, origin) if origin else {}
        apart = self._apart(one)
        ranks: dict[Any, Any] = {}
        for number, line in enumerate(lines):
            is_near = origin and line[0].co_filename == one.origin[0] and origin.first <= line[1] <= origin.last
            if number < _LOOKED_AT or is_near:
                place = self._place(line)
                far = steps.get(place[1], _FAR) if is_near else _FAR
                is_unlike = is_refusal and not self._refuses(*place)
                likely = (_UNLIKE if is_unlike else 1) * (_FORGETFUL if self._forgets(*place) else 1)
                likely *= _APART if line in apart else 1
                alike = -round(suspicion.get(line, 0.0) * _ALIKE * likely)
                ranks[line] = alike, is_unlike, far, -min(sum(self._computed(*place).values()), _MUCH), number
        found: dict[tuple[str, int], None] = {}
        late: dict[tuple[str, int], None] = {}
        for line in sorted(ranks, key=ranks.__getitem__):
            if len(found) < _TOLD:
                place = self._place(line)
                (late if self._is_late(*place) else found).setdefault(place)
        places = [*found, *late]
        reasons = [reason for place in places[:1] for reason in self._reasons(one, *place)]
        places = [*dict.fromkeys([*places[:1], *reasons, *places[1:]])][:_TOLD]
        return [self._fullest(*place) for place in places]

    def _apart(self, one: Any) -> set[Any]:
        """Return the lines that last ran for a statement of the test on which the failing one does not depend."""
        last = max(one.lines.values(), default=0)
        begun = [each for each in one.begun if each[0] < last]
        function, shared = self._shared(*begun[-1][1:]) if begun else (None, set())
        wanted, spans, until = {*shared}, [], last
        for count, path, line in reversed(begun if function is not None else ()):
            around, names = self._shared(path, line)
            if around is not function or names & wanted:
                wanted |= names
            elif until < last:
                spans.append((count, until))
            until = count
        spans.reverse()
        begins = [count for count, _ in spans]
        places = ((each, order, bisect_left(begins, order) - 1) for each, order in one.lines.items())
        return {each for each, order, at in places if at >= 0 and order <= spans[at][1]}

    def _shared(self, path: str, line: int) -> tuple[Any, set[str]]:
        """Return a function of the tests and the variables of it in a statement; of `self.a` that is `a`."""
        if (path, line) not in self._read:
            self._read[path, line] = self._read_statement(path, line)
        return self._read[path, line]

    def _read_statement(self, path: str, line: int) -> tuple[Any, set[str]]:
        if path not in self._tests:
            self._tests[path] = []
            with contextlib.suppress(SyntaxError, ValueError):  # such as a template that was compiled
                tree = ast.parse("".join(linecache.getlines(path)))
                functions = (one for one in ast.walk(tree) if isinstance(one, _DEFINITIONS[:2]))
                # Python 3.7 does not tell where they end.
                self._tests[path] = [one for one in functions if getattr(one, "end_lineno", None)]
        holding = [one for one in self._tests[path] if one.lineno <= line <= (one.end_lineno or 0)]
        function = max(holding, key=lambda one: one.lineno, default=None)
        every = [] if function is None else [*ast.walk(function)]
        local = {one.arg for one in every if isinstance(one, ast.arg)} - {"self"}
        local |= {one.id for one in every if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        around = (one for one in every[1:] if isinstance(one, ast.stmt))
        some = [one for one in around if one.lineno <= line <= (one.end_lineno or 0)]
        parts = [part for one in some for part in _parts(one)]
        held = [one for one in parts if isinstance(one, ast.Attribute)]
        fields = {one.attr for one in held if getattr(one.value, "id", "") == "self"}
        names = {one.id for one in parts if isinstance(one, ast.Name)} & local
        return function, names | {one for one in fields if not one.startswith("assert")}

    def _reasons(self, one: Any, path: str, line: int) -> list[tuple[str, int]]:
        """Return what led to a statement that computes nothing, such as `return False`, and computes most itself.

        To where an exception is handled that is what raised it. Constants of the module led to what uses them.
        """
        function = self._function(path, line)
        if function is None or self._computed(path, line):
            return []
        node: Any
        orders = {at: order for (code, at), order in one.lines.items() if code.co_filename == path}
        for node in ast.walk(function.node):
            for handler in getattr(node, "handlers", ()):
                if handler.lineno == line:
                    ran = [at for at in range(node.body[0].lineno, handler.lineno) if at in orders]
                    return [(path, function.statement_at(max(ran, key=orders.__getitem__))[0])] if ran else []
        began = {function.statement_at(at)[0] for at in orders if function.first <= at <= function.last}
        led = {at: far for at, far in steps_to(function.node, line, began) if at != line}
        for at, far in [*led.items()]:
            used = {*_names(self._statements[path][at], ast.Load)}
            led.update({other.first: far + 1 for other in self._functions(path) if used & _constants(other)})
        best = sorted(led, key=lambda at: (-min(sum(self._computed(path, at).values()), _MUCH), led[at]))
        return [(path, at) for at in best[:1]]

    def _computed(self, path: str, line: int) -> Mapping[int, int]:
        """Return by line how many parts of the statement that begins at one compute something."""
        if path not in self._statements:
            nodes = (node for function in self._functions(path) for node in ast.walk(function.node))
            some = self._statements[path] = {}
            for node in nodes:
                if isinstance(node, (ast.stmt, ast.ExceptHandler)):
                    some.setdefault(node.lineno, node)
        statement = self._statements[path].get(line)
        counts: Counter[int] = Counter()
        for part in _parts(statement) if statement is not None and not isinstance(statement, _DEFINITIONS) else ():
            if isinstance(part, _COMPUTES) and not isinstance(getattr(part, "value", 0), (bool, type(None))):
                counts[getattr(part, "lineno", line)] += 1
        return counts

    def _fullest(self, path: str, line: int) -> tuple[str, int]:
        """Return a place with the line of its statement that computes most, the first of equal ones."""
        counts = self._computed(path, line)
        return path, max(sorted(counts), key=counts.__getitem__, default=line)

    def _is_late(self, path: str, line: int) -> bool:
        return bool(_LATE.match(linecache.getline(self._source(path), line)))

    def _forgets(self, path: str, line: int) -> bool:
        function = self._function(path, line)
        if function not in self._forgetful:
            self._forgetful[function] = function is not None and function.forgets()
        return self._forgetful[function]

    def _refuses(self, path: str, line: int) -> bool:
        function = self._function(path, line)
        return function is not None and any(isinstance(one, ast.Raise) for one in ast.walk(function.node))

    def _place(self, line: Any) -> tuple[str, int]:
        """Return where the statement of a line begins."""
        place = line[0].co_filename, line[1]
        if place not in self._begins:
            function = self._function(*place)
            self._begins[place] = place[1] if function is None else function.statement_at(place[1])[0]
        return place[0], self._begins[place]

    def _function(self, path: str, line: int) -> Any:
        some = (one for one in self._functions(path) if not one.is_assignment and one.first <= line <= one.last)
        return next(some, None)

    def _steps(self, one: Any, function: Any) -> dict[int, int]:
        """Return how far each statement is from the one that returned the wrong value, in its function."""
        path = one.origin[0]
        ran = {
            self._place(line)[1]
            for line in one.lines
            if line[0].co_filename == path and function.first <= line[1] <= function.last
        }
        return dict(steps_to(function.node, function.statement_at(one.origin[1])[0], ran))


def steps_to(function: Any, line: int, ran: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield first lines of statements that ran and led to what one of a function uses, with how many are between.

    A statement leads to another that it gives a variable, or whose condition it is. What only begins an empty list
    or dict is left out.
    """
    nodes: dict[int, Any] = {}
    above: dict[int, int] = {}
    for node in ast.walk(function):
        if isinstance(node, (ast.stmt, ast.ExceptHandler)) and node is not function:
            nodes.setdefault(node.lineno, node)
            for field in _BLOCKS[:-1]:
                above.update({one.lineno: node.lineno for one in getattr(node, field, ())})
    edge, far = [line] if line in nodes else [], 0
    found = {*edge}
    is_plain = isinstance(getattr(nodes.get(line), "value", None), ast.Name)
    while edge:
        yield from ((at, far) for at in edge if not (at == line and is_plain) and not _is_empty(nodes[at]))
        names = {name for at in edge for name in _names(nodes[at], ast.Load)}
        conditions = {above.get(at) for at in edge}
        edge = [
            at
            for at in nodes
            if at in ran and at not in found and (at in conditions or names & {*_given(nodes[at])})
        ]
        found.update(edge)
        far += 1
    if is_plain:  # whose value other statements made
        yield line, far


def _constants(assignment: Any) -> set[str]:
    """Return the variables of a module that an assignment sets; none for a function, or in a class."""
    if not assignment.is_assignment or assignment.classes:
        return set()
    return {*_names(assignment.node, ast.Store)}


def _is_empty(statement: Any) -> bool:
    value = getattr(statement, "value", None)
    return getattr(value, "elts", None) == [] or getattr(value, "keys", None) == []


def _parts(statement: Any) -> Iterator[Any]:
    """Yield the parts of a statement without those below it."""
    for field, held in ast.iter_fields(statement):
        for one in held if isinstance(held, list) else [held]:
            if isinstance(one, ast.AST) and field not in _BLOCKS:
                yield from ast.walk(one)


def _names(statement: Any, kind: Any) -> Iterator[str]:
    return (one.id for one in _parts(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, kind))


def _given(statement: Any) -> Iterator[str]:
    """Yield the variables that a statement sets, or changes by a part or a method of them."""
    for one in _parts(statement):
        is_method = isinstance(statement, ast.Expr) and isinstance(one, ast.Call)
        held = one.func if is_method and isinstance(one.func, ast.Attribute) else one
        if held is one and not isinstance(getattr(one, "ctx", None), ast.Store):
            continue
        while isinstance(held, (ast.Attribute, ast.Subscript, ast.Starred)):
            held = held.value
        if isinstance(held, ast.Name):
            yield held.id
