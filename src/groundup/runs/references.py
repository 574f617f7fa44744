"""Submissions that the suite makes itself: its oracle's, or the empty one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from groundup.domain.subjects import AttemptKey, Provenance, Submission
from groundup.domain.tasks import Task
from groundup.grading.bench import Bench
from groundup.runs.interrupts import in_thread
from groundup.suites.protocol import Suite
from groundup.trees.digest import tree_digest


class ReferenceSource:
    """Asks the suite; nothing is pinned, for tasks and graders are."""

    def __init__(self, suite: Suite, which: Literal["oracle", "nop"]) -> None:
        self._suite = suite
        self._which: Literal["oracle", "nop"] = which

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
        await self._suite.reference(task, self._which, destination, bench)
        tree = await in_thread(lambda: tree_digest(destination))
        return Submission(
            digest=tree.digest, files=tree.files, bytes=tree.bytes, provenance=Provenance(source=self._which)
        )
