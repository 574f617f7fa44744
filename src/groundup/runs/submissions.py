"""Where submissions come from, as `runs` sees it. One sibling file per source.

`runs/predictions.py` offers `open_predictions(spec: Predictions, tasks: Sequence[str]) -> SubmissionSource`, which
raises `UsageError` for what cannot be read at all.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from groundup.domain.subjects import AttemptKey, Submission
from groundup.domain.tasks import Task
from groundup.grading.bench import Bench


class Source(Protocol):
    """Says for which attempts a run has submissions, or makes some (`generation`)."""

    def attempts(self) -> int:
        """Return how many attempts per task it holds, at least 1: the default of `--attempts`."""
        ...

    def identity(self) -> Mapping[str, str]:
        """Return what decides its submissions, pinned in the run's configuration.

        Short names to digests, one per attempt where submissions lie on disk, such as
        `{"sqlparse/0": "sha256:..."}`: of an archive's bytes, of a tree. No absolute paths.
        """
        ...

    def holds(self, attempt: AttemptKey) -> bool:
        """Whether there is something for *attempt*; otherwise it is recorded as not attempted."""
        ...


@runtime_checkable
class SubmissionSource(Source, Protocol):
    """Hands out the submissions of a run."""

    async def take_in(self, task: Task, attempt: AttemptKey, destination: Path, bench: Bench) -> Submission:
        """Write the submission as a plain tree into the empty folder *destination*; return its record.

        `SubmissionError`: it is at fault, and is graded 0 with that sentence as the reason.
        `InfrastructureError` (so also `DiskFullError`): it can be tried again. What lies in *destination* after an
        error is removed by the caller. Blocking work goes to a thread.
        """
        ...
