"""False forms of hidden tests: the same tests under the same names, whose expectations cannot hold. Pure.

An honest library fails them; what passes a false form was not decided by the test. One expectation of a function
is false, chosen anew by the seed. Where none is sure to be evaluated, the test also fails at its end.

False values in the table of a parametrised test, and what its cases are called then. Pure.

pytest keeps the parameters where a submission can read them. So what stands there is false too, where the names of
the cases that follow from it are known; a test whose case names are unknown is falsified in its body.
"""

import ast
import codecs
import tokenize
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from random import Random
from threading import Lock
from typing import NamedTuple

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import NumberedTest
from groundup.grammars import python_tree, python_value
from groundup_integrity.exceptions import Errors, ancestors_in, unused_warnings
from groundup_integrity.expectations import Expectation, SourceEdit, SourceText, expectations
from groundup_integrity.literals import Vocabulary, leaves, other_literal
from groundup_integrity.variables import Function

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
        self._reading = Lock()
        self._known: tuple[Mapping[str, frozenset[str]], tuple[str, ...]] | None = None

    @property
    def paths(self) -> frozenset[str]:
        """Where the sources lie."""
        return self._paths

    def text(self, path: str) -> SourceText:
        """Return a source. Raises `TaskError` for one that cannot be read as Python."""
        found = self._parsed(path)
        if found is None:
            raise TaskError(f"{path}: this hidden test cannot be read by the Python that runs groundup")
        return found[0]

    def body(self, path: str) -> list[ast.stmt]:
        """Return the statements of a source; none where it cannot be read."""
        found = self._parsed(path)
        return [] if found is None else found[1].body

    def units(self, path: str) -> list[Unit]:
        """Return the test functions of one source, in order; none where it cannot be read."""
        with self._reading:  # another thread may read ahead
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
