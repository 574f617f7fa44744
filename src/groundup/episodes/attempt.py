"""One try at an attempt: a submission is made or taken in, graded whatever fails on the way, and reported.

Limits leave out what the machine kept from a guest, but tests have limits of their own, by the clock on the wall.
"""

import errno
import platform
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Self

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
from groundup.domain.limits import Repeats
from groundup.domain.steps import at_step
from groundup.domain.subjects import Outcome, Submission
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Graded, GraderIdentity, Reason, Stage, Status, Verdict
from groundup.episodes.backends import Backends
from groundup.episodes.records import AttemptStore, EpisodeResult
from groundup.grading.context import GradingContext
from groundup.grading.last_words import speaks_of_code, speaks_of_time
from groundup.models.protocol import BudgetSpentError, RequestRejectedError, UnusableModelError
from groundup.sandbox.deadlines import starvation_noted
from groundup.sandbox.rooted import RootedProvider, UnpackedImage
from groundup.store.verdict_cache import VerdictCache, code_digest
from groundup.suites.base import AtHand, ForAgents, Grader, Suite
from groundup.trees.digest import tree_digest
from groundup.trees.writer import in_thread

_NOTICED = 0.1
"""Of what ran in sandboxes, the share that was waiting for processors; less is no reason to doubt a limit."""
_HEAVY = 2 / 3
"""Everything took three times as long as it would alone: tests' own limits may have been passed."""
_BUSY = 1 / 3
"""Half as long again: a test that speaks of time may have failed for it, and no loss goes to the cache."""
_AGAIN = "grading-again"
_RESUME = "resume the run when it is quieter, or with fewer `--jobs`"
REPEATS = Repeats()
"""What is repeated for one attempt, and how often: docs/grading.md has it as a table."""


async def graded_unless_starved(grade: Callable[[str], Awaitable[Graded]]) -> Graded:
    """Return what *grade* makes of a submission, in a place of the given name; asked twice where load may decide.

    The second grading counts, and is never cached. Two that lost the same tests are a verdict, however busy the
    machine was. Raises `InfrastructureError` when it was no quieter and had another result, or, where no test is
    named, one of time.
    """
    # A limit that was passed, or a loss of points, while the machine kept the guest waiting may be the machine's
    # doing, and so may the loss of tests that are known to be a matter of milliseconds.
    first, starved = await _noted(grade, "grading")
    if not (first.repeat_alone or _is_doubtful(first, starved)):
        return first
    again, starved = await _noted(grade, _AGAIN)
    is_fair = (first.verdict.by_time and again.verdict.by_time) or starved < _HEAVY or not _mentions_time(again)
    is_named = any(test.expected for test in again.tests)
    if _is_doubtful(again, starved) and not ((is_fair or is_named) and _lost(first) == _lost(again)):
        raise InfrastructureError(
            f"the machine was too busy to tell: {_in_figures(first.verdict)}, then {_in_figures(again.verdict)}; "
            f"{_RESUME}"
        )
    facts = {**again.verdict.facts, "graded_twice": True}
    return again.but(verdict=again.verdict.but(cacheable=False, facts=facts))


async def _noted(grade: Callable[[str], Awaitable[Graded]], place: str) -> tuple[Graded, float]:
    with starvation_noted() as noted:
        graded = await grade(place)
    if noted.gave_up and graded.verdict.by_time:
        raise InfrastructureError(
            f"the machine was too busy to tell: {_in_figures(graded.verdict)}, and what ran was stopped before it "
            f"had the time of its limits; {_RESUME}"
        )
    share = round(noted.share, 3)
    if share < _NOTICED:
        return graded, share
    verdict = graded.verdict.but(
        facts={**graded.verdict.facts, "starved": share},
        cacheable=graded.verdict.cacheable
        and (share < _BUSY or graded.is_certain or not _is_loss(graded.verdict)),
    )
    return graded.but(verdict=verdict), share


