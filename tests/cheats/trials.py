"""Grading dishonest submissions in real sandboxes: what they get, by which grader, and how their verdict stands."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Literal

from groundup.grading.library.hidden import FalseRecord, HiddenTests
from groundup.sandbox.protocol import SandboxProvider
from groundup.suites.base import Graded
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import remove_tree
from tests.cheats.results import Outcome
from tests.cheats.wares import IDS, ORIGINAL
from tests.suites.nl2repobench.images import Laboratory, Published, write_environment

GraderName = Literal["official", "strict", "full"]
PUBLISHED = Published(
    original=ORIGINAL,
    hidden=HiddenTests(
        packages=("wares",), arguments=("tests",), protected=("tests",), timeout_s=60, memory_mb=512
    ),
    expected=frozenset(IDS),
    declared=len(IDS),
    twin=FalseRecord(runs=3),
)


def outcome_of(graded: Graded, measure: str = "score") -> Outcome:
    """Return what a verdict gives for *measure*."""
    verdict = graded.verdict
    score = verdict.score if measure == "score" else verdict.scores.get(measure)
    return Outcome(
        points=0 if score is None else score.numerator,
        of=0 if score is None else score.denominator,
        status=verdict.status.value,
        suspect=verdict.facts.get("integrity") == "suspect",
        passed=int(verdict.facts.get("passed") or 0),
        why="; ".join(reason.message for reason in verdict.reasons)[:200],
    )


class LibraryTrial:
    """Grades submissions of one library."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory

    async def grade(self, files: Mapping[str, str], grader: GraderName = "strict") -> Outcome:
        """Return what a submission of *files* gets."""
        submission = self._laboratory.submission(files)
        try:
            if grader == "official":
                return outcome_of(await self._laboratory.official(PUBLISHED, submission))
            deep = grader == "full"
            return outcome_of(await self._laboratory.strict(PUBLISHED, submission, deep=deep))
        finally:
            remove_tree(submission)


@asynccontextmanager
async def wares_trial(provider: SandboxProvider) -> AsyncIterator[LibraryTrial]:
    """Yield a place to grade; it is removed afterwards."""
    with scratch_folder("cheats") as folder:
        environment = write_environment(folder / "environment")
        yield LibraryTrial(Laboratory(provider, environment, folder / "laboratory"))
