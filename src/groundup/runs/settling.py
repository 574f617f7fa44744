"""What a run does with each attempt: it hands the episode its means, and the writer what comes of it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from groundup.domain.errors import InfrastructureError
from groundup.domain.subjects import AttemptKey, Outcome, Submission
from groundup.episodes.attempt import Grading, Phase, Room, attempted
from groundup.episodes.backends import Backends
from groundup.episodes.records import EpisodeResult
from groundup.models.protocol import ChatModel
from groundup.runs.fleets import Fleet
from groundup.runs.plan import RunPlan
from groundup.runs.submissions import AgentSource, SubmissionSource
from groundup.store.folder import RunWriter
from groundup.store.records import VerdictLine
from groundup.store.verdict_cache import VerdictCache
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What the attempts of one start of a run have in common, whether the run or a server's client begins them."""

    plan: RunPlan
    writer: RunWriter
    backends: Backends
    start: int
    """The number of this process among those that worked on the run."""
    warn: Callable[[str], None]
    admitted: Callable[[int], AbstractAsyncContextManager[None]] | None = None
    """Where gradings wait for their turn, by the memory that they reserve; None: they need not."""
    fleet: Fleet | None = None
    """Where submissions are graded; None: here."""
    builder: str = ""
    """What builds environments on the fleet's nodes."""
    cache: VerdictCache | None = None
    """Where verdicts are looked up; None: nowhere."""
    model: ChatModel | None = None
    """What the run's agent asks; None: it has none, or submissions are brought."""
    making: Callable[[int], AbstractAsyncContextManager[None]] | None = None
    """Where agents wait for their turn, by the memory that they reserve; None: they need not."""
    makes_only: bool = False
    """Whether submissions are made now, and graded by a later start."""
    keeps: bool = False
    """Whether graders' scratch folders are kept."""
    says: Callable[[AttemptKey, str], None] | None = None
    """Takes the end of what the model of an attempt says just now; empty: nothing."""

    def grading(self, key: AttemptKey) -> Grading:
        """Return how the submission of an attempt is graded."""
        plan, task, how = self.plan, self.plan.tasks[key.task], self.plan.configuration
        room = _room(self.admitted, plan.grader.reservation_mb(task))
        here = Grading(
            plan.suite,
            task,
            plan.grader,
            self.backends,
            how.timeout_s,
            room,
            index=key.index,
            cache=self.cache,
        )
        if self.fleet is None:
            return here
        return self.fleet.graded_there(here, plan.episode(key), how.sandbox, self.builder)

    async def settle(self, key: AttemptKey, number: int) -> tuple[VerdictLine | None, bool]:
        """Try *key* for the time *number*; return its line as recorded, and whether trying again soon may help.

        The line is None when the submission is made and not graded now. Raises what stops the whole run; then
        nothing was recorded.
        """
        began_at = datetime.now(UTC)
        if not self.plan.source.holds(key):
            return self.record(key, EpisodeResult(outcome=Outcome.NOT_ATTEMPTED), number, began_at), True
        async with self._scratch(key) as scratch:
            grading = self.grading(key)
            result = await attempted(
                grading,
                self._making(key, grading),
                self.writer.attempt(key),
                scratch,
                phase=Phase.MAKING if isinstance(self.plan.source, AgentSource) else Phase.INTAKE,
                makes_only=self.makes_only,
            )
            if result.graded is None:
                return None, False
            # Before the next await: a ^C that comes while the scratch folder goes costs no verdict.
            return self.record(key, result, number, began_at), result.repeatable

    def record(self, key: AttemptKey, result: EpisodeResult, number: int, began_at: datetime) -> VerdictLine:
        """Write what the try *number* of an attempt came to, and return its line; blocks."""
        submission, graded = result.submission, result.graded
        line = VerdictLine(
            attempt=key,
            outcome=result.outcome,
            submission=submission.digest if submission else None,
            verdict=graded.verdict if graded else None,
            effort=submission.effort if submission else None,
            try_number=number,
            start=self.start,
            cached=result.cached,
            started_at=began_at,
            finished_at=datetime.now(UTC),
        )
        self.writer.record(line, graded.tests if graded else (), graded.logs if graded else {})
        return line

    def made(self, key: AttemptKey) -> Submission | None:
        """Return the record of what an earlier try took in or made."""
        return self.writer.attempt(key).made()

    def _making(self, key: AttemptKey, grading: Grading) -> Callable[[Path, Path], Awaitable[Submission]]:
        source, task = self.plan.source, grading.task
        if not isinstance(source, AgentSource):
            assert isinstance(source, SubmissionSource)
            brought = source

            async def taken_in(tree: Path, scratch: Path) -> Submission:
                return await brought.take_in(task, key, tree, grading.context(scratch / "intake"))

            return taken_in
        from groundup.episodes.episode import Playing

        there = self.fleet if self.fleet is not None and self.fleet.agents_on_nodes else None
        playing = Playing(
            self.plan.episode(key),
            grading,
            self.writer.attempt(key),
            source.agent,
            self.model,
            room=_room(self.making, source.agent.reservation_mb(task) if there is None else 0),
            saying=lambda text: self._said(key, text),
        )
        if there is not None:
            playing = there.made_there(playing, (source.spec.agent, source.spec.options))
        return playing.make

    def _said(self, key: AttemptKey, text: str) -> None:
        with suppress(OSError, InfrastructureError):  # only for those who look on
            self.writer.attempt(key).saying(text)
        if self.says is not None:
            self.says(key, text)

    @asynccontextmanager
    async def _scratch(self, key: AttemptKey) -> AsyncIterator[Path]:
        """Yield an empty folder; afterwards it is kept in the attempt's folder or removed."""
        scratch = self.writer.scratch(key)
        try:
            yield scratch
        finally:
            try:
                if self.keeps:
                    self.writer.attempt(key).keep(scratch)
                else:
                    await in_thread(remove_tree, scratch)
            except InfrastructureError as error:
                self.warn(f"{key}: {error}")


def _room(enter: Callable[[int], AbstractAsyncContextManager[None]] | None, reservation_mb: int) -> Room:
    return nullcontext if enter is None else lambda: enter(reservation_mb)
