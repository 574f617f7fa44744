"""Hidden tests with inputs that the public suite does not have: what strict asks of `groundup_integrity`."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from groundup.catalog import Table
from groundup.domain.verdicts import Verdict
from groundup.extensions import lacking
from groundup.grading.context import GradingContext
from groundup.grading.library.decision import Decision
from groundup.grading.library.hidden import LibraryUnderTest, NumberedTest

Beside = Callable[[Verdict], Verdict]
"""Puts the score on fresh inputs beside a verdict's own, which it does not change."""


class FreshRuns(Protocol):
    """Runs submissions with fresh inputs."""

    def digest(self, task: str) -> str | None:
        """Return the digest of a task's fresh inputs; None: there are none."""
        ...

    async def seen(
        self,
        task: str,
        decision: Decision,
        library: LibraryUnderTest,
        expected: frozenset[NumberedTest],
        context: GradingContext,
    ) -> Beside | None:
        """Run *library* with fresh inputs, if any, in a slot of the machine. *decision*: on the public tests."""
        ...


FreshMaker = Callable[[Path | None], FreshRuns]
"""Takes the folder where this machine's own fresh inputs lie."""
FRESH_MAKERS: Table[FreshMaker] = Table("fresh maker", {})


def fresh_runs(folder: Path | None) -> FreshRuns | None:
    """Return what runs submissions with fresh inputs, where the package for that is here."""
    return None if lacking("fresh maker") else FRESH_MAKERS.find("recipes")(folder)
