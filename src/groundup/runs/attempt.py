"""One attempt from the submission to its verdict line. The attempt boundary: whatever fails inside is recorded."""

import errno
import platform
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.domain.errors import (
    DiskFullError,
    InfrastructureError,
    MachineError,
    NetworkError,
    SubmissionError,
    TaskError,
    UsageError,
)
from groundup.domain.limits import Effort
from groundup.domain.subjects import AttemptKey, Outcome, Submission
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Stage, Status, Verdict
from groundup.grading.bench import Bench
from groundup.models.protocol import BudgetSpentError, RequestRejectedError, UnusableModelError
from groundup.runs.equipment import Equipment
from groundup.runs.fairness import fairly_graded
from groundup.runs.generation import Generation
from groundup.runs.interrupts import in_thread
from groundup.runs.options import RunOptions
from groundup.runs.plan import RunPlan
from groundup.runs.scheduler import Stages
from groundup.runs.submissions import SubmissionSource
from groundup.store.folder import RunWriter
from groundup.store.records import VerdictLine
from groundup.store.verdict_cache import VerdictCache
from groundup.suites.base import Graded, Layered
from groundup.trees.removal import remove_tree


@dataclass(frozen=True)
class RunContext:
    """What every attempt of one start of a run has in common."""

    plan: RunPlan
    writer: RunWriter
    equipment: Equipment
    cache: VerdictCache | None
    options: RunOptions
    start: int
    warn: Callable[[str], None]
    generation: Generation | None = None
    """What makes submissions; None where they are brought."""
    stages: Stages | None = None
    """Where making and grading wait for their turn; None where whole attempts do."""


