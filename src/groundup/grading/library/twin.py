"""The falsified twin of a suite: the same tests under the same names, whose expectations cannot hold. Pure.

An honest submission fails them; what passes a test and its twin was not decided by the test. In each function
one expectation is false, chosen anew by the seed: so a submission that forges one of several is found as well. A
helper that asserts on behalf of a test without expectations is falsified itself, and a test that has none at all
fails at its end.

A grading runs two suites, each with false expectations in another half, which chance chooses: so every test is met
once true and once false, and neither run as a whole is the true one.
"""

import ast
import codecs
import re
import tokenize
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath
from random import Random
from typing import NamedTuple

from groundup.domain.errors import TaskError
from groundup.grading.library.errors import Errors, ancestors_in, unused_warnings
from groundup.grading.library.expectations import Expectation, expectations
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.mixture import Lots, Mixture, drawn_mixture, reachable
from groundup.grading.library.parameters import FalseRow, FalseTable, false_table
from groundup.grading.library.repetition import Repetition, Stated
from groundup.grading.library.source_text import SourceEdit, SourceText
from groundup.grading.library.variables import Function
from groundup.grammars import python_tree

_ALWAYS = frozenset({"runtest"})
"""Methods that pytest calls by these names; no test mentions them."""
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Unit:
    """One function of a suite, with what it expects and the names that it mentions."""

    path: str
    name: str
    id: str
    """What pytest calls it, without parameters."""
    place: int
    function: Function
    expectations: tuple[Expectation, ...]
    mentions: frozenset[str]
    is_test: bool
    stated: Stated


class _FalseForm(NamedTuple):
    """What one seed changes in one function."""

    unit: Unit
    table: FalseTable | None
    body: Sequence[SourceEdit]
    tail: SourceEdit | None
    """What makes a test fail at its end, if nothing else does."""

    @property
    def edits(self) -> Sequence[SourceEdit]:
        """All that can be false."""
        return [*self.body, *(row.edit for row in (self.table.rows if self.table is not None else ()))]

    def rows(self, crossed: Collection[NumberedTest], *, spared: bool) -> list[FalseRow]:
        """Return the rows that are false: all or none of the table, and of *crossed* cases just the others."""
        rows = self.table.rows if self.table is not None else ()
        return [row for row in rows if (row.cases <= {*crossed}) == spared]


