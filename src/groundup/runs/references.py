"""Submissions that the suite makes itself: its oracle's, the empty one, or those of further subjects it offers."""

from collections.abc import Mapping
from pathlib import Path

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.subjects import AttemptKey, Provenance, Submission
from groundup.domain.tasks import Task
from groundup.grading.bench import Bench
from groundup.runs.interrupts import in_thread
from groundup.suites.protocol import SubjectOffering, Suite
from groundup.trees.digest import tree_digest


def reference_names(suite: Suite) -> tuple[str, ...]:
    """Return the subjects that *suite* plays itself."""
    return ("oracle", "nop", *(suite.further_subjects if isinstance(suite, SubjectOffering) else ()))


class ReferenceSource:
    """Asks the suite; nothing is pinned, for tasks and graders are."""

    def __init__(self, suite: Suite, which: str) -> None:
        """Raises `UsageError` for a subject that *suite* does not play."""
        if which not in reference_names(suite):
            raise UsageError(unknown("agent", which, reference_names(suite)))
        self._suite = suite
        self._which = which

    def attempts(self) -> int:
        """Return 1."""
        return 1

    def identity(self) -> Mapping[str, str]:
        """Return nothing."""
        return {}

    def holds(self, attempt: AttemptKey) -> bool:
        """Every task has its references."""
        return True

    async def take_in(self, task: Task, attempt: AttemptKey, destination: Path, bench: Bench) -> Submission:
        """Have the suite write it."""
        provenance = await self._write(task, destination, bench)
        tree = await in_thread(lambda: tree_digest(destination))
        return Submission(digest=tree.digest, files=tree.files, bytes=tree.bytes, provenance=provenance)

    async def _write(self, task: Task, destination: Path, bench: Bench) -> Provenance:
        if self._which == "oracle":
            await self._suite.reference(task, "oracle", destination, bench)
            return Provenance(source="oracle")
        if self._which == "nop":
            await self._suite.reference(task, "nop", destination, bench)
            return Provenance(source="nop")
        assert isinstance(self._suite, SubjectOffering)
        await self._suite.submit_as(self._which, task, destination, bench)
        return Provenance(source="agent", agent_name=self._which)
