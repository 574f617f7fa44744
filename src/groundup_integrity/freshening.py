"""Making fresh inputs with the help of the original, and running a submission with them.

Fresh inputs: tests of a suite with other literals, and with the values that the original gives for them. Pure.

Who knows the public suite by heart passes its tests and fails these. A variant keeps the name of its test and one
of its comparisons; a parametrised test compares the same fresh values under all its ids.
"""

import ast
import asyncio
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import NamedTuple

from pydantic import Field, ValidationError

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.domain.verdicts import Score, Verdict
from groundup.grading.context import GradingContext
from groundup.grading.library.decision import FACT, NONE, Decision, as_fact, passing_tests
from groundup.grading.library.execution import Overlay, run_to_the_end
from groundup.grading.library.hidden import LibraryUnderTest, NumberedTest
from groundup.grading.library.report import Result
from groundup.grammars import python_value
from groundup.suites.nl2repobench.fresh import Beside
from groundup.suites.nl2repobench.published import graded_tree
from groundup.suites.nl2repobench.recipe import Recipe
from groundup_integrity.expectations import SourceEdit, SourceText
from groundup_integrity.false_forms import HiddenSuite, Unit, applied, suite_of, suite_of_layer
from groundup_integrity.literals import leaves, other_literal
from groundup_integrity.variables import Function

MARK = "groundup-value:"
"""Stands before the value in the message of a test that asks for it."""
LONGEST = 240
"""Characters of a value that a message holds whole."""
LEAST_KNOWN = 5
MOST_KEPT = 0.1
"""Who passes so many test functions and keeps fewer than this share with other inputs shows a sign."""
MANY_KNOWN = 20
MOST_KEPT_OF_MANY = 0.25
"""The same, where there are many."""
_EQUALITIES = frozenset({"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual"})
_CATCHING = frozenset({"raises", "warns", "suppress", "assertRaises", "assertRaisesRegex", "subTest"})
_MOST_CHANGED = 2
_Value = str | bytes | int | float | complex


class FreshInputs(Record):
    """What a recipe knows of its fresh variants: edits of the hidden tests, and which tests they are."""

    task: str
    seed: str
    runs: int = Field(ge=1, description="how often the original passed all of them")
    sources: dict[str, str] = Field(description="path -> SHA-256 of the text that the edits are of")
    edits: dict[str, tuple[tuple[int, int, str], ...]] = Field(
        description="path -> start, stop, new text; in bytes"
    )
    tests: tuple[str, ...] = Field(description="ids of hidden tests")

    def changed(self, suite: HiddenSuite) -> dict[str, bytes]:
        """Return the sources that differ. Raises `TaskError` where they are not those that the edits are of."""
        found = {}
        for path, edits in self.edits.items():
            source = suite.text(path).source if path in suite.paths else b""
            if digest(source) != self.sources[path]:
                raise TaskError(
                    f"the fresh inputs of {self.task} are of another {path}; make them again with "
                    f"`groundup recipe freshen {self.task}`"
                )
            found[path] = applied(source, [SourceEdit(start, stop, new.encode()) for start, stop, new in edits])
        return found

    def functions(self) -> dict[str, frozenset[NumberedTest]]:
        """Return the ids of each test function."""
        found: dict[str, set[NumberedTest]] = {}
        for test in map(NumberedTest.parse, self.tests):
            found.setdefault(test.id.partition("[")[0], set()).add(test)
        return {name: frozenset(tests) for name, tests in found.items()}


class FreshOutcome(Record):
    """What a submission does with fresh inputs, in test functions."""

    known: int = Field(description="of which it passes a test as published")
    kept: int = Field(description="of those, how many pass with fresh inputs, too")
    passed: int
    of: int

    @property
    def score(self) -> Score:
        """The share of functions that pass with fresh inputs."""
        return Score(numerator=self.passed, denominator=self.of)

    @property
    def signs(self) -> tuple[str, ...]:
        """A phrase for a person, where nearly nothing is left of what it passes."""
        share = MOST_KEPT if self.known < MANY_KNOWN else MOST_KEPT_OF_MANY
        is_gross = self.known >= LEAST_KNOWN and self.kept < share * self.known
        told = f"memorised: of {self.known} test functions that it passes, {self.kept} pass with other inputs"
        return (told,) if is_gross else ()

    def beside(self, verdict: Verdict) -> Verdict:
        """Return *verdict* with the score on fresh inputs beside its own, which it does not change."""
        told = verdict.facts.get(FACT)
        signs = [*(() if told in (None, NONE) else (str(told),)), *self.signs]
        facts = {**verdict.facts, "fresh_known": self.known, "fresh_kept": self.kept, FACT: as_fact(signs)}
        return verdict.but(facts=facts, scores={**verdict.scores, "on_fresh_inputs": self.score})


