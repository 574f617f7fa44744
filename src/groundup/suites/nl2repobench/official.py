"""The official grader: the published evaluator step by step, faults included, in a rebuilt environment.

Its numbers can be compared with published ones; their faults are in docs/nl2repobench.md. Joins the rules
(`official_rules`), the container's workspace, its environment and its commands into a verdict.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError, reading_submission
from groundup.domain.names import printable
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.environments.requests import PythonEnvironment
from groundup.grading.context import GradingContext
from groundup.grading.last_words import middle_cut
from groundup.sandbox.protocol import Ending, SandboxSpec
from groundup.suites.base import Graded, Grader
from groundup.suites.nl2repobench.official_environment import (
    Installs,
    LaidOut,
    environment_request,
    lay_out,
    published_spec,
    run_published,
)
from groundup.suites.nl2repobench.official_rules import PytestCounts, Ran, count, success_rate
from groundup.suites.nl2repobench.published import PublishedTask
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe, expected_seconds

VERSION = "1"
_LEAST_RESERVATION_MB = 512
"""pip and what it builds with need about this much."""
_LOG_BYTES = 256 * 1024


class NL2RepoOfficialGrader(Grader):
    """Does with a submission what the published evaluator does, and counts what its commands print."""

    name = "official"
    version = VERSION

    def __init__(
        self, recipes: Mapping[str, Recipe], published: Mapping[str, PublishedTask], installs: Installs = "open"
    ) -> None:
        self._recipes = recipes
        self._published = published
        self._installs: Installs = installs

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return the peak that the recipe recorded, with a margin, and room for pip."""
        recipe = self._recipes.get(task.id)
        if recipe is None or recipe.frozen is None or recipe.frozen.peak_memory_mb is None:
            return task.limits.memory_mb
        return min(recipe.tests.memory_mb, max(_LEAST_RESERVATION_MB, int(recipe.frozen.peak_memory_mb * 1.5)))

    @override
    def expected_s(self, task: Task) -> float:
        """Return how long the tests took when the recipe was frozen."""
        return expected_seconds(self._recipes.get(task.id))

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what decides a verdict besides the submission."""
        recipe, run = self._recipes.get(task.id), self._run(task)
        return {
            "recipe": None if recipe is None else digest_of(recipe),
            "published": None if run is None else digest_of(run),
            "installs": self._installs,
            "data_version": task.data_version,
        }

    @override
    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Return the layer of the environment with pip."""
        environment = await context.builder.python(environment_request(self._recipe(task)))
        return {environment.layer.kind: environment.layer.digest}

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Delete, lay over, run, count."""
        recipe, run, declared = self._recipe(task), self._commands(task), _declared(task)
        began = time.monotonic()
        environment = await context.builder.python(environment_request(recipe))
        original = await context.builder.source(recipe.source_request())
        prepared = time.monotonic()
        with reading_submission("the submission"):
            laid = await asyncio.to_thread(lay_out, submission, original.path, recipe.tests, run, context.scratch)
        ran: tuple[Ran, ...] = ()
        if laid.refused is None:
            spec = await asyncio.to_thread(
                published_spec, laid.workspace, recipe, len(run.commands), environment, context
            )
            ran = await run_published(spec, recipe, run.commands, self._installs, context)
        verdict = _verdict(task, declared, laid, ran, environment)
        timings = {
            "environment": round(prepared - began, 3),
            "commands": round(sum(one.duration_s for one in ran), 3),
            "total": round(time.monotonic() - began, 3),
        }
        return Graded(verdict=verdict.but(timings_s=timings), logs=_logs(laid, ran))

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return 0 over the declared count, for a submission that could not be taken in."""
        declared = _declared(task)
        return Graded(
            verdict=Verdict(
                status=Status.GRADED,
                score=Score(numerator=0, denominator=declared),
                facts={"declared": declared, "passed": 0},
                reasons=(reason,),
                grader=_identity(task),
            )
        )

    @override
    async def sandbox_spec(self, task: Task, workspace: Path, context: GradingContext) -> SandboxSpec:
        """Return the sandbox in which the commands ran, laid out anew; without a way to the package index."""
        recipe, run = self._recipe(task), self._commands(task)
        environment = await context.builder.python(environment_request(recipe))
        original = await context.builder.source(recipe.source_request())
        laid = lay_out(workspace, original.path, recipe.tests, run, context.scratch)
        spec = published_spec(laid.workspace, recipe, len(run.commands), environment, context)
        limits = spec.limits.but(command_s=24 * 3600.0, wall_clock_s=24 * 3600.0)
        return spec.but(limits=limits)

    @override
    def check(self, task: Task) -> None:
        """Ask for a locked environment and for the published commands."""
        self._recipe(task)
        self._commands(task)

    def _recipe(self, task: Task) -> Recipe:
        recipe = self._recipes.get(task.id)
        if recipe is None or not recipe.environment.lock:
            raise TaskError(
                f"{task.id} has no recipe to rebuild its environment by; make one with "
                f"`groundup recipe build {task.id}`"
            )
        return recipe

    def _run(self, task: Task) -> PublishedRun | None:
        published, recipe = self._published.get(task.id), self._recipes.get(task.id)
        known = None if recipe is None else recipe.published
        if published is None:
            return known
        given = {"commands": published.commands, "test_files": published.test_files}
        return PublishedRun(**given) if known is None else known.but(**given)

    def _commands(self, task: Task) -> PublishedRun:
        run = self._run(task)
        if run is None:
            raise TaskError(
                f"this machine has no published commands of {task.id}; fetch them with "
                "`groundup data pull nl2repobench`"
            )
        return run


