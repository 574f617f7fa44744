"""Submissions of an earlier run, to be graded again."""

from collections.abc import Mapping
from pathlib import Path

from groundup.domain.errors import InfrastructureError, SubmissionError
from groundup.domain.subjects import AttemptKey, Outcome, Submission
from groundup.domain.tasks import Task
from groundup.grading.bench import Bench
from groundup.runs.interrupts import in_thread
from groundup.store.folder import RunFolder
from groundup.store.records import VerdictLine
from groundup.trees.copy import copy_tree


class EarlierRunSource:
    """Copies what an earlier run took in. What it could not take in stays refused, with the same words."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._planned = folder.config().planned
        self._lines = folder.latest()

    def attempts(self) -> int:
        """Return as many as the earlier run had."""
        return self._planned.attempts

    def identity(self) -> Mapping[str, str]:
        """Return the digests of its submissions."""
        return {str(key): line.submission or line.outcome for key, line in self._lines.items()}

    def holds(self, attempt: AttemptKey) -> bool:
        """Whether the earlier run had a submission, or owes to look for one."""
        line = self._lines.get(attempt)
        if line is None:
            return self._planned.holds(attempt)
        return line.outcome is not Outcome.NOT_ATTEMPTED

    async def take_in(self, task: Task, attempt: AttemptKey, destination: Path, bench: Bench) -> Submission:
        """Copy it."""
        earlier = self._folder.attempt(attempt)
        record = earlier.record()
        if record is None:
            raise self._why_absent(self._lines.get(attempt))
        # It was taken in under the limits for strangers' trees once, so it is within them.
        await in_thread(lambda: copy_tree(earlier.submission, destination))
        return record

    def _why_absent(self, line: VerdictLine | None) -> Exception:
        if line is not None and line.verdict is not None and line.verdict.settles:
            return SubmissionError(line.verdict.reasons[0].message if line.verdict.reasons else "it was refused")
        return InfrastructureError(
            f"the run {self._folder.path} has not taken this attempt in; finish it with `groundup resume` first"
        )
