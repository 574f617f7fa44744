"""One try at an attempt: make or take in the submission, grade it, and say what came of it. Records no verdict."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from groundup.domain.subjects import Outcome, Submission
from groundup.domain.verdicts import Status
from groundup.episodes.grading import Grading, Phase, full_disk_named
from groundup.episodes.records import EpisodeResult
from groundup.episodes.sinks import EpisodeSink
from groundup.store.verdict_cache import VerdictCache
from groundup.suites.base import Graded


class SubmissionMaker(Protocol):
    """Brings the submission of one attempt about."""

    phase: Phase
    """What it does: taking one in that exists, or having an agent make one."""

    async def make(self, destination: Path, scratch: Path) -> Submission:
        """Write the submission into the empty folder *destination*; *scratch* is a folder for the work.

        Raises `SubmissionError` for one that cannot be taken in; otherwise what `Grading.failed` knows.
        """
        ...


@dataclass
class AttemptTry:
    """One try. The caller gives it an empty folder *scratch*, and removes that folder afterwards."""

    grading: Grading
    maker: SubmissionMaker
    sink: EpisodeSink
    scratch: Path
    index: int = 0
    """Which of the attempts at the task it is; it is part of the verdict cache's key."""
    cache: VerdictCache | None = None
    makes_only: bool = False
    """Whether to end before grading."""
    anew: bool = False
    """Whether to make the submission again where one is there."""

    async def settle(self) -> EpisodeResult:
        """Return what came of it; a failure is a result too. Raises only what stops other attempts as well."""
        phase, submission = self.maker.phase, None
        try:
            with full_disk_named():
                submission = (None if self.anew else self.sink.made()) or await self._make()
                phase = Phase.GRADING
                if self.makes_only:
                    return EpisodeResult(outcome=submission.outcome, submission=submission)
                async with self.grading.room():
                    graded, cached = await self._graded(submission)
        except Exception as error:  # noqa: BLE001 - the attempt boundary: a bug must not end the other attempts
            graded, repeatable = self.grading.failed(error, phase)
            outcome = submission.outcome if submission else Outcome.SUBMITTED
            if phase is Phase.MAKING and graded.verdict.status is Status.INFRASTRUCTURE:
                outcome = Outcome.INFRASTRUCTURE
            return EpisodeResult(outcome=outcome, submission=submission, graded=graded, repeatable=repeatable)
        return EpisodeResult(outcome=submission.outcome, submission=submission, graded=graded, cached=cached)

    async def _make(self) -> Submission:
        with self.sink.incoming() as destination:
            submission = await self.maker.make(destination, self.scratch)
        self.sink.write_record(submission)
        return submission

    async def _graded(self, submission: Submission) -> tuple[Graded, bool]:
        """Return a verdict, and whether it was known."""
        tree = self.sink.submission
        if self.cache is None:
            return await self.grading.grade(tree, self.scratch), False
        key = await self.grading.key(submission, self.index, self.scratch / "layers")
        if found := self.cache.find(key):
            return Graded(verdict=found.verdict, tests=found.tests), True
        graded = await self.grading.grade(tree, self.scratch)
        self.cache.keep(key, graded.verdict, graded.tests)
        return graded, False
