"""What a run does with each attempt: it hands the episode its means, and the writer what comes of it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import InfrastructureError
from groundup.domain.limits import Effort
from groundup.domain.subjects import AttemptKey, Outcome, Submission
from groundup.episodes.attempt import AttemptTry, Grading, Phase, SubmissionMaker
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
class TakingIn:
    """Takes in a submission that exists. A `SubmissionMaker`."""

    source: SubmissionSource
    key: AttemptKey
    grading: Grading
    phase = Phase.INTAKE

    async def make(self, destination: Path, scratch: Path) -> Submission:
        context = self.grading.context(scratch / "intake")
        return await self.source.take_in(self.grading.task, self.key, destination, context)


class RunContext(NamedTuple):
    """What every attempt of one start of a run has in common."""

    plan: RunPlan
    writer: RunWriter
    backends: Backends
    cache: VerdictCache | None
    options: RunOptions
    start: int
    warn: Callable[[str], None]
    says: Callable[[AttemptKey, str], None]
    """Takes the end of what the model of an attempt says just now; empty: nothing."""
    generation: Generation | None = None
    """What makes submissions; None where they are brought."""
    stages: Stages | None = None
    """Where making and grading wait for their turn; None where whole attempts do."""
    fleet: Fleet | None = None
    """Where submissions are graded; None: here."""
    builder: str = ""
    """What builds environments on the fleet's nodes."""

    async def settle(self, key: AttemptKey, number: int) -> tuple[VerdictLine | None, bool]:
        """Try *key* for the time *number*; return its line as recorded, and whether trying again soon may help.

        The line is None when the submission is made and not graded now. Raises what stops the whole run; then
        nothing was recorded.
        """
        started_at = datetime.now(UTC)
        if self.plan.source.holds(key):
            async with self._scratch(key) as scratch:
                result = await self._try(key, scratch).settle()
            if result.graded is None:
                return None, False
        else:
            result = EpisodeResult(outcome=Outcome.NOT_ATTEMPTED)
        # No await from here on: what was graded is recorded even when a ^C comes in between.
        submission, graded = result.submission, result.graded
        line = VerdictLine(
            attempt=key,
            outcome=result.outcome,
            submission=submission.digest if submission else None,
            verdict=graded.verdict if graded else None,
            effort=_short(submission.effort) if submission else None,
            try_number=number,
            start=self.start,
            cached=result.cached,
            started_at=started_at,
            finished_at=datetime.now(UTC),
        )
        self.writer.record(line, graded.tests if graded else (), graded.logs if graded else {})
        return line, result.repeatable

    def made(self, key: AttemptKey) -> Submission | None:
        """Return the record of what an earlier try took in or made."""
        return self.writer.attempt(key).made()

    def _try(self, key: AttemptKey, scratch: Path) -> AttemptTry:
        plan, stages = self.plan, self.stages
        task, grader = plan.tasks[key.task], plan.grader
        grading = self._grading(key)
        if stages:
            grading = replace(grading, room=lambda: stages.grading.entered(grader.reservation_mb(task)))
        return AttemptTry(
            grading=grading,
            maker=self._maker(key, grading),
            sink=self.writer.attempt(key),
            scratch=scratch,
            index=key.index,
            cache=self.cache,
            makes_only=self.options.generate_only and self.generation is not None,
        )

    def _grading(self, key: AttemptKey) -> Grading:
        plan = self.plan
        here = Grading(plan.suite, plan.tasks[key.task], plan.grader, self.backends, plan.configuration.timeout_s)
        if self.fleet is None:
            return here
        return self.fleet.graded_there(here, plan.episode(key), plan.configuration.sandbox, self.builder)

    def _maker(self, key: AttemptKey, grading: Grading) -> SubmissionMaker:
        generation, stages = self.generation, self.stages
        if generation is None:
            assert isinstance(self.plan.source, SubmissionSource)
            return TakingIn(self.plan.source, key, grading)
        agent = generation.source.agent
        if self.fleet is not None and self.fleet.agents_on_nodes:
            spec = generation.source.spec
            return self.fleet.made_there(
                grading,
                self.writer.attempt(key),
                agent,
                (spec.agent, spec.options),
                generation.model,
                (lambda: stages.making.entered(0)) if stages else nullcontext,
            )
        from groundup.episodes.episode import Playing

        reservation_mb = agent.reservation_mb(grading.task)
        return Playing(
            self.plan.episode(key),
            grading,
            self.writer.attempt(key),
            agent,
            generation.model,
            room=(lambda: stages.making.entered(reservation_mb)) if stages else nullcontext,
            saying=lambda text: self._said(key, text),
        )

    def _said(self, key: AttemptKey, text: str) -> None:
        with suppress(OSError, InfrastructureError):  # only for those who look on
            self.writer.attempt(key).saying(text)
        self.says(key, text)

    @asynccontextmanager
    async def _scratch(self, key: AttemptKey) -> AsyncIterator[Path]:
        """Yield an empty folder; afterwards it is kept in the attempt's folder or removed, as the options say."""
        scratch = self.writer.scratch(key)
        try:
            yield scratch
        finally:
            try:
                if self.options.keep:
                    self.writer.attempt(key).keep(scratch)
                else:
                    await in_thread(lambda: remove_tree(scratch))
            except InfrastructureError as error:
                self.warn(f"{key}: {error}")


def _short(effort: Effort | None) -> Effort | None:
    """Return *effort* as a verdict line has it, which is short; all of its words are in `submission.json`."""
    return effort and effort.but(detail=effort.detail[:120])
