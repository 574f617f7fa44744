"""What a benchmark has to offer, so that `runs` and `reports` need to know none by name."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from pydantic import Field

from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey, Subject
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Reason, Score, TestResult, Verdict
from groundup.environments.requests import AnySource, PythonRequest
from groundup.grading.bench import Bench
from groundup.sandbox.protocol import SandboxSpec
from groundup.suites.pulling import PublishedRelease, PublishedRepository


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


@runtime_checkable
class Estimating(Protocol):
    """A grader that knows which tasks take long, so that they begin first. Optional."""

    def expected_s(self, task: Task) -> float:
        """Return about how long grading *task* takes; only how such figures compare matters."""
        ...


@runtime_checkable
class Pullable(Protocol):
    """A suite whose data its publishers offer, for `groundup data pull`. Optional."""

    name: str

    @property
    def published(self) -> PublishedRepository | PublishedRelease:
        """Where the data is published."""
        ...

    def check_data(self, folder: Path) -> str:
        """Read pulled data strictly and return its version; raises `UsageError` naming the file that is wrong."""
        ...


@runtime_checkable
class Converting(Protocol):
    """A suite whose data has an older form. Optional."""

    def convert(self, old: Path) -> bytes:
        """Return the content of a file of the older form in the present one; raises `UsageError`."""
        ...


@runtime_checkable
class Partial(Protocol):
    """A suite that lists tasks which it cannot grade yet. Optional."""

    def gradable(self) -> Sequence[str]:
        """Return the ids of those that it can; a run that names no tasks takes these and tells of the others."""
        ...


class Needs(Record):
    """What grading one task needs of a machine, besides what every task does."""

    python: str | None = Field(default=None, description="minor version of an interpreter")
    environment: PythonRequest | None = None
    source: AnySource | None = Field(default=None, description="the original")
    java: bool = False


@runtime_checkable
class Needing(Protocol):
    """A suite whose tasks need interpreters, originals or toolchains. Optional: the others need nothing."""

    def needs(self, task: Task) -> Needs:
        """Return what its default grader needs for *task*, which is gradable."""
        ...


@runtime_checkable
class PartlyReferenced(Protocol):
    """A suite some of whose tasks have no oracle. Optional."""

    def referenced(self) -> Collection[str]:
        """Return the ids of those that have one; a run of the oracle that names no tasks takes these."""
        ...


@runtime_checkable
class Grouping(Protocol):
    """A suite some of whose tasks go by a common name, such as their language. Optional."""

    def groups(self) -> Mapping[str, Collection[str]]:
        """Return the tasks of each group: a run's tasks and exclusions may name it, or `!` all outside it."""
        ...


class Summary(Record):
    """What a suite makes of a run's verdicts: named figures with denominators, and rows for a table."""

    headline: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    scores: dict[str, dict[str, Score]] = Field(
        default={}, description="the same for programs: a row's name, a column's name, the score"
    )
    notes: tuple[str, ...] = ()


@runtime_checkable
class Summarising(Protocol):
    """A suite that says more of a run than means over its attempts. Optional."""

    def summaries(self, verdicts: Mapping[AttemptKey, Verdict | None], grader: str) -> Sequence[Summary]:
        """Return tables over a run's attempts; None where nothing was handed in. Owed attempts are not there."""
        ...


class AttemptResult(Record):
    """What became of one attempt."""

    key: AttemptKey
    verdict: Verdict | None = Field(description="None: nothing was handed in")
    seconds: float | None = Field(default=None, description="of its grading")


class Results(Record):
    """What a run found, or a published report says: what suites' own forms of reports are made from."""

    name: str
    created_at: datetime
    subject: Subject
    origin: str | None = Field(default=None, description="where the submissions came from")
    seconds: float | None = Field(default=None, description="of everything, from start to end")
    attempts: tuple[AttemptResult, ...]
    owed: tuple[AttemptKey, ...] = ()


