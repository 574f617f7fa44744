"""What a benchmark has to offer, so that `runs` and `reports` need to know none by name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Reason, TestResult, Verdict
from groundup.grading.bench import Bench
from groundup.sandbox.protocol import SandboxSpec


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

    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return the verdict of a submission that could not even be taken in: 0 over the task's denominator."""
        ...


@runtime_checkable
class Inspectable(Protocol):
    """A grader that can rebuild the place where it graded, for `groundup shell`. Optional."""

    async def sandbox_spec(self, task: Task, workspace: Path, bench: Bench) -> SandboxSpec:
        """Return the sandbox of *task*'s environment around *workspace*, a copy of the submission."""
        ...


@runtime_checkable
class Layered(Protocol):
    """A grader whose verdicts depend on what layers hold on this machine. Optional: the others name none."""

    async def layers(self, task: Task, bench: Bench) -> Mapping[str, str]:
        """Return names and digests of the layers that *task* is graded in, built when they are not there."""
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
