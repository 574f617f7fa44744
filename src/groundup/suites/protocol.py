"""What a benchmark has to offer, so that `runs` and `reports` need to know none by name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import TestResult, Verdict
from groundup.grading.bench import Bench


class Graded(Record):
    """A verdict with the evidence that is too long for its line."""

    verdict: Verdict
    tests: tuple[TestResult, ...] = ()
    logs: dict[str, bytes] = {}


class Grader(Protocol):
    """Judges submissions of one suite in one way."""

    name: str
    version: str

    def reservation_mb(self, task: Task) -> int:
        """Memory that grading one submission of *task* may need."""
        ...

    def identity(self, task: Task) -> Mapping[str, object]:
        """Everything besides the submission that decides the verdict: oracle, recipe, settings, data version."""
        ...

    async def grade(self, task: Task, submission: Path, bench: Bench) -> Graded:
        """Judge the tree at *submission* (read-only for the grader).

        A fault of the submission is a verdict. `InfrastructureError` and `TaskError` are raised.
        """
        ...


class Summary(Record):
    """What a suite makes of a run's verdicts: named figures with denominators, and rows for a table."""

    headline: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Suite(Protocol):
    """A benchmark: tasks, oracles and graders."""

    name: str
    version: str
    description: str
    default_grader: str

    def tasks(self) -> Sequence[Task]:
        """Return all tasks at hand, sorted by id."""
        ...

    def graders(self) -> Mapping[str, Grader]:
        """Return the graders by name."""
        ...

    async def reference(self, task: Task, kind: Literal["oracle", "nop"], destination: Path, bench: Bench) -> None:
        """Write the oracle's or the empty submission of *task* into the empty folder *destination*."""
        ...

    def task_rows(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return column names and one row per task, for `groundup tasks`."""
        ...
