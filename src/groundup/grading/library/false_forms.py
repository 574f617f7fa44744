"""False forms of hidden tests: the same tests under the same names, whose expectations cannot hold. Pure.

An honest library fails them; what passes a false form was not decided by the test. One expectation of a function
is false, chosen anew by the seed. Where none is sure to be evaluated, the test also fails at its end.
"""

import ast
import codecs
import tokenize
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from random import Random
from typing import NamedTuple

from groundup.domain.errors import TaskError
from groundup.grading.library.expectations import Expectation, expectations
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.parameters import FalseRow, false_table
from groundup.grading.library.report import Errors, ancestors_in, unused_warnings
from groundup.grading.library.source_text import SourceEdit, SourceText
from groundup.grading.library.variables import Function
from groundup.grammars import python_tree


class Unit(NamedTuple):
    """One function of a suite, with what it expects. *id*: what pytest calls it, without parameters."""

    path: str
    name: str
    id: str
    place: int
    function: Function
    expectations: tuple[Expectation, ...]

    @property
    def is_certain(self) -> bool:
        """Whether a test that passes has evaluated one of its expectations."""
        return any(one.is_certain for one in self.expectations)


class FalseTests(NamedTuple):
    """Sources in which some tests are false. *renamed*: what cases are called there -> their own names."""

    changed: dict[str, bytes]
    renamed: dict[NumberedTest, NumberedTest]


class HiddenSuite:
    """The Python sources of a suite, each read when a test of it is first asked for.

    *read* returns a source by its path; *library*: returns sources whose classes tests may expect.
    """

    def __init__(
        self,
        paths: Iterable[str],
        read: Callable[[str], bytes],
        expected: Collection[NumberedTest] = (),
        library: Callable[[], Collection[bytes]] = tuple,
    ) -> None:
        self._paths = frozenset(paths)
        self._read = read
        self._library = library
        self._cases: dict[str, set[NumberedTest]] = {}
        for key in expected:
            self._cases.setdefault(function_of(key), set()).add(key)
        self._texts: dict[str, tuple[SourceText, ast.Module] | None] = {}
        self._units: dict[str, list[Unit]] = {}
        self._known: tuple[Mapping[str, frozenset[str]], tuple[str, ...]] | None = None

    @property
    def paths(self) -> frozenset[str]:
        """Where the sources lie."""
        return self._paths

    def text(self, path: str) -> SourceText:
        """Return a source. Raises `TaskError` for one that cannot be read as Python."""
        found = self._parsed(path)
        if found is None:
            raise TaskError(f"{path}: this hidden test cannot be read as Python 3.11")
        return found[0]

    def body(self, path: str) -> list[ast.stmt]:
        """Return the statements of a source; none where it cannot be read."""
        found = self._parsed(path)
        return [] if found is None else found[1].body

    def units(self, path: str) -> list[Unit]:
        """Return the test functions of one source, in order; none where it cannot be read."""
        if path not in self._units:
            found = self._parsed(path)
            self._units[path] = [] if found is None else list(self._units_in(path, *found))
        return self._units[path]

    def every_unit(self) -> list[Unit]:
        """Return all test functions, in the order of their paths."""
        return [unit for path in sorted(self._paths) for unit in self.units(path)]

    def behind(self, key: NumberedTest) -> list[Unit]:
        """Return the functions that may be the test: one that a class inherits has the id of none."""
        name, path = function_of(key), key.id.partition("::")[0]
        named = [unit for unit in self.units(path) if unit.name == name]
        own = [unit for unit in named if unit.id == key.without_parameters]
        return own or named or [unit for unit in self.every_unit() if unit.name == name]

    def cases(self, name: str) -> frozenset[NumberedTest]:
        """Return the expected tests whose function is called *name*."""
        return frozenset(self._cases.get(name, ()))

    def _parsed(self, path: str) -> tuple[SourceText, ast.Module] | None:
        if path not in self._texts:
            source = self._read(path) if path in self._paths else b""
            tree = _tree(source) if path in self._paths else None
            self._texts[path] = None if tree is None else (SourceText(source, tree), tree)
        return self._texts[path]

    def _units_in(self, path: str, text: SourceText, tree: ast.Module) -> Iterator[Unit]:
        if self._known is None:
            every = self._library()
            self._known = ancestors_in(every), unused_warnings(every)
        errors = Errors(self._known[0], tree, self._known[1])
        for place, node in _outermost(tree.body, path):
            if node.name.startswith("test") or node.name in self._cases:
                found = tuple(expectations(node, text, errors))
                yield Unit(path, node.name, f"{place}::{node.name}", node.lineno, node, found)