class HiddenSuite:
    """The Python sources of a suite, by path, as bytes.

    *expected*: the tests that are known to be in it. *library*: sources whose classes tests may expect.
    """

    def __init__(
        self,
        sources: Mapping[str, bytes],
        expected: Collection[NumberedTest] = (),
        library: Collection[bytes] = (),
    ) -> None:
        tests = {function_of(key) for key in expected}
        self._texts: dict[str, SourceText] = {}
        self._units: dict[str, list[Unit]] = {}
        self._bodies: dict[str, list[ast.stmt]] = {}
        self._unread: set[str] = set()
        every = [*library, *sources.values()]
        ancestors, warnings = ancestors_in(every), unused_warnings(every)
        for path, source in sorted(sources.items()):
            tree = _parsed(source)
            if tree is None:
                self._unread.add(path)
            else:
                text = self._texts[path] = SourceText(source, tree)
                self._bodies[path] = tree.body
                errors = Errors(ancestors, tree, warnings)
                self._units[path] = [
                    _unit(path, place, node, text, tests, errors) for place, node in _outermost(tree.body, path)
                ]
        self._lots = Lots(((unit.name, unit.id) for unit in self.units()), expected)
        self._cases: dict[str, set[NumberedTest]] = {}
        for key in expected:
            self._cases.setdefault(self.lot_of(key), set()).add(key)
        self._helpers = self._needed_helpers()
        self._repetition = Repetition(unit.stated for unit in self.units() if unit.is_test)
        self._last: tuple[str, list[_FalseForm]] = ("", [])

    def falsified(
        self,
        seed: str,
        tailed: Collection[str] = (),
        spared: Collection[str] = (),
        crossed: Collection[NumberedTest] = (),
    ) -> dict[str, bytes]:
        """Return the sources that differ in the twin.

        *tailed*: names of tests that must fail at their end. *spared*: lots of functions that stay true, but for
        their *crossed* cases; those of others stay true. Raises `TaskError` where the edits break a file.
        """
        edits: dict[str, list[SourceEdit]] = {}
        for form in self._false_forms(seed):
            unit = form.unit
            own = edits.setdefault(unit.path, [])
            is_spared = self.lot(unit) in spared
            own += [row.edit for row in form.rows(crossed, spared=is_spared)]
            if is_spared:
                continue
            own += form.body
            is_silent = not (unit.expectations or unit.mentions & self._helpers)
            if form.tail is not None and (is_silent or unit.name in tailed):
                own.append(form.tail)
        return self._edited(edits, seed)

    def failing_at_ends(self, seed: str) -> dict[str, bytes]:
        """Return the sources with true tests that fail at their ends. Raises `TaskError` as `falsified`."""
        edits: dict[str, list[SourceEdit]] = {}
        for form in self._false_forms(seed):
            if form.tail is not None:
                edits.setdefault(form.unit.path, []).append(form.tail)
        return self._edited(edits, seed)

    def _edited(self, edits: Mapping[str, Sequence[SourceEdit]], seed: str) -> dict[str, bytes]:
        changed = {}
        for path, made in edits.items():
            source = self._texts[path].source
            new = applied(source, made)
            # A broken file would fail without being run, and one that stays true would accuse honest libraries.
            if _parsed(new) is None:
                raise TaskError(
                    f"{path}: the false form of its tests cannot be read (seed {seed}); repeat the attempt"
                )
            if new != source:
                changed[path] = new
        return changed

    def renamed(
        self, seed: str, spared: Collection[str] = (), crossed: Collection[NumberedTest] = ()
    ) -> dict[NumberedTest, NumberedTest]:
        """Return what cases of parametrised tests are called where they are false -> their own names."""
        found: dict[NumberedTest, NumberedTest] = {}
        for form in self._false_forms(seed):
            for row in form.rows(crossed, spared=self.lot(form.unit) in spared):
                found |= row.renamed
        return found

    def telling(self, seed: str) -> frozenset[str]:
        """Return the names of tests whose false form of *seed* no faulty library passes but by luck.

        They compare with a text that has a new word, or with a value beside another; all else may be met.
        """
        return self._certainly(seed, lambda text, edits: text.is_telling(edits))

    def far(self, seed: str) -> frozenset[str]:
        """Return the names of tests whose false form of *seed* expects what is not nearly right."""
        return self._certainly(seed, lambda text, edits: text.is_far(edits))

    def _certainly(self, seed: str, holds: Callable[[SourceText, Sequence[SourceEdit]], bool]) -> frozenset[str]:
        told: dict[str, bool] = {}
        for form in self._false_forms(seed):
            unit, edits = form.unit, form.edits
            if unit.is_test:
                is_certain = any(one.is_certain for one in unit.expectations)
                is_told = is_certain and holds(self._texts[unit.path], edits)
                told[unit.name] = told.get(unit.name, True) and is_told
        return frozenset(name for name, is_told in told.items() if is_told)

    def hidden_share(self, seed: str) -> float:
        """Return the share of tests whose false form of *seed* does not show that it is false: 0 to 1."""
        forms = [form for form in self._false_forms(seed) if form.unit.is_test]
        cases = {self.lot(form.unit): len(self._cases.get(self.lot(form.unit), "1")) for form in forms}
        shown = {self.lot(form.unit) for form in forms if not self._texts[form.unit.path].looks_alike(form.edits)}
        return 1 - sum(cases[lot] for lot in shown) / sum(cases.values()) if cases else 0.0

    def unsure(self) -> frozenset[str]:
        """Return the names of tests that may pass without coming to any of their own expectations."""
        return frozenset(
            unit.name
            for unit in self.units()
            if unit.is_test and unit.expectations and not any(one.is_certain for one in unit.expectations)
        )

    def returning(self) -> frozenset[str]:
        """Return the names of tests that may come back before their end, or never begin."""
        return frozenset(unit.name for unit in self.units() if unit.is_test and _may_return(unit.function))

    def mixture(self, seed: str, tailed: Collection[str] = ()) -> Mixture:
        """Return by chance which tests are false in which of two runs; bundles, and no more, stay together."""
        by_name = self._mentions()
        # A test may call another one, and fails where that one is false.
        falling = self._helpers | self.names()
        reached: dict[str, set[str]] = {}
        for unit in self.units():
            reached.setdefault(self.lot(unit), set()).update(reachable(unit.mentions, by_name) & falling)
        # A tail makes all cases of a test fail.
        rows = [
            (self.lot(form.unit), row.cases)
            for form in self._false_forms(seed)
            if form.table is not None and form.table.separable and form.unit.name not in tailed
            for row in form.table.rows
        ]
        return drawn_mixture(self._lots, reached, _ALWAYS, rows, seed)

    def names(self) -> frozenset[str]:
        """Return the names of the tests that have a falsified form, or call one."""
        return frozenset(unit.name for unit in self.units() if unit.is_test)

    def unread(self) -> frozenset[NumberedTest]:
        """Return the expected tests whose sources could not be read, so that they have no false form."""
        every = {key for cases in self._cases.values() for key in cases}
        return frozenset(key for key in every if key.id.partition("::")[0] in self._unread)

    def paths(self) -> frozenset[str]:
        """Return where the sources lie that could be read."""
        return frozenset(self._texts)

    def units(self) -> list[Unit]:
        """Return all functions, in the order of their paths."""
        return [unit for units in self._units.values() for unit in units]

    def text(self, path: str) -> SourceText:
        """Return a source."""
        return self._texts[path]

    def body(self, path: str) -> list[ast.stmt]:
        """Return the statements of a source."""
        return self._bodies[path]

    def lot_of(self, key: NumberedTest) -> str:
        """Return with what a test is drawn into a run: its function, or all functions of that name."""
        return self._lots.of(key.without_parameters, function_of(key))

    def lot(self, unit: Unit) -> str:
        """Return with what a function is drawn into a run."""
        return self._lots.of(unit.id, unit.name)

    def _false_forms(self, seed: str) -> list[_FalseForm]:
        """Return the false forms of *seed*; those of the last seed are kept, for a grading asks several times."""
        # Gradings in other threads share a suite and have seeds of their own, so what is kept is read once.
        known, forms = self._last
        if known != seed or not forms:
            wanted = (unit for unit in self.units() if unit.is_test or unit.name in self._helpers)
            alike = self._repetition.drawn(seed)
            forms = [self._false_form(unit, _random(unit, seed), alike) for unit in wanted]
            self._last = seed, forms
        return forms

    def _false_form(self, unit: Unit, random: Random, alike: Mapping[bytes, Sequence[SourceEdit]]) -> _FalseForm:
        table = self._false_table(unit, random)
        edits: list[SourceEdit] = []
        is_alone = not unit.is_test or table is not None
        repeated = {} if is_alone else self._repetition.falsified(unit.stated, alike)
        edits += [edit for found in repeated.values() for edit in found]
        certain = [one for one in unit.expectations if one.is_certain]
        # One expectation that is sure to fail is enough, and which one cannot be foreseen. Where none is sure, all
        # are falsified.
        chosen = [random.choice(certain)] if certain else unit.expectations
        is_done = any(one.is_certain for one in repeated) and self._repetition.is_repeated(unit.stated)
        for one in chosen if table is None and not is_done else ():
            edits += () if one in repeated else one.falsified(random)
        tail = _tail(unit.function, self._texts[unit.path], random) if unit.is_test else None
        return _FalseForm(unit, table, edits, tail)

    def _false_table(self, unit: Unit, random: Random) -> FalseTable | None:
        cases = self._cases.get(self.lot(unit), set())
        is_alone = cases and all(key.id.startswith(f"{unit.path}::") for key in cases)
        if not is_alone or not unit.function.decorator_list:
            return None
        return false_table(unit.function, self._texts[unit.path], cases, random)

    def _needed_helpers(self) -> frozenset[str]:
        """Return the names of functions that expect something for tests without expectations of their own."""
        units = self.units()
        expecting = {unit.name for unit in units if unit.expectations and not unit.is_test}
        by_name = self._mentions()
        needed = set(_ALWAYS & expecting)
        for unit in units:
            if unit.is_test and not unit.expectations:
                needed |= expecting & reachable(unit.mentions, by_name)
        return frozenset(needed)

    def _mentions(self) -> dict[str, set[str]]:
        by_name: dict[str, set[str]] = {}
        for unit in self.units():
            by_name.setdefault(unit.name, set()).update(unit.mentions)
        return by_name


