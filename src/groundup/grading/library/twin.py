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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath
from random import Random
from typing import NamedTuple

from groundup.domain.errors import TaskError
from groundup.grading.library.errors import Errors, ancestors_in, unused_warnings
from groundup.grading.library.expectations import Expectation, expectations
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.parameters import FalseTable, false_table
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
    place: int
    function: Function
    expectations: tuple[Expectation, ...]
    mentions: frozenset[str]
    is_test: bool
    stated: Stated


class _FalseForm(NamedTuple):
    """What one seed changes in one function."""

    unit: Unit
    edits: Sequence[SourceEdit]
    tail: SourceEdit | None
    """What makes a test fail at its end, if nothing else does."""
    renamed: Mapping[NumberedTest, NumberedTest]


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
        self._cases: dict[str, set[NumberedTest]] = {}
        for key in expected:
            self._cases.setdefault(function_of(key), set()).add(key)
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
                self._units[path] = [_unit(path, node, text, tests, errors) for node in _outermost(tree.body)]
        self._helpers = self._needed_helpers()
        self._repetition = Repetition(unit.stated for unit in self.units() if unit.is_test)
        self._last: tuple[str, list[_FalseForm]] = ("", [])

    def falsified(self, seed: str, tailed: Collection[str] = (), spared: Collection[str] = ()) -> dict[str, bytes]:
        """Return the sources that differ in the twin.

        *tailed*: names of tests that must fail at their end. *spared*: names of functions that stay true. Raises
        `TaskError` where the edits break a file.
        """
        edits: dict[str, list[SourceEdit]] = {}
        for form in self._false_forms(seed):
            unit = form.unit
            if unit.name in spared:
                continue
            own = edits.setdefault(unit.path, [])
            own += form.edits
            is_silent = not (unit.expectations or unit.mentions & self._helpers)
            if form.tail is not None and (is_silent or unit.name in tailed):
                own.append(form.tail)
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

    def renamed(self, seed: str, spared: Collection[str] = ()) -> dict[NumberedTest, NumberedTest]:
        """Return what cases of parametrised tests are called where they are false -> their own names."""
        found: dict[NumberedTest, NumberedTest] = {}
        for form in self._false_forms(seed):
            found |= form.renamed if form.unit.name not in spared else {}
        return found

    def telling(self, seed: str) -> frozenset[str]:
        """Return the names of tests whose false form of *seed* no faulty library passes but by luck.

        They compare with a text that has a new word, or with a value beside another; all else may be met.
        """
        told: dict[str, bool] = {}
        for form in self._false_forms(seed):
            unit, edits = form.unit, form.edits
            if unit.is_test:
                text = self._texts[unit.path]
                is_certain = any(one.is_certain for one in unit.expectations)
                is_told = is_certain and text.is_telling(edits)
                told[unit.name] = told.get(unit.name, True) and is_told
        return frozenset(name for name, is_told in told.items() if is_told)

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

    def bundles(self) -> dict[str, str]:
        """Return the bundle of each function, all by name: functions that fall only together share one."""
        by_name = self._mentions()
        # A test may call another one, and fails where that one is false.
        falling = self._helpers | self.names()
        linked = {name: _reachable([name], by_name) & falling for name in by_name}
        leader: dict[str, str] = {}

        def leader_of(name: str) -> str:
            while (above := leader.get(name, name)) != name:
                name = above
            return name

        for name, helpers in sorted(linked.items()):
            for helper in sorted(helpers):
                leader[leader_of(name)] = leader_of(helper)
        return {name: leader_of(name) for name in by_name}

    def halves(self, seed: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of all functions in two parts by chance, each bundle in one of them.

        The first part holds what pytest calls by itself.
        """
        bundles = self.bundles()
        pinned = {bundles[name] for name in _ALWAYS & bundles.keys()}
        leaders = sorted({*bundles.values()} - pinned)
        drawn = set(Random(seed).sample(leaders, len(leaders) // 2))  # noqa: S311 - the seed is the secret
        second = frozenset(name for name, leader in bundles.items() if leader in drawn)
        return frozenset(bundles.keys() - second), second

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
        edits: list[SourceEdit] = [] if table is None else [*table.edits]
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
        return _FalseForm(unit, edits, tail, {} if table is None else table.renamed)

    def _false_table(self, unit: Unit, random: Random) -> FalseTable | None:
        cases = self._cases.get(unit.name, set())
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
                needed |= expecting & _reachable(unit.mentions, by_name)
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


def _unit(path: str, function: Function, text: SourceText, tests: Collection[str], errors: Errors) -> Unit:
    found = tuple(expectations(function, text, errors))
    return Unit(
        path=path,
        name=function.name,
        place=function.lineno,
        function=function,
        expectations=found,
        mentions=frozenset(_mentioned(function)),
        is_test=function.name.startswith("test") or function.name in tests,
        # However it is quoted: who reads a suite reads its syntax tree.
        stated={one: text.source[one.start : one.stop].replace(b'"', b"'") for one in found},
    )


def _outermost(body: Iterable[ast.stmt]) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef | ast.If | ast.Try | ast.With):
            yield from _outermost(node.body)
            for block in (getattr(node, "orelse", ()), *(one.body for one in getattr(node, "handlers", ()))):
                yield from _outermost(block)


def _mentioned(function: Function) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.Constant(value=str() as text) if _WORD.fullmatch(text):
                yield text  # usefixtures, getattr


def _reachable(names: Iterable[str], by_name: Mapping[str, Collection[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += by_name.get(name, ())
    return found


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