def _verdict(
    task: Task, declared: int, laid: LaidOut, ran: Sequence[Ran], environment: PythonEnvironment
) -> Verdict:
    counts = count([one.said for one in ran])
    facts: dict[str, str | int | float | bool | None] = {
        "declared": declared,
        "passed": counts.passed,
        "failed": counts.failed,
        "errors": counts.errors,
        "rate": success_rate(counts.passed, declared),
        "deleted": len(laid.deleted),
        "exit_codes": " ".join(str(one.said.exit_code) for one in ran),
        "python": environment.python_version,
    }
    if any(one.truncated for one in ran):
        facts["output_cut"] = True
    by_time = any(one.ending.is_out_of_time for one in ran)
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=min(counts.passed, declared), denominator=declared),
        facts=facts,
        reasons=_reasons(laid, ran, counts, declared),
        grader=_identity(task),
        cacheable=not by_time,
        by_time=by_time,
    )


def _reasons(laid: LaidOut, ran: Sequence[Ran], counts: PytestCounts, declared: int) -> tuple[Reason, ...]:
    """Say what went wrong on the way; it does not decide the score."""
    if laid.refused is not None:
        return (Reason(stage=Stage.INTAKE, message=f"the published evaluator gives up: {laid.refused}"[:400]),)
    reasons = []
    for one in ran:
        command = printable(one.said.command)[:80]
        if one.ending.is_out_of_time:
            reasons.append(Reason(stage=Stage.TIMEOUT, message=f"`{command}` was ended after its time"))
        elif one.ending is not Ending.EXITED:
            reasons.append(Reason(stage=Stage.LIMIT, message=f"`{command}` was ended: {one.ending}"))
        elif one.said.exit_code and "pytest" not in one.said.command:
            message = f"`{command}` ended with {one.said.exit_code}, which changes nothing"
            reasons.append(Reason(stage=Stage.INSTALL, message=message))
        elif one.said.exit_code:
            message = (
                f"`{command}` ended with {one.said.exit_code}: {counts.failed} failed, {counts.errors} errors"
            )
            reasons.append(Reason(stage=Stage.TEST, message=message))
    if counts.passed < declared and not reasons:
        message = f"{counts.passed} tests passed and no command failed, but {declared} are declared"
        reasons.append(Reason(stage=Stage.TEST, message=message))
    return tuple(reasons[:4])


def _logs(laid: LaidOut, ran: Sequence[Ran]) -> dict[str, bytes]:
    """Return what each command printed, as the evaluator reads it, and what was deleted."""
    logs = {"deleted.txt": "".join(f"{printable(path)}\n" for path in laid.deleted).encode()}
    for number, one in enumerate(ran, 1):
        text = middle_cut(one.said.output.encode(errors="replace"), _LOG_BYTES)
        logs[f"command-{number}.txt"] = f"$ {one.said.command}\n".encode() + text
    return logs


def _declared(task: Task) -> int:
    declared = task.metadata.get("declared")
    if not isinstance(declared, int):
        raise TaskError(
            f"{task.id} has no declared count in data version {task.data_version}, which official grading "
            "divides by; fetch it with `groundup data pull nl2repobench`"
        )
    return declared


def _identity(task: Task) -> GraderIdentity:
    return GraderIdentity(
        name=NL2RepoOfficialGrader.name, version=VERSION, data_version=task.data_version, environment="rebuilt"
    )
