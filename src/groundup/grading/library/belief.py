"""Whether to believe a count of passed tests: the question and its answer. `groundup_integrity` finds it out."""

from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

from groundup.catalog import Table
from groundup.extensions import lacking
from groundup.grading.context import GradingContext
from groundup.grading.library.execution import Execution
from groundup.grading.library.hidden import FalseRecord, LibraryUnderTest, NumberedTest

Answer = Literal["unchecked", "clean", "suspect", "tampered"]


class Integrity(NamedTuple):
    """Whether the count is to be believed."""

    answer: Answer = "clean"
    why: str = ""
    depth: Literal["none", "spot", "full"] = "none"
    checked: int = 0
    """Tests that ran in the last check."""
    flaky: frozenset[NumberedTest] = frozenset()
    """Lost tests that pass when run again."""
    open: bool = False
    """Whether a lost test did not run again, or did something else."""
    unsteady: bool = False
    """Whether a test that counts failed when it ran again."""
    log: str = ""


class CheckedRun(NamedTuple):
    """A run of hidden tests whose count is asked about."""

    library: LibraryUnderTest
    execution: Execution
    expected: frozenset[NumberedTest]
    record: FalseRecord | None
    """What the original does with false expectations; None: there is no original that could show it."""


Checker = Callable[[CheckedRun, GradingContext, bool], Awaitable[Integrity]]
"""Answers for a run; the last argument asks for all tests that pass and not for a sample."""
CHECKERS: Table[Checker] = Table("checker", {})


async def integrity_of(run: CheckedRun, context: GradingContext, *, deep: bool = False) -> Integrity:
    """Return whether to believe *run*: unchecked without the package that checks. Raises `SandboxError`."""
    if lacking("checker"):
        return Integrity(answer="unchecked")
    return await CHECKERS.find("false forms")(run, context, deep)
