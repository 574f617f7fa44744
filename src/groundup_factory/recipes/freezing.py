"""Freezing a recipe: lock, run the oracle offline several times, keep the ids that pass every time.

What a person decides (source, interpreter, wishes, layout) is in the draft; what can be measured is filled in.
"""

import fnmatch
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from groundup.domain.errors import TaskError
from groundup.extensions import require
from groundup.grading.context import GradingContext, processors
from groundup.grading.library.decision import decide
from groundup.grading.library.execution import Execution, run_hidden_tests
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest, NumberedTest
from groundup.grading.library.report import Result
from groundup.sandbox.protocol import CommandResult
from groundup.suites.nl2repobench.published import graded_tree
from groundup.suites.nl2repobench.recipe import Excluded, Frozen, Recipe, RecipeEnvironment, Why
from groundup_factory.recipes.case_order import case_order
from groundup_factory.recipes.locking import lock_requirements

RUNS = 3
_LEAST_TIMEOUT_S = 60.0
_MOST_FREE = 0.1
"""Of the expected tests: what passes without the library measures nothing, and is left out."""
_ALL_OTHERS = "*"
"""The pattern of a reason for what fails without showing one."""
_BUILDERS = ("setuptools", "wheel")
"""At hand where a source distribution is built; what else it declares comes from the index as of the cut-off."""
_SLOWNESS = 10
"""How much slower than the oracle a submission, or the machine on which it is graded, may be."""


async def freeze(draft: Recipe, context: GradingContext, *, runs: int = RUNS) -> Recipe:
    """Return *draft* with its lock, its expected ids and what was measured.

    Raises `TaskError` when the oracle does not work, when a test fails for no reason that the draft gives, or when
    an empty submission passes anything.
    """
    require("groundup_integrity", "making a recipe")
    from groundup_integrity.false_records import false_record

    recipe = draft if draft.environment.lock else await locked(draft)
    environment = await context.builder.python(recipe.environment.request())
    original = await graded_tree(recipe, context)
    whole = LibraryUnderTest(original, original, recipe.tests.but(case_order={}), environment)
    executions = [await run_hidden_tests(whole, context) for _ in range(runs)]
    for execution in executions:
        _require_sound(execution, recipe)
    expected = frozenset(key for key in _passing(executions) if given_reason(recipe, key) is not Why.FLAKY)
    free = await _free(recipe, expected, whole, context)
    expected -= free
    twin = await false_record(whole, expected, context)
    duration_s = max(quiet_s(execution.result, processors()) for execution in executions)
    peaks = [execution.peak_memory_mb for execution in executions if execution.peak_memory_mb is not None]
    return recipe.but(
        environment=recipe.environment.but(python_micro=environment.python_version),
        tests=recipe.tests.but(
            timeout_s=_timeout_s(duration_s),
            case_order=case_order(
                original, recipe.tests, library_files(original, recipe.tests), executions[0].report.results
            ),
        ),
        frozen=Frozen(
            pytest=executions[0].report.pytest or "unknown",
            runs=runs,
            duration_s=round(duration_s, 1),
            peak_memory_mb=math.ceil(max(peaks)) if peaks else None,
            original_lines=count_lines(original, recipe.tests),
            collected=len(executions[0].report.results),
            official=None if draft.frozen is None else draft.frozen.official,
        ),
        expected=expected,
        twin=twin,
        excluded=tuple(_exclusions(recipe, expected, free, executions)),
    )


async def locked(draft: Recipe) -> Recipe:
    """Return *draft* with the lock of what it wants. Raises `TaskError` or `NetworkError`."""
    wanted = draft.environment
    lock = await _lock(wanted.wants, wanted, complete=wanted.complete)
    lock |= {pin: (digest,) for pin, digest in wanted.from_source.items()}
    builders = await _lock(_BUILDERS, wanted, complete=False) if wanted.from_source else {}
    changed = {"lock": dict(sorted(lock.items())), "builders": builders}
    return draft.but(environment=wanted.but(**changed))


async def _lock(lines: Iterable[str], wanted: RecipeEnvironment, *, complete: bool) -> dict[str, tuple[str, ...]]:
    """Return pins and their hashes."""
    lock = {}
    elsewhere = [pin.partition("==")[0] for pin in wanted.from_source]
    compiled = await lock_requirements(
        lines, wanted.python, wanted.exclude_newer, complete=complete, without=elsewhere
    )
    for line in compiled:
        pin, *options = line.split()
        lock[pin] = tuple(option.removeprefix("--hash=") for option in options)
    return lock


