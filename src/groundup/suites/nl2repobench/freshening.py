"""Making fresh inputs with the help of the original, and running a submission with them."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.errors import TaskError
from groundup.domain.verdicts import Verdict
from groundup.grading.context import GradingContext
from groundup.grading.library.decision import FACT, NONE, Decision, as_fact, passing_tests
from groundup.grading.library.execution import Overlay, run_to_the_end
from groundup.grading.library.false_forms import HiddenSuite, applied, suite_of
from groundup.grading.library.hidden import LibraryUnderTest, NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.library.source_text import SourceEdit
from groundup.suites.nl2repobench.fresh import (
    FreshInputs,
    FreshOutcome,
    Place,
    Variant,
    digest,
    ids_by_place,
    judged,
    value_in,
    variants,
)
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe

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
    original = await original_tree(recipe, context)
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
        rounds = await run_to_the_end(
            self._whole,
            self._context,
            Overlay(changed=changed, chosen=tuple(sorted(wanted))),
        )
        return rounds.last.report.results


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
    fresh: FreshInputs | None,
    decision: Decision,
    library: LibraryUnderTest,
    suite: HiddenSuite,
    context: GradingContext,
) -> FreshOutcome | None:
    """Run *library* with fresh inputs, if any, in a slot of the machine. *decision*: on the tests as published.

    Nothing is run where none of them has a variant.
    """
    if fresh is None:
        return None
    known = passing_tests(decision)
    concerned = frozenset(map(NumberedTest.parse, fresh.tests))
    if not concerned & known:
        return judged(fresh, known, ())
    changed = await asyncio.to_thread(fresh.changed, suite)
    overlay = Overlay(changed=changed, chosen=tuple(sorted(concerned)))
    async with context.slots.taken():
        rounds = await run_to_the_end(library, context, overlay)
    passed = {key for key, said in rounds.last.report.results.items() if said.outcome == "passed"}
    return judged(fresh, known, passed)


def beside(verdict: Verdict, seen: FreshOutcome) -> Verdict:
    """Return *verdict* with the score on fresh inputs beside its own, which it does not change."""
    told = verdict.facts.get(FACT)
    signs = [*(() if told in (None, NONE) else (str(told),)), *seen.signs]
    facts = {**verdict.facts, "fresh_known": seen.known, "fresh_kept": seen.kept, FACT: as_fact(signs)}
    scores = {**verdict.scores, "on_fresh_inputs": seen.score}
    return verdict.but(facts=facts, scores=scores)


def fresh_text(fresh: FreshInputs) -> str:
    """Return the file of *fresh*."""
    return fresh.model_dump_json(indent=1) + "\n"


def read_fresh(text: str, origin: str) -> FreshInputs:
    """Return what `fresh_text` wrote; *origin* names it in errors. Raises `TaskError`."""
    try:
        return FreshInputs.model_validate_json(text)
    except ValidationError as error:
        raise TaskError(f"{origin} holds no fresh inputs; make it again with `groundup recipe freshen`") from error


@cache
def shipped_fresh(task: str) -> FreshInputs | None:
    """Return the fresh inputs beside the recipe of *task*; None: there are none. Raises `TaskError`."""
    place = files("groundup.suites.nl2repobench") / "recipes" / f"{task}{SUFFIX}"
    return read_fresh(place.read_text(encoding="utf-8"), place.name) if place.is_file() else None


def own_fresh(folder: Path | None, task: str) -> FreshInputs | None:
    """Return the fresh inputs that this machine made for *task*, or else those beside its recipe."""
    place = None if folder is None else folder / f"{task}{SUFFIX}"
    if place is not None and place.is_file():
        return read_fresh(place.read_text(encoding="utf-8"), str(place))
    return shipped_fresh(task)
