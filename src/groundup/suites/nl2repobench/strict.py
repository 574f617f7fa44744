"""The strict grader: what the score should have been. See docs/grading.md.

Joins a recipe, an environment and a run of the hidden tests into a verdict; what a run is worth is decided in
`grading.library.decision`.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_bytes, digest_of
from groundup.domain.steps import at_step
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, TestResult, Verdict
from groundup.grading.context import GradingContext
from groundup.grading.guesses import guesser
from groundup.grading.library.belief import checker, checks
from groundup.grading.library.decision import (
    FACT,
    MAX_REASONS,
    Decision,
    Integrity,
    as_fact,
    decide,
    explained,
    lost_tests,
    reason,
    signs_of,
)
from groundup.grading.library.execution import (
    Execution,
    logs_of,
    run_to_the_end,
    runs_begun,
    sandbox_to_look_around,
    with_extensions,
)
from groundup.grading.library.haste import gave_up_for_good, is_certain
from groundup.grading.library.hidden import FalseRecord, HiddenTests, LibraryUnderTest, NumberedTest
from groundup.grading.library.layout import graded_layout, laid_out
from groundup.inside import source_of
from groundup.sandbox.protocol import SandboxSpec
from groundup.suites.base import Graded, Grader
from groundup.suites.nl2repobench.fresh import Beside, FreshRuns
from groundup.suites.nl2repobench.recipe import Recipe, expected_seconds
from groundup.trees.writer import in_thread


def may_be_noise(decision: Decision, timed: Iterable[str]) -> bool:
    """Whether tests were lost that a neighbour on the machine may fail: no others, or one that then passed."""
    lost, known = lost_tests(decision), {*timed}
    if any(test.without_parameters in known for test in decision.integrity.flaky):
        return True
    is_whole = decision.passed == decision.expected - len(lost)
    return bool(lost) and is_whole and {test.without_parameters for test in lost} <= known


def _is_certain(execution: Execution, decision: Decision, library: LibraryUnderTest) -> bool:
    """Whether no lost test could pass on a machine that is less busy."""
    if decision.timed_out or decision.integrity.flaky or decision.integrity.unsteady:
        return False
    if gave_up_for_good(execution.report, execution.result):
        return True
    return is_certain([test for test in decision.results if test.lost], library, execution.kept)


def _results(decision: Decision) -> tuple[TestResult, ...]:
    """Return what each test did in the run that counts, flaky ones named."""
    flaky = {str(test) for test in decision.integrity.flaky}
    return tuple(one.but(flaky=True) if one.id in flaky else one for one in decision.results)


def _logs(execution: Execution, decision: Decision) -> dict[str, bytes]:
    """Return what a person reads: of the run that counts, and apart from it what the check did."""
    log = decision.integrity.log.encode("utf-8", "backslashreplace")
    return {**logs_of(execution), **({"check.txt": log} if log else {})}


async def judge(
    library: LibraryUnderTest,
    recipe: Recipe,
    context: GradingContext,
    *,
    deep: bool,
    fresh: FreshRuns | None,
) -> tuple[Execution, Decision, Beside | None]:
    """Run *library*'s hidden tests and check them; *deep*: check all that pass. Raises `SandboxError`.

    Where a slot is free, they run with *fresh* inputs while they are checked. Return the run that counts, what it
    is worth, and what puts the score on fresh inputs beside that, where there are some.
    """
    async with context.slots.taken():
        library = await with_extensions(library, context, context.scratch)
    further = checks() + (fresh is not None and fresh.digest(recipe.task) is not None)
    async with runs_begun(library, context, further, partial(checker().read_ahead, library, recipe.expected)):
        async with context.slots.taken():
            at_step("hidden tests")
            last = await run_to_the_end(library, context)
        return last, *await _believed(last, library, recipe, context, deep=deep, fresh=fresh)


async def _believed(
    last: Execution,
    library: LibraryUnderTest,
    recipe: Recipe,
    context: GradingContext,
    *,
    deep: bool,
    fresh: FreshRuns | None,
) -> tuple[Decision, Beside | None]:
    """Decide what *last* is worth, and check it."""
    decision = decide(recipe.expected, recipe.tests, last.report, last.result, last.ended, last.kept)
    freshly = asyncio.create_task(_with_fresh_inputs(fresh, decision, library, recipe, context))
    try:
        integrity = Integrity()
        if decision.passed:
            record = recipe.twin or FalseRecord()
            async with context.slots.taken():
                at_step("checking whether to believe them")
                integrity = await checker()(library, last, recipe.expected, record, context, deep=deep)
        # What is tampered with already needs no further sign.
        seen = None if integrity.answer == "tampered" else await freshly
    finally:
        freshly.cancel()
        await asyncio.gather(freshly, return_exceptions=True)
    return decision._replace(integrity=integrity), seen


async def _with_fresh_inputs(
    fresh: FreshRuns | None,
    decision: Decision,
    library: LibraryUnderTest,
    recipe: Recipe,
    context: GradingContext,
) -> Beside | None:
    return None if fresh is None else await fresh.seen(recipe.task, decision, library, recipe.expected, context)


def facts_of(
    execution: Execution, decision: Decision, recipe: Recipe, python: str, declared: int | None
) -> dict[str, str | int | float | bool | None]:
    """Return what a verdict tells beside its score; *python*: the version that ran."""
    integrity = decision.integrity
    facts: dict[str, str | int | float | bool | None] = {
        "expected": decision.expected,
        "declared": declared,
        "passed": decision.passed,
        "stub_passes": len(recipe.floor),
        "extra_passed": decision.extra_passed,
        "collected": execution.report.collected,
        "left_out": len(execution.dropped),
        "integrity": integrity.answer,
        "check": integrity.depth,
        "checked": integrity.checked,
        "python": python,
        "test_files": recipe.form_of_tests,
    }
    if integrity.why:
        facts["integrity_why"] = integrity.why
    if integrity.flaky:
        facts["flaky"] = len(integrity.flaky)
    if python != recipe.environment.python_micro:
        facts["python_of_recipe"] = recipe.environment.python_micro
    if decision.passed_before_end != decision.passed:
        facts["passed_before_end"] = decision.passed_before_end
    if execution.report.foreign:
        facts["foreign_lines"] = execution.report.foreign
    facts[FACT] = as_fact(signs_of(execution.report, execution.result))
    return facts


def reasons_of(execution: Execution, decision: Decision, hidden: HiddenTests) -> tuple[Reason, ...]:
    """Return why the score is what it is."""
    integrity = decision.integrity
    reasons = [explained(why, execution.dropped, execution.kept, hidden) for why in decision.reasons]
    if integrity.answer == "tampered":
        reasons.insert(0, reason(Stage.TEST, integrity.why))
    if integrity.flaky:  # named in any case: it tells that another grading may have another score
        reasons = [*reasons[: MAX_REASONS - 1], _flaky_reason(integrity.flaky)]
    return tuple(reasons[:MAX_REASONS])


def _flaky_reason(flaky: frozenset[NumberedTest]) -> Reason:
    told = f"{len(flaky)} of these passed when they ran again, first {min(flaky)}: flaky, and lost all the same"
    return reason(Stage.TEST, told)


VERSION = "3"
_LEAST_RESERVATION_MB = 128
_SUPERVISION_MB = 64


class NL2RepoStrictGrader(Grader):
    """Runs the original's tests over a submission by the task's recipe, and counts the expected ones that pass."""

    name = "strict"
    version = VERSION
    deep = False
    """Whether all tests that pass are checked, and not a sample."""

    def __init__(self, recipes: Mapping[str, Recipe], fresh: FreshRuns | None = None) -> None:
        """Make the grader; *fresh* runs the tests of some tasks with other inputs, too."""
        self._recipes = recipes
        self._fresh = fresh

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return the peak that the recipe recorded, with a margin, for each run at once; the limit if unknown."""
        recipe = self._recipes.get(task.id)
        if recipe is None:
            return task.limits.memory_mb
        if recipe.frozen is None or recipe.frozen.peak_memory_mb is None:
            return recipe.tests.memory_mb
        peak = int(recipe.frozen.peak_memory_mb * 1.5) + _SUPERVISION_MB
        at_once = 1 if self._fresh_digest(task) is None else 2
        return at_once * min(recipe.tests.memory_mb, max(_LEAST_RESERVATION_MB, peak))

    @override
    def expected_s(self, task: Task) -> float:
        """Return how long the tests took when the recipe was frozen."""
        return expected_seconds(self._recipes.get(task.id))

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what decides a verdict besides the submission."""
        recipe, fresh = self._recipes.get(task.id), self._fresh_digest(task)
        return {
            "recipe": None if recipe is None else digest_of(recipe),
            "layouts": 1,
            "runner": digest_bytes(
                b"".join(
                    map(
                        source_of,
                        ("runner.py", "failing.py", "undoing.py", "demands.py", "lacking.py"),
                    )
                )
            ),
            "data_version": task.data_version,
            **({} if fresh is None else {"fresh": fresh}),
        }

    @override
    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Return the layer of the recipe's environment; its digest covers the interpreter's micro version."""
        environment = await context.builder.python(self._recipe(task).environment.request())
        return {environment.layer.kind: environment.layer.digest}

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Compose, run, decide."""
        recipe = self._recipe(task)
        async with graded_layout(submission, recipe.tests, context.scratch) as (laid, tests):
            return await self._graded(task, laid, recipe.but(tests=tests), context)

    async def _graded(self, task: Task, submission: Path, recipe: Recipe, context: GradingContext) -> Graded:
        began = time.monotonic()
        environment = await context.builder.python(recipe.environment.request())
        original = await context.builder.source(recipe.graded_request())
        prepared = time.monotonic()
        library = LibraryUnderTest(submission, original.path, recipe.tests, environment)
        execution, decision, beside = await judge(library, recipe, context, deep=self.deep, fresh=self._fresh)
        verdict = self._verdict(task, recipe, execution, decision, environment.python_version)
        if beside is not None:
            verdict = beside(verdict)
        timings = {
            "environment": round(prepared - began, 3),
            "tests": round(execution.result.duration_s, 3),
            "total": round(time.monotonic() - began, 3),
        }
        verdict = await asyncio.to_thread(guesser().of_reasons, verdict.but(timings_s=timings), submission)
        return Graded(
            verdict=verdict,
            tests=await asyncio.to_thread(guesser().of_tests, _results(decision), submission),
            logs=_logs(execution, decision),
            repeat_alone=may_be_noise(decision, recipe.tests.timed),
            is_certain=await asyncio.to_thread(_is_certain, execution, decision, library),
        )

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return 0 over the expected tests, for a submission that could not be taken in."""
        recipe = self._recipe(task)
        declared = _declared(task)
        verdict = Verdict(
            status=Status.GRADED,
            score=Score(numerator=0, denominator=len(recipe.expected)),
            scores={} if declared is None else {"of_declared": Score(numerator=0, denominator=declared)},
            facts={"expected": len(recipe.expected), "declared": declared, "passed": 0},
            reasons=(reason,),
            grader=self._identity(task),
        )
        missing = (TestResult(id=str(test), outcome="missing", expected=True) for test in sorted(recipe.expected))
        return Graded(verdict=verdict, tests=tuple(missing))

    @override
    async def sandbox_spec(self, task: Task, workspace: Path, context: GradingContext) -> SandboxSpec:
        """Return the sandbox in which the tests ran, composed anew."""
        recipe = self._recipe(task)
        workspace, tests = await in_thread(laid_out, workspace, recipe.tests, context.scratch)
        environment = await context.builder.python(recipe.environment.request())
        original = await context.builder.source(recipe.graded_request())
        return sandbox_to_look_around(
            LibraryUnderTest(workspace, original.path, tests, environment), context.scratch
        )

    def _verdict(
        self,
        task: Task,
        recipe: Recipe,
        execution: Execution,
        decision: Decision,
        python: str,
    ) -> Verdict:
        integrity = decision.integrity
        tampered = integrity.answer == "tampered"
        declared = _declared(task)
        of_declared = Score(numerator=min(decision.passed, declared), denominator=declared) if declared else None
        return Verdict(
            status=Status.TAMPERED if tampered else Status.GRADED,
            score=None if tampered else Score(numerator=decision.passed, denominator=decision.expected),
            scores={"of_declared": of_declared} if of_declared is not None and not tampered else {},
            facts=facts_of(execution, decision, recipe, python, declared),
            reasons=reasons_of(execution, decision, recipe.tests),
            grader=self._identity(task),
            cacheable=not (decision.timed_out or integrity.open or integrity.unsteady),
            by_time=decision.timed_out,
        )

    @override
    def check(self, task: Task) -> None:
        self._recipe(task)

    def _fresh_digest(self, task: Task) -> str | None:
        return None if self._fresh is None else self._fresh.digest(task.id)

    def _identity(self, task: Task) -> GraderIdentity:
        stands_in = self._recipe(task).environment.has_stand_in
        return GraderIdentity(
            name=self.name,
            version=VERSION,
            data_version=task.data_version,
            environment="stand-in" if stands_in else "rebuilt",
        )

    def _recipe(self, task: Task) -> Recipe:
        recipe = self._recipes.get(task.id)
        if recipe is None or recipe.frozen is None:
            from groundup.suites.nl2repobench.decisions import refusal  # for the few without a recipe

            raise refusal(task.id, "has no frozen recipe, which strict grading needs")
        return recipe


def _declared(task: Task) -> int | None:
    declared = task.metadata.get("declared")
    return declared if isinstance(declared, int) else None


class NL2RepoFullGrader(NL2RepoStrictGrader):
    """The strict grader, which checks all tests that pass: the same points, and more certainty about them."""

    name = "full"
    deep = True