class OwnReport(Record):
    """A report in a suite's own form."""

    document: bytes
    table: str = Field(description="its figures for people")
    notes: tuple[str, ...] = Field(default=(), description="what the form cannot hold, in sentences")


@runtime_checkable
class Exporting(Protocol):
    """A suite whose publishers have a form of reports, which it writes and reads. Optional."""

    name: str
    version: str
    report_format: str
    """What users call the form."""

    def write_report(self, results: Results) -> OwnReport:
        """Return *results* in that form. Raises `UsageError` when the form cannot hold them."""
        ...

    def read_report(self, document: bytes, name: str) -> Results | None:
        """Return what *document* says; None when it has another form. *name* says where it was found."""
        ...


@runtime_checkable
class PatchTaking(Protocol):
    """A suite that takes edits of named files, also as a unified diff. Optional: the others take whole trees.

    A diff is taken in as a tree that holds nothing but `PATCH_FILE`.
    """

    prediction_groups: tuple[str, ...]
    """Names of folders that may stand between a folder of predictions and its tasks."""


PATCH_FILE = "patch.diff"


@runtime_checkable
class SubjectOffering(Protocol):
    """A suite that makes further submissions of its own, besides oracle and nop, without a model. Optional."""

    further_subjects: tuple[str, ...]

    async def submit_as(self, subject: str, task: Task, destination: Path, bench: Bench) -> None:
        """Write what *subject* hands in for *task* into the empty folder *destination*."""
        ...


@runtime_checkable
class SeedWriting(Protocol):
    """A suite whose seeds are too large for the task's record. Optional: the others list them there."""

    def write_seeds(self, task: Task, destination: Path) -> None:
        """Write what a subject finds in its workspace into the absent or empty folder *destination*."""
        ...


@runtime_checkable
class Withholding(Protocol):
    """A suite that knows under which names its originals are published. Optional."""

    def withheld(self, task: Task) -> Collection[str]:
        """Return every name under which a registry hands out *task*'s original, for registries to refuse.

        Names are of Python distributions, or of packages of the language in the task's metadata.
        """
        ...


@runtime_checkable
class StatisticsTelling(Protocol):
    """A suite that can describe its data in numbers. Optional."""

    def statistics(self) -> Summary:
        """Return the numbers; reads all of the data."""
        ...


class PackageName(NamedTuple):
    """A package that a registry can be asked for."""

    ecosystem: str
    name: str


@runtime_checkable
class PackageNaming(Protocol):
    """A suite whose grading asks registries whether packages exist. Optional."""

    def packages(self, task: Task, submission: Path | None) -> Collection[PackageName]:
        """Return what grading *submission* would ask for; None: what the original declares."""
        ...


@runtime_checkable
class Ablating(Protocol):
    """A suite whose submissions can be changed to see what one kind of mistake costs. Optional."""

    ablations: tuple[str, ...]

    async def ablate(self, ablation: str, task: Task, submission: Path, destination: Path) -> None:
        """Write *submission* without that kind of mistake into the empty folder *destination*."""
        ...


class Validation(Record):
    """Whether grading a task tells anything: its original passes and the empty submission does not, each time."""

    task: str
    standing: Literal["valid", "invalid", "not executed", "infrastructure"]
    why: str = ""
    tries: int = 0
    known: bool = Field(default=False, description="found earlier, for the task as it is now")


@runtime_checkable
class Validating(Protocol):
    """A suite whose tasks can be wrong on a machine, for `groundup curate validate`. Optional."""

    async def validate(self, task: Task, times: int, bench: Callable[[], Bench], *, again: bool) -> Validation:
        """Grade original and empty submission of *task* *times* each and keep what was found.

        What is known is found again only with *again*. *bench* returns tools around a new folder for each try.
        """
        ...


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
        """Return column names, in the order of their worth, and one row per task, for `groundup tasks`."""
        ...