def _is_doubtful(graded: Graded, starved: float) -> bool:
    if graded.verdict.by_time:
        return graded.verdict.status is Status.GRADED and starved >= _NOTICED
    if graded.is_certain:
        return False
    return _is_loss(graded.verdict) and starved >= (_BUSY if _mentions_time(graded) else _HEAVY)


def _is_loss(verdict: Verdict) -> bool:
    """Whether points are missing; 0 of 0 leaves published averages, which is a loss, too."""
    return verdict.status is Status.GRADED and verdict.score is not None and verdict.score.value != 1


def _lost(graded: Graded) -> Mapping[str, object]:
    """Return what was lost, in a form that can be compared."""
    missed = sorted(test.id for test in graded.tests if test.expected and test.outcome != "passed")
    return {"score": graded.verdict.score, "tests": missed}


def _mentions_time(graded: Graded) -> bool:
    """Whether what went wrong speaks of time, but for tests that were not late: they never ran, or lack a name."""
    missed = [test for test in graded.tests if test.expected and test.outcome != "passed"]
    words = [reason.message for reason in graded.verdict.reasons]
    for test in missed:
        if test.outcome == "missing" or speaks_of_code(test.message):
            words = [word.replace(test.id, "").replace(test.message or test.id, "") for word in words]
        elif speaks_of_time(f"{test.id} {test.message}"):
            return True
    return any(map(speaks_of_time, words))


def _in_figures(verdict: Verdict) -> str:
    """Return a score with the first reason for it: that the machine was busy hides no other cause."""
    score = verdict.score
    figures = str(score) if score else verdict.status.value
    return f"{figures} ({verdict.reasons[0].message[:200]})" if verdict.reasons else figures


Room = Callable[[], AbstractAsyncContextManager[None]]
"""What is entered before heavy work begins; a scheduler waits there for its slot."""


class Phase(Enum):
    """How far an attempt is: it decides whose fault an error is."""

    INTAKE = "intake"
    MAKING = "making"
    GRADING = "grading"


