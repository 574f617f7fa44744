"""What a run does with each attempt: it hands the episode its means, and the writer what comes of it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import InfrastructureError
from groundup.domain.subjects import AttemptKey, Outcome, Submission
from groundup.episodes.attempt import Grading, Maker, Phase, attempted
from groundup.episodes.backends import Backends
from groundup.episodes.records import EpisodeResult
from groundup.runs.fleets import Fleet
from groundup.runs.generation import Generation
from groundup.runs.plan import RunOptions, RunPlan
from groundup.runs.scheduler import Stages
from groundup.runs.submissions import SubmissionSource
from groundup.store.folder import RunWriter
from groundup.store.records import VerdictLine
from groundup.store.verdict_cache import VerdictCache
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread


@dataclass(frozen=True)
class RunContext:
    """What every attempt of one start of a run has in common, whether the run or a server's client begins it."""

    plan: RunPlan
    writer: RunWriter
    backends: Backends
    start: int
    """The number of this process among those that worked on the run."""
    admitted: Callable[[int], AbstractAsyncContextManager[None]] | None = None
    """Where gradings wait for their turn, by the memory that they reserve; None: they need not."""
    fleet: Fleet | None = None
    """Where submissions are graded; None: here."""
    builder: str = ""
    """What builds environments on the fleet's nodes."""

    def grading(self, key: AttemptKey) -> Grading:
        """Return how submissions of an attempt are graded."""
        plan, task, how = self.plan, self.plan.tasks[key.task], self.plan.configuration
        admitted, reservation_mb = self.admitted, plan.grader.reservation_mb(task)
        room = nullcontext if admitted is None else lambda: admitted(reservation_mb)
        here = Grading(plan.suite, task, plan.grader, self.backends, how.timeout_s, room)
        if self.fleet is None:
            return here
        return self.fleet.graded_there(here, plan.episode(key), how.sandbox, self.builder)

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


class Attempts(NamedTuple):
    """How a run makes and grades its attempts."""

    run: RunContext
    cache: VerdictCache | None
    options: RunOptions
    warn: Callable[[str], None]
    says: Callable[[AttemptKey, str], None]
    """Takes the end of what the model of an attempt says just now; empty: nothing."""
    generation: Generation | None = None
    """What makes submissions; None where they are brought."""
    stages: Stages | None = None
    """Where making and grading wait for their turn; None where whole attempts do."""

    async def settle(self, key: AttemptKey, number: int) -> tuple[VerdictLine | None, bool]:
        """Try *key* for the time *number*; return its line as recorded, and whether trying again soon may help.

        The line is None when the submission is made and not graded now. Raises what stops the whole run; then
        nothing was recorded.
        """
        began_at = datetime.now(UTC)
        if self.run.plan.source.holds(key):
            async with self._scratch(key) as scratch:
                grading = self.run.grading(key)
                result = await attempted(
                    grading,
                    self._maker(key, grading),
                    self.run.writer.attempt(key),
                    scratch,
                    index=key.index,
                    cache=self.cache,
                    makes_only=self.options.generate_only and self.generation is not None,
                )
            if result.graded is None:
                return None, False
        else:
            result = EpisodeResult(outcome=Outcome.NOT_ATTEMPTED)
        # No await from here on: what was graded is recorded even when a ^C comes in between.
        return self.run.record(key, result, number, began_at), result.repeatable

    def made(self, key: AttemptKey) -> Submission | None:
        """Return the record of what an earlier try took in or made."""
        return self.run.writer.attempt(key).made()

    def _maker(self, key: AttemptKey, grading: Grading) -> Maker:
        generation, stages, fleet, plan = self.generation, self.stages, self.run.fleet, self.run.plan
        source, task = plan.source, grading.task
        if generation is None:
            assert isinstance(source, SubmissionSource)
            return Maker(
                lambda tree, scratch: source.take_in(task, key, tree, grading.context(scratch / "intake"))
            )
        from groundup.episodes.episode import Playing

        agent, spec = generation.source.agent, generation.source.spec
        there = fleet if fleet is not None and fleet.agents_on_nodes else None
        reservation_mb = agent.reservation_mb(task) if there is None else 0
        playing = Playing(
            plan.episode(key),
            grading,
            self.run.writer.attempt(key),
            agent,
            generation.model,
            room=(lambda: stages.making.entered(reservation_mb)) if stages else nullcontext,
            saying=lambda text: self._said(key, text),
        )
        if there is not None:
            playing = there.made_there(playing, (spec.agent, spec.options))
        return Maker(playing.make, Phase.MAKING)

    def _said(self, key: AttemptKey, text: str) -> None:
        with suppress(OSError, InfrastructureError):  # only for those who look on
            self.run.writer.attempt(key).saying(text)
        self.says(key, text)

    @asynccontextmanager
    async def _scratch(self, key: AttemptKey) -> AsyncIterator[Path]:
        """Yield an empty folder; afterwards it is kept in the attempt's folder or removed, as the options say."""
        scratch = self.run.writer.scratch(key)
        try:
            yield scratch
        finally:
            try:
                if self.options.keep:
                    self.run.writer.attempt(key).keep(scratch)
                else:
                    await in_thread(lambda: remove_tree(scratch))
            except InfrastructureError as error:
                self.warn(f"{key}: {error}")