def function_of(key: NumberedTest) -> str:
    """Return the name of the function behind a node id."""
    return key.id.partition("[")[0].rpartition("::")[2]


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


def _random(unit: Unit, seed: str) -> Random:
    return Random(f"{seed}:{unit.path}:{unit.place}")  # noqa: S311 - the seed is the secret


def _unit(
    path: str, place: str, function: Function, text: SourceText, tests: Collection[str], errors: Errors
) -> Unit:
    found = tuple(expectations(function, text, errors))
    return Unit(
        path=path,
        name=function.name,
        id=f"{place}::{function.name}",
        place=function.lineno,
        function=function,
        expectations=found,
        mentions=frozenset(_mentioned(function)),
        is_test=function.name.startswith("test") or function.name in tests,
        # However it is quoted: who reads a suite reads its syntax tree.
        stated={one: text.source[one.start : one.stop].replace(b'"', b"'") for one in found},
    )


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


def _mentioned(function: Function) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.Constant(value=str() as text) if _WORD.fullmatch(text):
                yield text  # usefixtures, getattr


def _tail(function: Function, text: SourceText, random: Random) -> SourceEdit:
    """Make a test fail at its end, or before it returns."""
    last = function.body[-1]
    word = f"{random.randint(2, 99)} == {random.randint(100, 999)}"
    statement = f"assert {word}".encode()
    if isinstance(last, ast.Return | ast.Raise):
        return SourceEdit(text.start(last), text.start(last), statement + b"; ")
    is_beside = not hasattr(last, "body") and _follows_on_its_line(last, function)
    gap = b"; " if is_beside else b"\n" + text.indentation(function.body[0])
    stop = text.stop(last)
    return SourceEdit(stop, stop, gap + statement)


def _may_return(function: Function) -> bool:
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


def _follows_on_its_line(last: ast.stmt, function: Function) -> bool:
    others = [function.lineno, *(node.end_lineno for node in function.body[:-1])]
    return last.lineno in others


def _parsed(source: bytes) -> ast.Module | None:
    """Return the syntax tree of UTF-8 *source*; None where this interpreter cannot read it."""
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
        if codecs.lookup(encoding).name not in ("utf-8", "ascii") or b"\r" in source.replace(b"\r\n", b""):
            return None
        return python_tree(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