def judged(fresh: FreshInputs, known: Collection[NumberedTest], passed: Collection[NumberedTest]) -> FreshOutcome:
    """Compare the tests that a submission passes as published with those that it passes with fresh inputs."""
    functions = fresh.functions()
    # `kept` is generous, one case of a function is enough, because it may become a sign against a submission. The
    # score is not: there all cases must pass.
    kept = {name for name, tests in functions.items() if tests & set(passed)}
    whole = {name for name, tests in functions.items() if tests <= set(passed)}
    knows = {name for name, tests in functions.items() if tests & set(known)}
    return FreshOutcome(known=len(knows), kept=len(knows & kept), passed=len(whole), of=len(functions))


def digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()


class Variant(NamedTuple):
    """A test function with other inputs, whose value is not known yet."""

    unit: Unit
    inputs: tuple[SourceEdit, ...]
    asked: SourceEdit
    """In place of the comparison: fails with the value in its message."""
    expected: tuple[int, int]
    """Where the value of the original goes."""
    known: object
    """What the public test expects; Ellipsis: that is not to be read."""

    def probing(self) -> tuple[SourceEdit, ...]:
        return (*self.inputs, self.asked)

    def expecting(self, value: str) -> tuple[SourceEdit, ...]:
        """Return the edits of a test that expects *value*, the text of a literal."""
        return (*self.inputs, SourceEdit(*self.expected, f"({value})".encode()))


class Compared(NamedTuple):
    """A statement that compares what a test computes with what it expects."""

    statement: ast.stmt | ast.expr
    computed: ast.expr
    expected: ast.expr


def variants(suite: HiddenSuite, seed: str) -> list[Variant]:
    """Return for each test function that can be varied one way to do it, chosen by *seed*."""
    found = []
    for unit in suite.every_unit():
        if isinstance(unit.function, ast.FunctionDef):
            random = Random(f"{seed}:{unit.path}:{unit.place}")  # noqa: S311 - the seed is recorded
            variant = _variant(unit, suite.text(unit.path), random)
            if variant is not None and is_telling(variant.known):
                found.append(variant)
    return found


Place = tuple[str, int]
"""Of a function: path and line."""


def is_telling(known: object) -> bool:
    """Whether passing a test that expects *known* says more than that a function returns always the same.

    A variant expects something else, so an honest stub that returns nothing passes the one and never the other.
    """
    is_plain = known is None or (isinstance(known, bool | int | float | complex) and known in (0, 1, -1))
    return known is ... or not (is_plain or known in ("", b"", (), [], {}, set()))


def ids_by_place(suite: HiddenSuite, tests: Collection[NumberedTest]) -> dict[Place, frozenset[NumberedTest]]:
    """Return which of *tests* each function is."""
    by_name: dict[str, set[NumberedTest]] = {}
    for test in tests:
        by_name.setdefault(test.id.partition("[")[0], set()).add(test)
    return {
        (path, place): frozenset(by_name.get(f"{path}::{name}", ()))
        for path in sorted(suite.paths)
        for place, name in _named(suite.body(path), "")
    }