@dataclass(frozen=True)
class Grading:
    """How the submission of one attempt is graded: by what, with what, and when."""

    suite: Suite
    task: Task
    grader: Grader
    backends: Backends
    timeout_s: float | None = None
    """Overrides the recipe's test timeout."""
    room: Room = nullcontext
    index: int = 0
    """Which of the attempts at the task it is; a part of the cache's key."""
    cache: VerdictCache | None = None
    """Where the verdict is looked up; None: nowhere."""

    def context(self, scratch: Path) -> GradingContext:
        """Return a grader's tools around a new folder *scratch*."""
        scratch.mkdir()
        return self.backends.context(scratch, self.timeout_s)

    async def grade(self, tree: Path, scratch: Path) -> Graded:
        """Grade *tree* with workings in the folder *scratch*, again where a busy machine may have decided.

        Raises what `failed` turns into verdicts.
        """
        inside = await self.inside()

        async def grade(place: str) -> Graded:
            context = inside.context(scratch / place)
            # Alone the second time: a submission whose own runs keep each other waiting would never get a verdict.
            async with context.slots.alone() if place == _AGAIN else nullcontext(context.slots) as slots:
                context = replace(context, slots=slots, repeats=REPEATS)
                graded = await self.grader.grade(self.task, tree, context)
            _check_reached(graded.verdict, context)
            return graded

        return await graded_unless_starved(grade)

    async def prepare(self, scratch: Path) -> None:
        """Build and fetch what grading takes, with workings in the new folder *scratch*.

        So that no episode is played whose submission cannot be graded. Raises what a grader raises.
        """
        context = (await self.inside()).context(scratch)
        await self.grader.layers(self.task, context)
        needs = AtHand.of(self.suite).needs(self.task)
        if (source := needs.graded or needs.source) is not None:
            await context.builder.source(source)

    async def inside(self) -> Self:
        """Return it in the task's own image, where tasks have such."""
        published = AtHand.of(self.suite).published_image(self.task)
        return replace(self, backends=await self.backends.of(self.task, published))

    async def image_of_agents(self) -> UnpackedImage | None:
        """Return the task's image without its original; None where agents work in the usual sandbox.

        They do without the image, with an empty environment, and without the original's prints, for then nobody
        could say what is left of it. Raises as `Backends.of` and `image_for_agents` do.
        """
        images, told = self.backends.images, ForAgents.of(self.suite)
        if images is None or not images.unpacked or told.agent_environment(self.task) is None:
            return None
        original = told.fingerprint(self.task)
        if original is None:
            return None
        from groundup.environments.image_removal import image_for_agents  # with readers of archives

        provider = (await self.inside()).backends.provider
        assert isinstance(provider, RootedProvider), "the image is unpacked"
        names = tuple(sorted(told.withheld(self.task)))
        return await image_for_agents(provider.image, original, names, self.backends.settings)

    async def settled(self, digest: str, tree: Path, scratch: Path) -> tuple[Graded, bool]:
        """Return the verdict on the submission *digest*, which lies in *tree*, and whether the cache knew it."""
        if self.cache is None:
            return await self.grade(tree, scratch), False
        inside = await self.inside()
        key = await inside.key(digest, scratch / "layers")
        if found := self.cache.find(key):
            return found, True
        graded = await inside.grade(tree, scratch)
        self.cache.keep(key, graded)
        return graded, False

    async def key(self, digest: str, scratch: Path) -> Mapping[str, object]:
        """Return everything that decides the verdict. Limits are part of the task."""
        grader = self.grader
        context = self.context(scratch)
        layers = await grader.layers(self.task, context)
        return {
            "submission": digest,
            "task": self.task.graded_digest,
            "suite": [self.suite.name, self.suite.version],
            "grader": [grader.name, grader.version, digest_of(grader.identity(self.task))],
            "code": self.code(),
            "layers": dict(layers),
            "timeout_s": self.timeout_s,
            "sandbox": dict(self.backends.provider.identity()),
            "architecture": platform.machine(),
            "repetition": self.index,
        }

    def code(self) -> str:
        """Return the digest of the code that decides: the grader's, the builder's and the sandbox's."""
        deciding = (self.grader, self.backends.builder, self.backends.provider)
        return code_digest(*(type(one).__module__ for one in deciding))

    def failed(self, error: Exception, phase: Phase) -> tuple[Graded, bool]:
        """Return the verdict on an attempt that ended by *error*, and whether trying again soon may help.

        Raises *error* where it stops more than this attempt: a full disk, spent money, a model that cannot be
        used, and an agent that the user named and that cannot work.
        """
        match error:
            # Before `InfrastructureError`, which two of these are, too.
            case DiskFullError() | BudgetSpentError() | UnusableModelError():
                raise error
            case UsageError() if phase is Phase.MAKING:
                raise error
            case SubmissionError():
                stage = Stage.INSTALL if phase is Phase.GRADING else Stage.INTAKE
                return self.zero(stage, error)
            case TaskError():
                return self._infrastructure(f"the task is at fault: {error}", error), False
            case InfrastructureError():
                lasting = isinstance(error, MachineError | RequestRejectedError)
                return self._infrastructure(str(error), error), not lasting
            case _:
                who = "agent" if phase is Phase.MAKING else "grader"
                message = f"the {who} crashed: {type(error).__name__}: {error}"
                return self._infrastructure(message, error), False

    def zero(self, stage: Stage, error: SubmissionError) -> tuple[Graded, bool]:
        """Return a verdict of 0 for a submission that is at fault; a zero needs the task's denominator."""
        try:
            return self.grader.zero(self.task, Reason(stage=stage, message=_sentence(error))), True
        except TaskError as fault:
            return self.failed(fault, Phase.GRADING)

    def _infrastructure(self, message: str, error: Exception) -> Graded:
        verdict = Verdict(
            status=Status.INFRASTRUCTURE,
            score=None,
            reasons=(Reason(stage=Stage.ENVIRONMENT, message=_sentence(message)),),
            grader=GraderIdentity(
                name=self.grader.name,
                version=self.grader.version,
                data_version=self.task.data_version,
                environment="none",
            ),
            cacheable=False,
        )
        trace = "".join(traceback.format_exception(error)).encode(errors="backslashreplace")
        return Graded(verdict=verdict, logs={"infrastructure.log": trace})


