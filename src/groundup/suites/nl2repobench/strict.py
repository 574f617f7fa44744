"""The strict grader: what the score should have been. See docs/grading.md.

Joins a recipe, an environment and a run of the hidden tests into a verdict; what a run is worth is decided in
`grading.library.decision`.
"""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_bytes, digest_of
from groundup.domain.errors import TaskError
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Status, TestResult, Verdict
from groundup.environments.requests import PythonEnvironment
from groundup.grading.context import GradingContext
from groundup.grading.library.execution import sandbox_to_look_around
from groundup.grading.library.false_forms import suite_of_layer
from groundup.grading.library.hidden import LibraryUnderTest
from groundup.grading.library.layout import with_own_roots, with_version_file
from groundup.inside import source_of
from groundup.sandbox.protocol import SandboxSpec
from groundup.suites.base import Graded, Grader
from groundup.suites.nl2repobench.freshening import FreshLookup, beside, shipped_fresh, with_fresh_inputs
from groundup.suites.nl2repobench.recipe import Recipe, expected_seconds
from groundup.suites.nl2repobench.strict_run import Judged, facts_of, judge, reasons_of

VERSION = "2"
_LEAST_RESERVATION_MB = 128
_SUPERVISION_MB = 64


class NL2RepoStrictGrader(Grader):
    """Runs the original's tests over a submission by the task's recipe, and counts the expected ones that pass."""

    name = "strict"
    version = VERSION
    deep = False
    """Whether all tests that pass are checked, and not a sample."""

    def __init__(self, recipes: Mapping[str, Recipe], fresh: FreshLookup = shipped_fresh) -> None:
        """Make the grader; *fresh* returns a task's fresh inputs, where there are some."""
        self._recipes = recipes
        self._fresh = fresh

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return the peak that the recipe recorded, with a margin; the sandbox's limit if unknown."""
        recipe = self._recipes.get(task.id)
        if recipe is None:
            return task.limits.memory_mb
        if recipe.frozen is None or recipe.frozen.peak_memory_mb is None:
            return recipe.tests.memory_mb
        peak = int(recipe.frozen.peak_memory_mb * 1.5) + _SUPERVISION_MB
        return min(recipe.tests.memory_mb, max(_LEAST_RESERVATION_MB, peak))

    @override
    def expected_s(self, task: Task) -> float:
        """Return how long the tests took when the recipe was frozen."""
        return expected_seconds(self._recipes.get(task.id))

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what decides a verdict besides the submission."""
        recipe, fresh = self._recipes.get(task.id), self._fresh(task.id)
        return {
            "recipe": None if recipe is None else digest_of(recipe),
            "layouts": 1,
            "runner": digest_bytes(source_of("runner.py") + source_of("failing.py")),
            "data_version": task.data_version,
            **({} if fresh is None else {"fresh": digest_of(fresh)}),
        }

    @override
    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Return the layer of the recipe's environment; its digest covers the interpreter's micro version."""
        environment = await context.builder.python(self._recipe(task).environment.request())
        return {environment.layer.kind: environment.layer.digest}

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Compose, run, decide."""
        recipe = await asyncio.to_thread(_for_layout_of, submission, self._recipe(task))
        began = time.monotonic()
        environment = await context.builder.python(recipe.environment.request())
        original = await context.builder.source(recipe.source_request())
        prepared = time.monotonic()
        kept = original.path, recipe.tests.protected, recipe.expected
        suite = await asyncio.to_thread(suite_of_layer, *kept)
        library = LibraryUnderTest(submission, original.path, recipe.tests, environment)
        judged = await judge(library, recipe, context, suite=suite, deep=self.deep)
        verdict = self._verdict(task, recipe, judged, environment)
        fresh = self._fresh(task.id)
        # Beside the verdict, never part of it: what is tampered with already needs no further sign.
        if fresh is not None and verdict.status is Status.GRADED:
            seen = await with_fresh_inputs(fresh, judged.decision, library, suite, context)
            verdict = beside(verdict, seen)
        timings = {
            "environment": round(prepared - began, 3),
            "tests": round(judged.execution.result.duration_s, 3),
            "total": round(time.monotonic() - began, 3),
        }
        return Graded(
            verdict=verdict.but(timings_s=timings),
            tests=judged.results(),
            logs=judged.logs(),
            repeat_alone=judged.may_be_noise(recipe.tests.timed),
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
        recipe = await asyncio.to_thread(_for_layout_of, workspace, self._recipe(task))
        environment = await context.builder.python(recipe.environment.request())
        original = await context.builder.source(recipe.source_request())
        return sandbox_to_look_around(
            LibraryUnderTest(workspace, original.path, recipe.tests, environment), context.scratch
        )

    def _verdict(
        self,
        task: Task,
        recipe: Recipe,
        judged: Judged,
        environment: PythonEnvironment,
    ) -> Verdict:
        decision, integrity = judged.decision, judged.integrity
        tampered = integrity.answer == "tampered"
        declared = _declared(task)
        of_declared = Score(numerator=min(decision.passed, declared), denominator=declared) if declared else None
        return Verdict(
            status=Status.TAMPERED if tampered else Status.GRADED,
            score=None if tampered else Score(numerator=decision.passed, denominator=decision.expected),
            scores={"of_declared": of_declared} if of_declared is not None and not tampered else {},
            facts=facts_of(judged, recipe, environment, declared),
            reasons=reasons_of(judged),
            grader=self._identity(task),
            cacheable=not (decision.timed_out or integrity.open or integrity.unsteady),
            by_time=decision.timed_out,
        )

    @override
    def check(self, task: Task) -> None:
        """Ask for a frozen recipe."""
        self._recipe(task)

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
            raise TaskError(
                f"{task.id} has no frozen recipe, which strict grading needs; make one with "
                f"`groundup recipe build {task.id}` (see docs/recipes.md)"
            )
        return recipe


def _for_layout_of(submission: Path, recipe: Recipe) -> Recipe:
    tests = with_version_file(submission, with_own_roots(submission, recipe.tests))
    return recipe.but(tests=tests)


def _declared(task: Task) -> int | None:
    declared = task.metadata.get("declared")
    return declared if isinstance(declared, int) else None


class NL2RepoFullGrader(NL2RepoStrictGrader):
    """The strict grader, which checks all tests that pass: the same points, and more certainty about them."""

    name = "full"
    deep = True
