"""The grader `execution`: a prediction counts when the repository's own CI test job passes with it.

The score is 1 or 0. A job that cannot be run here, for whatever was submitted, is graded with an undefined score:
it was not executed, which is reported with the reason and counts neither way. See docs/ci.md.
"""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError, reading_submission
from groundup.domain.languages import SetupKind
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.grading.ci.records import (
    JOB_LIMITS,
    OF_TIME,
    FailureKind,
    JobFailure,
    JobOutcome,
    JobRequest,
    JobResult,
    OriginalTests,
    UnsupportedJobError,
    failure_of,
    with_hidden,
)
from groundup.grading.context import GradingContext
from groundup.languages import LANGUAGES
from groundup.registries.names import Names
from groundup.suites.base import Graded, Grader
from groundup.suites.dibench.answers import Edited, submitted
from groundup.suites.dibench.dataset import Instance, InstanceProblem
from groundup.suites.dibench.execution_files import executed_files, job_command
from groundup.suites.dibench.extra import require_extra
from groundup.suites.dibench.missed import TextScore, missed_reasons, nothing_declared, text_score
from groundup.suites.dibench.verdict_facts import (
    BY_LINE,
    Facts,
    counts_of,
    facts_of,
    scores_of,
    written_lines,
    written_substitutes,
)
from groundup.trees.writer import copy_tree, in_thread
from groundup.workflows.workflow import WorkflowError

VERSION = "14"
_ACT_MB = 256
_STAGES: Mapping[FailureKind, Stage] = {
    FailureKind.MISSING_IN_TEST: Stage.IMPORT,
    FailureKind.TESTS: Stage.TEST,
    FailureKind.TIMEOUT: Stage.TIMEOUT,
    FailureKind.LIMIT: Stage.LIMIT,
    FailureKind.NOT_RUN: Stage.TEST,
    FailureKind.PROGRAM: Stage.ENVIRONMENT,
    FailureKind.TOOLCHAIN: Stage.ENVIRONMENT,
    FailureKind.NEWER_SDK: Stage.ENVIRONMENT,
}
_OF_THE_MACHINE = frozenset({
    FailureKind.TIMEOUT, FailureKind.LIMIT, FailureKind.NETWORK, FailureKind.PROGRAM, FailureKind.TOOLCHAIN,
    FailureKind.NEWER_SDK,
})  # fmt: skip
"""Failures that another day, or a program more, may turn into something else."""
_MISSED = 3
"""Sentences on declarations, besides the job's own: a verdict has four."""
_BESIDE = ("precision", "recall", "exact F1", "fake rate")
EXECUTED = "executed"
CUTOFF = "packages until"
KIND = "failure"
PASSED_TESTS = "tests passed"
"""Names of facts."""