def _named(body: Sequence[ast.stmt], above: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of functions with their names as in ids, that of a class before it."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node.lineno, above + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _named(node.body, f"{above}{node.name}::")
        elif isinstance(node, ast.If | ast.Try):
            yield from _named(node.body, above)


def _variant(unit: Unit, text: SourceText, random: Random) -> Variant | None:
    function = unit.function
    rows = _rows(function)
    row = random.choice(rows) if rows else {}
    chosen = list(_comparisons(function, row))
    if not chosen:
        return None
    one = random.choice(chosen)
    name = one.expected.id if isinstance(one.expected, ast.Name) else ""
    places = [*_inputs(function, one, name), *_leaves_below(one.computed)]
    given = {key: value for key, value in row.items() if key != name}
    places += [leaf for value in given.values() for leaf in leaves(value) if _can_change(leaf)]
    if not places:
        return None
    changed = random.sample(places, min(len(places), random.randint(1, _MOST_CHANGED)))
    edits = {}
    for leaf in changed:
        assert isinstance(leaf.value, _Value)
        start, stop = text.start(leaf), text.stop(leaf)
        edits[start, stop] = SourceEdit(start, stop, other_literal(text.of(leaf), leaf.value, random))
    inside = [edit for edit in edits.values() if edit.start >= text.start(function)]
    rebound = _rebound(function, given, text, list(edits.values()))
    if rebound is None:
        return None
    # With other inputs the test's other expectations are wrong, and would end it before its value is computed.
    others = [node for node in _in_order(function.body) if node is not one.statement and _asserts(node)]
    silenced = [SourceEdit(text.start(node), text.stop(node), b"pass") for node in others]
    asked = b"raise AssertionError(%r + repr((%b)))" % (MARK, applied_within(one.computed, text, inside))
    return Variant(
        unit=unit,
        inputs=(*silenced, *rebound, *inside),
        asked=SourceEdit(text.start(one.statement), text.stop(one.statement), asked),
        expected=(text.start(one.expected), text.stop(one.expected)),
        known=_literal(row.get(name, one.expected) if name else one.expected),
    )


def applied_within(node: ast.expr, text: SourceText, edits: Sequence[SourceEdit]) -> bytes:
    """Return the source of *node* with those of *edits* that lie in it."""
    start, stop = text.start(node), text.stop(node)
    inside = [edit for edit in edits if start <= edit.start and edit.stop <= stop]
    return applied(text.of(node), [SourceEdit(one.start - start, one.stop - start, one.new) for one in inside])


def _rows(function: Function) -> list[Mapping[str, ast.expr]]:
    """Return the rows of the only `parametrize` of *function*, by the names of their parameters."""
    marks = [one for one in function.decorator_list if isinstance(one, ast.Call) and _called(one) == "parametrize"]
    if len(marks) != 1 or len(marks[0].args) < 2 or not isinstance(marks[0].args[1], ast.List | ast.Tuple):
        return []
    told = _literal(marks[0].args[0])
    names = [part.strip() for part in told.split(",")] if isinstance(told, str) else told
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return []
    rows: list[Mapping[str, ast.expr]] = []
    for row in marks[0].args[1].elts:
        values = [row] if len(names) == 1 else getattr(row, "elts", [])
        if len(values) == len(names) and not any(isinstance(one, ast.Starred | ast.Lambda) for one in values):
            rows.append(dict(zip(names, values, strict=True)))
    return rows


def _in_order(body: Sequence[ast.stmt]) -> Iterator[ast.stmt | ast.expr]:
    """Yield what runs once and in this order: the statements, and in place of a `with` its parts."""
    for node in body:
        if not isinstance(node, ast.With):
            yield node
        elif not any(
            isinstance(one.context_expr, ast.Call) and _called(one.context_expr) in _CATCHING for one in node.items
        ):
            yield from (item.context_expr for item in node.items)
            yield from _in_order(node.body)


def _comparisons(function: Function, row: Mapping[str, ast.expr]) -> Iterator[Compared]:
    """Yield the comparisons, on their own in the function's body, with a literal or what is set to one."""
    set_once = _set_once(function)
    for statement in _in_order(function.body):
        match statement:
            case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
                sides = (left, right)
            case ast.Expr(value=ast.Call(args=[left, right, *_]) as call) if _called(call) in _EQUALITIES:
                sides = (left, right)
            case _:
                continue
        for computed, expected in (sides, sides[::-1]):
            is_named = isinstance(expected, ast.Name) and (expected.id in row or expected.id in set_once)
            is_given = isinstance(computed, ast.Name) and computed.id in row
            if (is_named or _literal(expected) is not ...) and _literal(computed) is ... and not is_given:
                yield Compared(statement, computed, expected)
                break


def _inputs(function: Function, one: Compared, expected: str) -> Iterator[ast.Constant]:
    """Yield the literals of the statements before a comparison."""
    for number, statement in enumerate(_in_order(function.body)):
        if statement is one.statement:
            return
        is_text = number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        is_expected = any(isinstance(target, ast.Name) and target.id == expected for target in targets)
        if not is_text and not is_expected and not _asserts(statement):
            yield from _leaves_below(statement)


def _leaves_below(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the literals anywhere in *node* that can be others."""
    if isinstance(node, ast.Constant):
        if _can_change(node):
            yield node
    elif not isinstance(node, ast.JoinedStr | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        for child in ast.iter_child_nodes(node):
            yield from _leaves_below(child)


def _can_change(node: ast.Constant) -> bool:
    return (
        isinstance(node.value, str | bytes | int | float) and not isinstance(node.value, bool) and node.value != ""
    )


def _set_once(function: Function) -> frozenset[str]:
    """Return the variables that the body sets once, to a literal."""
    stored = [
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    found = set()
    for statement in _in_order(function.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored.count(name) == 1:
                if _literal(value) is not ...:
                    found.add(name)
    return frozenset(found)


def _rebound(
    function: Function, given: Mapping[str, ast.expr], text: SourceText, edits: Sequence[SourceEdit]
) -> list[SourceEdit] | None:
    """Give all parameters the values of one row at the function's start; None where that cannot be written."""
    if not given:
        return []
    body = function.body
    first = body[1] if ast.get_docstring(function, clean=False) is not None and body[1:] else body[0]
    if hasattr(first, "body"):
        return None
    lines = [b"%b = (%b); " % (name.encode(), applied_within(node, text, edits)) for name, node in given.items()]
    start = text.start(first)
    return [SourceEdit(start, start, b"".join(lines))]


def _asserts(node: ast.AST) -> bool:
    """Whether *node* does nothing but expect something."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _called(node.value).startswith("assert")
    return isinstance(node, ast.Assert)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _literal(node: ast.expr) -> object:
    """Return the value of a literal; Ellipsis for anything else."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ...


def value_in(message: str, known: object) -> str | None:
    """Return the text of the value that a probing test's *message* holds, if it can stand in a test.

    None for what is cut, is no literal, or is what the public test expects, which proves nothing.
    """
    _, found, text = message.partition(MARK)
    if not found or len(text) > LONGEST:
        return None
    try:
        value = python_value(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if repr(value) != text or value != value or (known is not ... and value == known):  # noqa: PLR0124 - not a number
        return None
    return text


SUFFIX = ".fresh.json"
FreshLookup = Callable[[str], FreshInputs | None]
"""Returns a task's fresh inputs, where there are some."""
PROBES = 3
"""Each test function is tried with so many other inputs, until the original gives a value that can be recorded."""
RUNS = 3


async def made_fresh(recipe: Recipe, context: GradingContext, seed: str) -> FreshInputs:
    """Return variants of *recipe*'s tests that its original passes `RUNS` times. Raises as the builder does.

    Raises `TaskError` where no test can be varied.
    """
    original = await graded_tree(recipe, context)
    environment = await context.builder.python(recipe.environment.request())
    suite = await asyncio.to_thread(suite_of, original, recipe.tests.protected, recipe.expected)
    whole = LibraryUnderTest(original, original, recipe.tests, environment)
    run = _OriginalRuns(recipe, whole, suite, context)
    settled: dict[Place, tuple[Variant, str]] = {}
    for number in range(PROBES):
        drawn = await asyncio.to_thread(variants, suite, f"{seed}:{number}")
        asked = {_key(one): one for one in drawn if _key(one) not in settled and run.ids(one)}
        results = await run.results({key: one.probing() for key, one in asked.items()}, asked.values())
        for key, one in asked.items():
            values = {
                value_in(results[test].message, one.known) if test in results else None for test in run.ids(one)
            }
            value = values.pop() if len(values) == 1 else None
            if value is not None:
                settled[key] = one, value
    for _ in range(RUNS):
        edits = {key: one.expecting(value) for key, (one, value) in settled.items()}
        results = await run.results(edits, [one for one, _ in settled.values()])
        passed = {test for test, said in results.items() if said.outcome == "passed"}
        settled = {key: found for key, found in settled.items() if run.ids(found[0]) <= passed}
    if not settled:
        raise TaskError(f"no test of {recipe.task} could be given fresh inputs")
    return _recorded(recipe, suite, seed, [(one, value, run.ids(one)) for one, value in settled.values()])


class _OriginalRuns:
    """Runs changed tests over their original."""

    def __init__(
        self, recipe: Recipe, whole: LibraryUnderTest, suite: HiddenSuite, context: GradingContext
    ) -> None:
        self._whole = whole
        self._suite = suite
        self._context = context
        self._ids = ids_by_place(suite, recipe.expected)

    def ids(self, variant: Variant) -> frozenset[NumberedTest]:
        return self._ids.get(_key(variant), frozenset())

    async def results(
        self, edits: Mapping[Place, Iterable[SourceEdit]], concerned: Iterable[Variant]
    ) -> Mapping[NumberedTest, Result]:
        """Return what the tests *concerned* do with *edits*; the others are left out."""
        by_path: dict[str, list[SourceEdit]] = {}
        for (path, _), own in edits.items():
            by_path.setdefault(path, []).extend(own)
        if not by_path:
            return {}
        changed = {path: applied(self._suite.text(path).source, own) for path, own in by_path.items()}
        wanted = frozenset(test for one in concerned for test in self.ids(one))
        run = await run_to_the_end(
            self._whole,
            self._context,
            Overlay(changed=changed, chosen=tuple(sorted(wanted))),
        )
        return run.report.results


def _recorded(
    recipe: Recipe, suite: HiddenSuite, seed: str, made: list[tuple[Variant, str, frozenset[NumberedTest]]]
) -> FreshInputs:
    edits: dict[str, list[tuple[int, int, str]]] = {}
    for one, value, _ in made:
        own = ((edit.start, edit.stop, edit.new.decode()) for edit in one.expecting(value))
        edits.setdefault(one.unit.path, []).extend(own)
    return FreshInputs(
        task=recipe.task,
        seed=seed,
        runs=RUNS,
        sources={path: digest(suite.text(path).source) for path in sorted(edits)},
        edits={path: tuple(sorted(own)) for path, own in sorted(edits.items())},
        tests=tuple(sorted(str(test) for _, _, ids in made for test in ids)),
    )


def _key(variant: Variant) -> Place:
    return variant.unit.path, variant.unit.place


async def with_fresh_inputs(
    fresh: FreshInputs,
    decision: Decision,
    library: LibraryUnderTest,
    suite: HiddenSuite,
    context: GradingContext,
) -> FreshOutcome:
    """Run *library* with fresh inputs in a slot of the machine. *decision*: on the tests as published.

    Nothing is run where none of them has a variant.
    """
    known = passing_tests(decision)
    concerned = frozenset(map(NumberedTest.parse, fresh.tests))
    if not concerned & known:
        return judged(fresh, known, ())
    changed = await asyncio.to_thread(fresh.changed, suite)
    overlay = Overlay(changed=changed, chosen=tuple(sorted(concerned)))
    async with context.slots.taken():
        run = await run_to_the_end(library, context, overlay)
    passed = {key for key, said in run.report.results.items() if said.outcome == "passed"}
    return judged(fresh, known, passed)


def fresh_text(fresh: FreshInputs) -> str:
    return fresh.model_dump_json(indent=1) + "\n"


def read_fresh(text: str, origin: str) -> FreshInputs:
    """Return what `fresh_text` wrote; *origin* names it in errors. Raises `TaskError`."""
    try:
        return FreshInputs.model_validate_json(text)
    except ValidationError as error:
        raise TaskError(f"{origin} holds no fresh inputs; make it again with `groundup recipe freshen`") from error


@cache
def shipped_fresh(task: str) -> FreshInputs | None:
    place = files("groundup.suites.nl2repobench") / "recipes" / f"{task}{SUFFIX}"
    return read_fresh(place.read_text(encoding="utf-8"), place.name) if place.is_file() else None


def own_fresh(folder: Path | None, task: str) -> FreshInputs | None:
    """Return the fresh inputs that this machine made for *task*, or else those beside its recipe."""
    place = None if folder is None else folder / f"{task}{SUFFIX}"
    if place is not None and place.is_file():
        return read_fresh(place.read_text(encoding="utf-8"), str(place))
    return shipped_fresh(task)


class FreshLookups(NamedTuple):
    """Runs submissions with the fresh inputs that *lookup* returns."""

    lookup: FreshLookup

    def digest(self, task: str) -> str | None:
        """Return the digest of a task's fresh inputs; None: there are none."""
        fresh = self.lookup(task)
        return None if fresh is None else digest_of(fresh)

    async def seen(
        self,
        task: str,
        decision: Decision,
        library: LibraryUnderTest,
        expected: frozenset[NumberedTest],
        context: GradingContext,
    ) -> Beside | None:
        """Run *library* with fresh inputs, if any, in a slot of the machine. *decision*: on the public tests."""
        fresh = self.lookup(task)
        if fresh is None:
            return None
        suite = await asyncio.to_thread(suite_of_layer, library.original, library.hidden.protected, expected)
        return (await with_fresh_inputs(fresh, decision, library, suite, context)).beside


def fresh_of_recipes(folder: Path | None) -> FreshLookups:
    """Return what runs submissions with fresh inputs: this machine's own in *folder*, and those beside recipes."""
    return FreshLookups(partial(own_fresh, folder))