def _check_reached(verdict: Verdict, context: GradingContext) -> None:
    """Raise `NetworkError` where points were lost and a registry did not give what the submission asked for."""
    trouble = context.unreached()
    if trouble is not None and verdict.score is not None and verdict.score.value != 1:
        raise NetworkError(
            f"points were lost while {trouble.name or 'a package'} could not be fetched: {trouble.message}"
        )


def _sentence(error: object) -> str:
    text = " ".join(str(error).encode(errors="backslashreplace").decode().split())
    return text if len(text) <= 400 else text[:397] + "..."


@contextmanager
def full_disk_named() -> Iterator[None]:
    """Raise a full disk, wherever it was met, as `DiskFullError`."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFullError(
            f"no room left on the disk ({error.filename or 'unknown place'}); free some"
        ) from error


async def attempted(
    grading: Grading,
    make: Callable[[Path, Path], Awaitable[Submission]],
    sink: AttemptStore,
    scratch: Path,
    *,
    phase: Phase = Phase.INTAKE,
    makes_only: bool = False,
    anew: bool = False,
) -> EpisodeResult:
    """Return what came of one try; a failure is a result too. Raises only what stops other attempts as well.

    *make* writes the submission into the empty folder that comes first, and works in the second. It raises
    `SubmissionError` for one that cannot be taken in; otherwise what `Grading.failed` knows. *phase*: whether it
    takes one in that exists or has an agent make one. *scratch* is an empty folder that the caller removes.
    *makes_only*: end before grading. *anew*: make a submission that is there again.
    """
    # `phase` and `submission` say in the handler below how far it came, and so who is to blame.
    submission: Submission | None = None
    try:
        with full_disk_named():
            submission = None if anew else await _made(sink)
            if submission is None and phase is Phase.MAKING and not makes_only:
                # What cannot be graded here is not made: an agent's work may cost hours and money.
                await grading.prepare(scratch / "prepared")
            if submission is None:
                at_step("taking in" if phase is Phase.INTAKE else "at work")
                with sink.incoming() as destination:
                    submission = await make(destination, scratch)
                sink.write_record(submission)
            phase = Phase.GRADING
            if makes_only:
                return EpisodeResult(outcome=submission.outcome, submission=submission)
            at_step("waiting for a place")
            async with grading.room():
                at_step("grading")
                graded, cached = await grading.settled(submission.digest, sink.submission, scratch)
    except Exception as error:  # noqa: BLE001 - the attempt boundary: a bug must not end the other attempts
        graded, repeatable = grading.failed(error, phase)
        outcome = submission.outcome if submission else Outcome.SUBMITTED
        if phase is Phase.MAKING and graded.verdict.status is Status.INFRASTRUCTURE:
            outcome = Outcome.INFRASTRUCTURE
        return EpisodeResult(outcome=outcome, submission=submission, graded=graded, repeatable=repeatable)
    return EpisodeResult(outcome=submission.outcome, submission=submission, graded=graded, cached=cached)


async def _made(sink: AttemptStore) -> Submission | None:
    """Return what an earlier try made. Raises `MachineError` where its record is not of what lies there."""
    made, tree = sink.made(), sink.submission
    if made is not None and (await in_thread(tree_digest, tree)).digest != made.digest:
        raise MachineError(
            f"{tree} was changed after it was handed in: its digest is another one; restore it, or remove the "
            "folder that it lies in"
        )
    return made