class ExecutionGrader(Grader):
    """Runs the CI job that the instance names."""

    name = "execution"
    version = VERSION
    fixed_points = False  # none where the original's own job cannot run

    def __init__(
        self,
        problems: Mapping[str, InstanceProblem],
        exclude_newer: str,
        timeout_s: float,
        names: Names | None = None,
        originals: Mapping[str, OriginalTests] | None = None,
    ) -> None:
        """Make the grader; *exclude_newer* is the setting `ci_exclude_newer`. No *names*: none is looked up.

        *originals* says how many tests pass with the original, where that is known and fewer are too few.
        """
        self._originals = originals or {}
        self._problems = problems
        self._exclude_newer = exclude_newer
        self._timeout_s = timeout_s
        self._names = names

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return what a job may use, and act."""
        return JOB_LIMITS.memory_mb + _ACT_MB

    @override
    def check(self, task: Task) -> None:
        """Raise `MissingExtraError` where this suite's own packages are not installed."""
        require_extra()

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return the instance with its answer, the masked build files, and the rules of registries and time."""
        problem = self._problems[task.id]
        masked = [problem.read(path) for path in problem.instance.build_files]
        return {
            "instance": problem.instance.digest,
            "masked": digest_of(masked),
            "exclude_newer": self.cutoff(problem.instance),
            "timeout_s": self._timeout_s,
            "original": self._originals.get(task.id),
        }

    def cutoff(self, instance: Instance) -> str | None:
        """Return the day after which registries have nothing for the job of *instance*; None: no such day."""
        if self._exclude_newer == "commit":
            return instance.known_date
        return None if self._exclude_newer == "none" else self._exclude_newer

    @override
    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Return the versions of what the job gets on this machine; none where it cannot run."""
        from groundup.grading.ci.job import versions_for

        problem = self._problems[task.id]
        try:
            return await versions_for(self._request(problem, problem.folder(), context), context, _tools(problem))
        except (WorkflowError, UnsupportedJobError, InfrastructureError):
            return {}  # grading tells why

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Run the job over the masked repository with the submission's declarations."""
        started = time.monotonic()
        problem = self._problems[task.id]
        tree = context.scratch / "repository"
        with reading_submission("the submission"):
            edited = await asyncio.to_thread(submitted, problem, submission)
            taken_back = await in_thread(_write_repository, problem, edited, tree)
        score = await text_score(problem, edited, self._names)
        # The job decides; what was missed stands beside it and counts for nothing here.
        missed = {"tests": tuple(one.as_result().but(expected=False) for one in score.names)}
        facts: Facts = {"taken back": ", ".join(taken_back)[:200] or None, CUTOFF: self.cutoff(problem.instance)}
        try:
            result = await self._run(problem, tree, context)
        except (UnsupportedJobError, WorkflowError) as error:
            return self._not_executed(task, score, str(error)).but(**missed)
        # A job that fails while a registry cannot be reached proves nothing. One that still passes counts.
        failure = failure_of(result)
        if failure is not None:
            failure = with_hidden(failure, result, self.cutoff(problem.instance))
        if failure is not None and any(trouble.startswith("network ") for trouble in result.registry_troubles):
            raise InfrastructureError(f"a registry could not be reached: {result.registry_troubles[0]}")
        graded = self._executed(task, score, result, failure, facts, time.monotonic() - started)
        return graded.but(**missed)

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return the verdict of what could not be taken in."""
        score = nothing_declared(self._problems[task.id])
        return self._verdict(task, score, Score(numerator=0, denominator=1), {EXECUTED: False}, (reason,), {})

    async def _run(self, problem: InstanceProblem, tree: Path, context: GradingContext) -> JobResult:
        from groundup.grading.ci.job import run_job

        place = GradingContext(provider=context.provider, builder=context.builder, scratch=context.scratch / "ci")
        return await run_job(self._request(problem, tree, context), place, _tools(problem))

    def _request(self, problem: InstanceProblem, tree: Path, context: GradingContext) -> JobRequest:
        instance = problem.instance
        command = job_command(instance)
        if command.job is None:
            raise WorkflowError(f"{problem.id}: act_command names no job")
        timeout_s = context.timeout_s or self._timeout_s
        return JobRequest(
            tree=tree,
            repository=(instance.metadata.full_name or problem.id).rpartition("/")[2],
            full_name=instance.metadata.full_name,
            workflow=command.workflow,
            job=command.job,
            matrix=command.matrix,
            exclude_newer=self.cutoff(instance),
            original=self._originals.get(problem.id) or OriginalTests(),
            limits=JOB_LIMITS.for_command(timeout_s, spare_s=0),
        )

    def _executed(
        self,
        task: Task,
        score: TextScore,
        result: JobResult,
        failure: JobFailure | None,
        facts: Facts,
        seconds: float,
    ) -> Graded:
        facts |= {
            EXECUTED: True,
            KIND: failure.kind.value if failure else None,
            PASSED_TESTS: result.passed_tests,
            BY_LINE: written_lines(result.lines) or None,
            "substitutes": written_substitutes(result.substitutes) or None,
            "leg": ", ".join(f"{key}: {value}" for key, value in result.leg.items())[:120] or None,
        }
        reasons = _reasons(failure, result, score) if failure is not None else ()
        timings = {**result.timings_s, "all": round(seconds, 3)}
        points = Score(numerator=float(failure is None), denominator=1)
        graded = self._verdict(task, score, points, facts, reasons, timings)
        kept = _lasts(result, failure, facts.get(CUTOFF)) and score.is_looked_up
        graded = graded.but(verdict=graded.verdict.but(cacheable=kept))
        is_certain = failure is not None and failure.kind not in OF_TIME
        return graded.but(
            is_certain=is_certain, logs={**result.logs, "ci.json": result.model_dump_json().encode()}
        )

    def _not_executed(self, task: Task, score: TextScore, why: str) -> Graded:
        reason = Reason(stage=Stage.ENVIRONMENT, message=f"not executed: {why}"[:400])
        reasons = (reason, *missed_reasons(score.names, _MISSED, reason.stage))
        return self._verdict(task, score, Score(numerator=0, denominator=0), {EXECUTED: False}, reasons, {})

    def _verdict(
        self,
        task: Task,
        score: TextScore,
        points: Score,
        facts: Facts,
        reasons: tuple[Reason, ...],
        timings: Mapping[str, float],
    ) -> Graded:
        texts = scores_of(score.counts, score.existence)
        verdict = Verdict(
            status=Status.GRADED,
            score=points,
            scores={
                "F1": score.counts.total.name_only.f1,
                **{name: texts[name] for name in _BESIDE if name in texts},
            },
            facts=facts_of(score.counts, score.existence)
            | {name: value for name, value in facts.items() if value is not None},
            counts=counts_of(score.counts),
            reasons=reasons,
            timings_s=dict(timings),
            grader=GraderIdentity(
                name=self.name, version=self.version, data_version=task.data_version, environment="rebuilt"
            ),
            by_time=any(reason.stage is Stage.TIMEOUT for reason in reasons),
            cacheable=False,
        )
        return Graded(verdict=verdict)


def _tools(problem: InstanceProblem) -> tuple[SetupKind, ...]:
    return (LANGUAGES[problem.instance.language].toolchain or "python",)


def _lasts(result: JobResult, failure: JobFailure | None, cutoff: object) -> bool:
    """Whether the job would end so on another day, too: registries gave what they had on a day of the past."""
    if cutoff is None or str(cutoff) >= f"{datetime.now(UTC):%Y-%m-%d}" or result.undated:
        return False
    if result.outcome is JobOutcome.NOT_RUN or result.registry_troubles:
        return False
    return failure is None or failure.kind not in _OF_THE_MACHINE


def _write_repository(problem: InstanceProblem, edited: Edited, tree: Path) -> tuple[str, ...]:
    """Write the masked repository with the submission's declarations; return files where more was changed."""
    files = executed_files(problem, edited)
    copy_tree(problem.folder(), tree)
    for path, content in files.contents.items():
        place = tree / path
        if content is None:
            place.unlink(missing_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)  # it may be a link
            place.write_bytes(content)
    return files.taken_back


def _reasons(failure: JobFailure, result: JobResult, score: TextScore) -> tuple[Reason, ...]:
    """Return why the job failed, and which declarations may have been the cause."""
    stage = _STAGES.get(failure.kind, Stage.INSTALL)
    where = "" if result.reason in failure.evidence else f" ({result.reason})"
    own = Reason(stage=stage, message=f"{failure.kind}: {failure.evidence}{where}"[:400])
    return (own, *missed_reasons(score.names, _MISSED, stage))