class FalseForms:
    """The false forms of a suite's tests by one *seed*. *tailed*: functions that must fail at their end."""

    def __init__(self, suite: HiddenSuite, seed: str, tailed: Collection[str] = ()) -> None:
        self._suite = suite
        self._seed = seed
        self._tailed = frozenset(tailed)
        self._rows: dict[str, Mapping[NumberedTest, FalseRow]] = {}

    def group_of(self, key: NumberedTest) -> str:
        """Return what becomes false together with a test: a case of a table alone, else all tests of its name."""
        return str(key) if key in self._rows_of(function_of(key)) else function_of(key)

    def can_be_false(self, key: NumberedTest) -> bool:
        """Whether a false form of the test is sure to fail: its function is known, and comes to what is false."""
        units = self._suite.behind(key)
        return bool(units) and not any(may_return(unit.function) and not unit.is_certain for unit in units)

    def falsified(self, keys: Iterable[NumberedTest]) -> FalseTests:
        """Return the sources in which the tests *keys* are false. Raises `TaskError` where edits break one."""
        edits: dict[str, list[SourceEdit]] = {}
        renamed: dict[NumberedTest, NumberedTest] = {}
        bodies: dict[Unit, None] = {}
        for key in sorted(keys):
            row = self._rows_of(function_of(key)).get(key)
            for unit in self._suite.behind(key):
                if row is None:
                    bodies[unit] = None
                else:
                    edits.setdefault(unit.path, []).append(row.edit)
                    renamed |= row.renamed
        for unit in bodies:
            edits.setdefault(unit.path, []).extend(self._false_body(unit))
        return FalseTests(changed=self._edited(edits), renamed=renamed)

    def failing_at_ends(self, keys: Iterable[NumberedTest]) -> dict[str, bytes]:
        """Return the sources in which the functions of *keys* are true but for their ends, at which they fail."""
        edits: dict[str, list[SourceEdit]] = {}
        for unit in dict.fromkeys(unit for key in sorted(keys) for unit in self._suite.behind(key)):
            edits.setdefault(unit.path, []).append(self._tail(unit, self._random(unit)))
        return self._edited(edits)

    def _rows_of(self, name: str) -> Mapping[NumberedTest, FalseRow]:
        """Return the false row of each case of a function; none where they cannot be false one by one."""
        if name not in self._rows:
            self._rows[name] = {} if name in self._tailed else self._read_rows(self._suite.cases(name))
        return self._rows[name]

    def _read_rows(self, cases: frozenset[NumberedTest]) -> Mapping[NumberedTest, FalseRow]:
        places = {key.without_parameters for key in cases}
        units = self._suite.behind(min(cases)) if len(places) == 1 else []
        if len(units) != 1 or not units[0].function.decorator_list:
            return {}
        unit = units[0]
        table = false_table(unit.function, self._suite.text(unit.path), cases, self._random(unit))
        rows = table.rows if table is not None and table.separable else ()
        return {case: row for row in rows for case in row.cases}

    def _false_body(self, unit: Unit) -> list[SourceEdit]:
        random = self._random(unit)
        certain = [one for one in unit.expectations if one.is_certain]
        # One expectation that is sure to fail is enough, and which one cannot be foreseen. Where none is sure, all
        # are false.
        chosen = [random.choice(certain)] if certain else unit.expectations
        edits = [edit for one in chosen for edit in one.falsified(random)]
        if not certain or unit.name in self._tailed:
            edits.append(self._tail(unit, random))
        return edits

    def _tail(self, unit: Unit, random: Random) -> SourceEdit:
        """Make a test fail at its end, or before it returns."""
        function, text = unit.function, self._suite.text(unit.path)
        last = function.body[-1]
        statement = f"assert {random.randint(2, 99)} == {random.randint(100, 999)}".encode()
        if isinstance(last, ast.Return | ast.Raise):
            return SourceEdit(text.start(last), text.start(last), statement + b"; ")
        others = [function.lineno, *(node.end_lineno for node in function.body[:-1])]
        is_beside = not hasattr(last, "body") and last.lineno in others
        gap = b"; " if is_beside else b"\n" + text.indentation(function.body[0])
        stop = text.stop(last)
        return SourceEdit(stop, stop, gap + statement)

    def _edited(self, edits: Mapping[str, list[SourceEdit]]) -> dict[str, bytes]:
        changed = {}
        for path, made in edits.items():
            changed[path] = applied(self._suite.text(path).source, made)
            # A broken file would fail without being run.
            if _tree(changed[path]) is None:
                raise TaskError(f"{path}: the false form of its tests cannot be read (seed {self._seed})")
        return changed

    def _random(self, unit: Unit) -> Random:
        return Random(f"{self._seed}:{unit.path}:{unit.place}")  # noqa: S311 - the seed is the secret


