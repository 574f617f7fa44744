"""Whether to believe a count of passed tests: who is asked. `groundup_integrity` finds it out."""

from typing import Protocol

from groundup.catalog import Table
from groundup.extensions import lacking
from groundup.grading.context import GradingContext
from groundup.grading.library.decision import Integrity
from groundup.grading.library.execution import Execution
from groundup.grading.library.hidden import FalseRecord, LibraryUnderTest, NumberedTest


class Checker(Protocol):
    """Says whether to believe the count of a run of hidden tests."""

    def read_ahead(self, library: LibraryUnderTest, expected: frozenset[NumberedTest]) -> None:
        """Read what a check needs while the run goes on: it only saves time."""
        ...

    async def __call__(
        self,
        library: LibraryUnderTest,
        run: Execution,
        expected: frozenset[NumberedTest],
        record: FalseRecord | None,
        context: GradingContext,
        *,
        deep: bool = False,
    ) -> Integrity:
        """Answer for *run*, of which the tests *expected* count. Raises `SandboxError`.

        *record*: what the original does with false expectations; None: there is no original that could show it.
        *deep*: check all tests that pass, and not a sample.
        """
        ...


CHECKERS: Table[Checker] = Table("checker", {})


def checks() -> bool:
    """Whether a run that counts is checked at all."""
    return not lacking("checker")


def checker() -> Checker:
    """Return who answers; without the package that checks, somebody who says *unchecked* of every run."""
    return CHECKERS.find("false forms") if checks() else _Unchecked()


class _Unchecked:
    def read_ahead(self, *_read: object) -> None:
        pass

    async def __call__(self, *_asked: object, **_how: object) -> Integrity:
        return Integrity(answer="unchecked")