class AttemptTry:
    """One try at settling one attempt."""

    def __init__(self, workplace: RunContext, key: AttemptKey, try_number: int) -> None:
        self._at = workplace
        self._key = key
        self._try = try_number
        self._task: Task = workplace.plan.tasks[key.task]
        self._folder = workplace.writer.folder.attempt(key)
        self._submission: Submission | None = None
        self._cached = False
        self.repeatable = True
        """Whether trying again soon may help when it did not settle."""

    async def settle(self) -> VerdictLine | None:
        """Grade the submission and record what came out; None when it is not to be graded now.

        Raises `DiskFullError`, and what keeps the run from making anything: `BudgetSpentError`,
        `UnusableModelError`, `UsageError`. Then nothing was recorded.
        """
        started_at = datetime.now(UTC)
        if self._at.plan.source.holds(self._key):
            graded = await self._graded()
            if graded is None:
                return None
            # No await from here on: what was graded is recorded even when a ^C comes in between.
            again = None if graded.verdict.settles else self._try
            self._folder.write_evidence(graded.tests, graded.logs, again=again)
        else:
            graded = None
        line = self._line(graded, started_at)
        self._at.writer.append(line)
        return line

    def _line(self, graded: Graded | None, started_at: datetime) -> VerdictLine:
        if graded is None:
            outcome = Outcome.NOT_ATTEMPTED
        elif self._making and graded.verdict.status is Status.INFRASTRUCTURE:
            outcome = Outcome.INFRASTRUCTURE
        else:
            outcome = self._submission.outcome if self._submission else Outcome.SUBMITTED
        return VerdictLine(
            attempt=self._key,
            outcome=outcome,
            submission=self._submission.digest if self._submission else None,
            verdict=graded.verdict if graded else None,
            effort=_told(self._submission.effort) if self._submission else None,
            try_number=self._try,
            start=self._at.start,
            cached=self._cached,
            started_at=started_at,
            finished_at=datetime.now(UTC),
        )

    async def _graded(self) -> Graded | None:
        scratch = self._at.writer.scratch(self._key)
        try:
            with _disk_full_told():
                return await self._judged(scratch)
        except (DiskFullError, BudgetSpentError, UnusableModelError):
            raise  # the attempt cannot go on, and nobody is to blame
        except SubmissionError as error:
            stage = Stage.INTAKE if self._submission is None else Stage.INSTALL
            return self._zero(Reason(stage=stage, message=_sentence(error)))
        except TaskError as error:
            self.repeatable = False
            return self._infrastructure(f"the task is at fault: {error}", error)
        except InfrastructureError as error:
            self.repeatable = not isinstance(error, MachineError | RequestRejectedError)
            return self._infrastructure(str(error), error)
        except Exception as error:  # the attempt boundary: one grader's bug must not end the other attempts
            if isinstance(error, UsageError) and self._making:
                raise  # what the user named cannot work, so no attempt of the run can
            self.repeatable = False
            who = "the agent" if self._making else "the grader"
            return self._infrastructure(f"{who} crashed: {type(error).__name__}: {error}", error)
        finally:
            await self._put_away(scratch)

    @property
    def _making(self) -> bool:
        """Whether there is no submission yet that an agent is to make."""
        return self._submission is None and self._at.generation is not None

    async def _judged(self, scratch: Path) -> Graded | None:
        self._submission = self.taken_in() or await self._take_in(scratch)
        if self._at.options.generate_only and self._at.generation is not None:
            return None
        async with self._turn_to_grade():
            return await self._looked_up(scratch, self._submission)

    async def _looked_up(self, scratch: Path, submission: Submission) -> Graded:
        cache = self._at.cache
        if cache is None:
            return await self._grade(scratch, self._folder.submission)
        bench = self._bench(scratch / "layers")
        key = await self._cache_key(submission, bench)
        if found := cache.find(key):
            self._cached = True
            return Graded(verdict=found.verdict, tests=found.tests)
        graded = await self._grade(scratch, self._folder.submission)
        cache.keep(key, graded.verdict, graded.tests)
        return graded

    async def _grade(self, scratch: Path, tree: Path) -> Graded:
        async def grade(place: str) -> Graded:
            bench = self._bench(scratch / place)
            graded = await self._at.plan.grader.grade(self._task, tree, bench)
            _check_reached(graded.verdict, bench)
            return graded

        return await fairly_graded(grade)

    def taken_in(self) -> Submission | None:
        """Return the record of what an earlier try took in or made."""
        return self._folder.made()

    async def _take_in(self, scratch: Path) -> Submission:
        source, generation = self._at.plan.source, self._at.generation
        with self._folder.incoming() as destination:
            if generation is None:
                assert isinstance(source, SubmissionSource)
                bench = self._bench(scratch / "intake")
                submission = await source.take_in(self._task, self._key, destination, bench)
            else:
                submission = await self._make(generation, scratch, destination)
        self._folder.write_record(submission)
        return submission

    async def _make(self, generation: Generation, scratch: Path, destination: Path) -> Submission:
        stages = self._at.stages
        turn = stages.making.entered(generation.reservation_mb(self._task)) if stages else nullcontext()
        gradings = count(1)

        async def grade(tree: Path) -> Verdict:
            room = scratch / f"shown-{next(gradings)}"
            room.mkdir()
            try:
                async with self._turn_to_grade():
                    return (await self._grade(room, tree)).verdict
            except SubmissionError as error:
                return self._zero(Reason(stage=Stage.INSTALL, message=_sentence(error))).verdict
            finally:
                await in_thread(lambda: remove_tree(room))

        async with turn:
            bench = self._bench(scratch / "intake")
            return await generation.make(self._task, self._key, self._folder, destination, (bench, grade))

    def _turn_to_grade(self) -> AbstractAsyncContextManager[None]:
        stages = self._at.stages
        return stages.grading.entered(self._at.plan.grader.reservation_mb(self._task)) if stages else nullcontext()

    def _bench(self, scratch: Path) -> Bench:
        scratch.mkdir()
        return self._at.equipment.bench(scratch, self._at.plan.configuration.timeout_s)

    async def _cache_key(self, submission: Submission, bench: Bench) -> Mapping[str, object]:
        """Return everything that decides the verdict. Limits are part of the task."""
        plan = self._at.plan
        grader = plan.grader
        layers = await grader.layers(self._task, bench) if isinstance(grader, Layered) else {}
        return {
            "submission": submission.digest,
            "task": self._task.graded_digest,
            "suite": [plan.suite.name, plan.suite.version],
            "grader": [grader.name, grader.version, digest_of(grader.identity(self._task))],
            "layers": dict(layers),
            "timeout_s": plan.configuration.timeout_s,
            "sandbox": dict(self._at.equipment.provider.identity()),
            "architecture": platform.machine(),
            "repetition": self._key.index,
        }

    async def _put_away(self, scratch: Path) -> None:
        try:
            if self._at.options.keep:
                self._folder.keep(scratch)
            else:
                await in_thread(lambda: remove_tree(scratch))
        except InfrastructureError as error:
            self._at.warn(f"{self._key}: {error}")

    def _zero(self, reason: Reason) -> Graded:
        try:
            return self._at.plan.grader.zero(self._task, reason)
        except TaskError as error:  # even a zero needs a denominator
            self.repeatable = False
            return self._infrastructure(f"the task is at fault: {error}", error)

    def _infrastructure(self, message: str, error: Exception) -> Graded:
        grader = self._at.plan.grader
        verdict = Verdict(
            status=Status.INFRASTRUCTURE,
            score=None,
            reasons=(Reason(stage=Stage.ENVIRONMENT, message=_sentence(message)),),
            grader=GraderIdentity(
                name=grader.name,
                version=grader.version,
                data_version=self._task.data_version,
                environment="none",
            ),
            cacheable=False,
        )
        trace = "".join(traceback.format_exception(error)).encode(errors="backslashreplace")
        return Graded(verdict=verdict, logs={"infrastructure.log": trace})


def _check_reached(verdict: Verdict, bench: Bench) -> None:
    """Raise `NetworkError` where points were lost and a registry did not give what the submission asked for."""
    trouble = bench.unreached()
    if trouble is not None and verdict.score is not None and verdict.score.value != 1:
        raise NetworkError(
            f"points were lost while {trouble.name or 'a package'} could not be fetched: {trouble.message}"
        )


def _told(effort: Effort | None) -> Effort | None:
    """Return *effort* as a verdict line has it, which is short; all of its words are in `submission.json`."""
    return effort and effort.model_copy(update={"detail": effort.detail[:120]})


def _sentence(error: object) -> str:
    text = " ".join(str(error).encode(errors="backslashreplace").decode().split())
    return text if len(text) <= 400 else text[:397] + "..."


@contextmanager
def _disk_full_told() -> Iterator[None]:
    """Name a full disk, wherever it was met."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFullError(
            f"no room left on the disk ({error.filename or 'unknown place'}); free some"
        ) from error