def suite_of(original: Path, protected: tuple[str, ...], expected: frozenset[NumberedTest]) -> HiddenSuite:
    """Return the Python sources of *original*'s hidden tests, which lie below *protected*."""
    modules = sorted(str(path.relative_to(original)) for path in original.rglob("*.py") if path.is_file())

    def library() -> list[bytes]:
        return [(original / path).read_bytes() for path in modules]

    return HiddenSuite(
        python_sources(modules, protected), lambda path: (original / path).read_bytes(), expected, library
    )


suite_of_layer = lru_cache(maxsize=4)(suite_of)
"""`suite_of` what nothing changes; the latest are kept, for one task is often graded many times."""


def function_of(key: NumberedTest) -> str:
    """Return the name of the function behind a node id."""
    return key.without_parameters.rpartition("::")[2]


def python_sources(paths: Iterable[str], protected: Iterable[str]) -> list[str]:
    """Return those of *paths*, relative to an original's root, that are Python and below a *protected* one."""
    places = [PurePosixPath(path) for path in protected]
    return sorted(
        path
        for path in paths
        if path.endswith(".py") and any(PurePosixPath(path).is_relative_to(place) for place in places)
    )


def applied(source: bytes, edits: Iterable[SourceEdit]) -> bytes:
    """Return *source* with *edits*; of two that overlap the first one counts."""
    parts, at = [], 0
    for edit in sorted(dict.fromkeys(edits), key=lambda one: (one.start, one.stop)):
        if edit.start >= at:
            parts += [source[at : edit.start], edit.new]
            at = edit.stop
    return b"".join([*parts, source[at:]])


def may_return(function: Function) -> bool:
    """Whether *function* may come back before its last statement; a coroutine may not begin at all."""
    waiting: list[ast.AST] = [node for node in function.body if node is not function.body[-1]]
    last = function.body[-1]
    waiting += [] if isinstance(last, ast.Return) else [last]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return isinstance(function, ast.AsyncFunctionDef)


def _outermost(body: Iterable[ast.stmt], place: str) -> Iterator[tuple[str, Function]]:
    """Yield the functions of a module with what their ids begin with, that of the module or the class."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield place, node
        elif isinstance(node, ast.ClassDef):
            yield from _outermost(node.body, f"{place}::{node.name}")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for block in (node.body, getattr(node, "orelse", ())):
                yield from _outermost(block, place)
            for handler in getattr(node, "handlers", ()):
                yield from _outermost(handler.body, place)


def _tree(source: bytes) -> ast.Module | None:
    """Return the syntax tree of UTF-8 *source*; None where this interpreter cannot read it."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
        if codecs.lookup(encoding).name not in ("utf-8", "ascii") or b"\r" in source.replace(b"\r\n", b""):
            return None
        return python_tree(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