def _require_sound(execution: Execution, recipe: Recipe) -> None:
    """Raise `TaskError` unless the oracle's run ended and imported from the right place."""
    collected = frozenset(execution.report.results)
    decision = decide(collected, recipe.tests, execution.report, execution.result)
    if decision.passed == 0:
        sentence = "; ".join(reason.message for reason in decision.reasons) or "nothing was collected"
        log = (execution.result.stdout + execution.result.stderr)[-1500:].decode(errors="replace")
        raise TaskError(f"the original of {recipe.task} passes none of its own tests: {sentence}\n{log}")


def quiet_s(result: CommandResult, number: int) -> float:
    """Return how long a run took, or would have taken at most with no neighbour on any of *number* processors.

    What counts is what the machine gave to all threads, divided by the processors; one thread alone needs that
    many times as long.
    """
    return min(result.duration_s, result.counted_s * number)


def _timeout_s(duration_s: float) -> float:
    """Return whole minutes."""
    return max(_LEAST_TIMEOUT_S, math.ceil(duration_s * _SLOWNESS / 60) * 60.0)


def _passing(executions: Sequence[Execution]) -> frozenset[NumberedTest]:
    return frozenset.intersection(
        *(
            frozenset(key for key, said in execution.report.results.items() if said.outcome == "passed")
            for execution in executions
        )
    )


def _exclusions(
    recipe: Recipe,
    expected: frozenset[NumberedTest],
    free: frozenset[NumberedTest],
    executions: Sequence[Execution],
) -> Iterable[Excluded]:
    collected: set[NumberedTest] = set()
    for execution in executions:
        collected |= execution.report.results.keys()
    yield from (Excluded(id=str(key), why=Why.WITHOUT_LIBRARY) for key in sorted(free))
    for key in sorted(collected - expected - free):
        said = [execution.report.results.get(key) for execution in executions]
        yield _excluded(recipe, key, [result for result in said if result is not None], len(executions))


def _excluded(recipe: Recipe, key: NumberedTest, said: Sequence[Result], runs: int) -> Excluded:
    note = next((result.message for result in said if result.message), "")[:200]
    reason = given_reason(recipe, key)
    if reason is not None:
        return Excluded(id=str(key), why=reason, note=note)
    outcomes = {result.outcome for result in said}
    if len(outcomes) > 1 or len(said) < runs:
        return Excluded(id=str(key), why=Why.FLAKY, note=note)
    if outcomes == {"skipped"}:
        return Excluded(id=str(key), why=Why.SKIPPED, note=note)
    if outcomes <= {"xfailed", "xpassed"}:
        return Excluded(id=str(key), why=Why.EXPECTED_FAILURE, note=note)
    if _ALL_OTHERS in recipe.reasons:
        return Excluded(id=str(key), why=recipe.reasons[_ALL_OTHERS], note=note)
    raise TaskError(
        f"{key} does not pass with the original itself ({note or 'no message'}); "
        "mend the draft, or give the reason under [reasons]"
    )


def given_reason(recipe: Recipe, key: NumberedTest) -> Why | None:
    """Return the reason that the recipe gives for a test by name. Who calls a test flaky saw it fail."""
    for pattern, why in recipe.reasons.items():
        # Square brackets are common in test ids, so they stand for themselves.
        if pattern != _ALL_OTHERS and fnmatch.fnmatchcase(str(key), pattern.replace("[", "[[]")):
            return why
    return None


async def _free(
    recipe: Recipe, expected: frozenset[NumberedTest], whole: LibraryUnderTest, context: GradingContext
) -> frozenset[NumberedTest]:
    """Return the tests that an empty submission passes. Raises `TaskError` when they are more than a few."""
    empty = context.scratch / "nop"
    empty.mkdir(exist_ok=True)
    execution = await run_hidden_tests(whole._replace(submission=empty), context)
    decision = decide(expected, recipe.tests, execution.report, execution.result)
    free = {key for key in expected if (said := execution.report.results.get(key)) and said.outcome == "passed"}
    if max(decision.passed_before_end, len(free)) > len(expected) * _MOST_FREE:
        raise TaskError(
            f"an empty submission passes {decision.passed_before_end} tests of {recipe.task}; "
            "the environment or the protected files hold the library itself"
        )
    return frozenset(free)


def library_files(original: Path, tests: HiddenTests) -> Iterator[Path]:
    """Yield the Python files of the original's packages, protected paths left out."""
    for root in tests.import_roots:
        for package in tests.packages:
            place = original / root / PurePosixPath(*package.split("."))
            files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
            yield from (file for file in files if not _is_protected(file.relative_to(original), tests))


def count_lines(original: Path, tests: HiddenTests) -> int:
    """Return the lines of Python in the original's packages, protected paths left out."""
    return sum(map(_lines, library_files(original, tests)))


def _lines(file: Path) -> int:
    return len(file.read_bytes().splitlines()) if file.is_file() else 0


def _is_protected(path: Path, tests: HiddenTests) -> bool:
    return any(path.is_relative_to(protected) for protected in tests.protected)
