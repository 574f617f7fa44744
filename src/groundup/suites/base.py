"""What a benchmark has to offer, so that `runs` and `reports` need to know none by name.

A suite is a subclass of `Suite`: tasks, graders and references. What else it may have are four parts, each a class
of its own with defaults.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from pydantic import Field
from typing_extensions import override

from groundup.domain.errors import UsageError
from groundup.domain.records import Extension, Record
from groundup.domain.subjects import AttemptKey, Subject
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Graded as Graded  # noqa: PLC0414  # offered to suites
from groundup.domain.verdicts import Reason, Score, Verdict
from groundup.environments import installed_tools
from groundup.environments.requests import AnySource, GitSource, PythonRequest, SourceRequest
from groundup.grading.context import GradingContext
from groundup.sandbox.protocol import SandboxSpec
from groundup.suites.places import PublishedRelease, PublishedRepository

if TYPE_CHECKING:
    from groundup.trees.fingerprints import Fingerprint

HERE, YES = installed_tools.HERE, installed_tools.YES
"""The column of `task_rows` that says whether this machine can grade a task, and its value where it can."""
LITE = 20
"""Tasks of a suite's small fixed set."""
STATIC = "static"
"""The grader that suites name so reads submissions and runs nothing."""
PATCH_FILE = "patch.diff"
"""The only file of a submission that was handed in as a unified diff."""


class Grader(Extension):
    """Judges submissions of one suite in one way."""

    name: str
    version: str
    fixed_points: bool = True
    """Whether all submissions of a task can get equally many points, as `zero` says."""

    @abstractmethod
    def identity(self, task: Task) -> Mapping[str, object]:
        """Everything besides the submission that decides the verdict: oracle, recipe, settings, data version."""

    @abstractmethod
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Judge the tree at *submission* (read-only for the grader).

        A fault of the submission is a verdict. `InfrastructureError` and `TaskError` are raised.
        """

    @abstractmethod
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return the verdict of a submission that could not even be taken in: 0 over the task's denominator."""

    def check(self, task: Task) -> None:
        """Raise `TaskError` where this machine lacks what grading *task* takes, such as its hidden tests.

        It is asked before a run starts, so it reads no more than the suite has read.
        """
        return

    def reservation_mb(self, task: Task) -> int:
        """Memory that grading one submission of *task* may need."""
        return task.limits.memory_mb

    def expected_s(self, task: Task) -> float:
        """Return about how long grading *task* takes; long ones begin first, so only the order matters."""
        return 0.0

    def write_data(self, task: Task, destination: Path) -> bool:
        """Write what grading *task* reads of the suite's data into the empty folder *destination*.

        Return whether that is all it needs, besides the submission and what `AtHand.needs` says, to grade in a
        container that may make no namespaces.
        """
        return False

    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Return names and digests of the layers on which a verdict depends, built if they are absent."""
        return {}

    async def sandbox_spec(self, task: Task, workspace: Path, context: GradingContext) -> SandboxSpec:
        """Return the sandbox in which *task* is graded, around *workspace*, for `groundup shell`."""
        return SandboxSpec(workspace=workspace, limits=task.limits, system="host", label=task.id)


class Needs(Record):
    """What grading one task needs of a machine, besides what every task does."""

    python: str | None = Field(default=None, description="minor version of an interpreter")
    environment: PythonRequest | None = None
    source: SourceRequest | GitSource | None = Field(default=None, description="the original")
    graded: AnySource | None = Field(default=None, description="the original with tests as they are graded")
    programs: tuple[str, ...] = Field(default=(), description="of this machine, which tests start, such as git")
    java: bool = False
    packages: bool = Field(default=False, description="those that submissions name, from the package index")


class Claimed(Record):
    """A result that somebody published; nothing of it was graded here."""

    by: str = Field(description="where it was published")
    model: str
    agent: str = "-"
    scores: dict[str, dict[str, float]] = Field(description="a group, a figure, its share of 1")


class Summary(Record):
    """What a suite makes of a run's verdicts: named figures with denominators, and rows for a table."""

    headline: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    scores: dict[str, dict[str, Score]] = Field(
        default={}, description="the same for programs: a row's name, a column's name, the score"
    )
    notes: tuple[str, ...] = ()
    claimed: tuple[Claimed, ...] = Field(default=(), description="rows of others for the layout `paper`")
    layout: Literal["standard", "paper", "figure"] = Field(
        default="standard",
        description="`paper`: figures of the publishers' tables, a row for each run; `figure`: shares that a plot "
        "draws as curves, one for each row",
    )


class PackageName(NamedTuple):
    """A package that a registry can be asked for."""

    ecosystem: str
    name: str


class DataSource(Extension):
    """Where a suite's publishers offer its data, for `groundup data`."""

    published: PublishedRepository | PublishedRelease

    @abstractmethod
    def check(self, folder: Path) -> str:
        """Read pulled data strictly and return its version; raises `UsageError` naming the file that is wrong."""

    def convert(self, old: Path) -> bytes:
        """Return a file of an older form in the present one. Raises `UsageError`, also without an older form."""
        raise UsageError("this data has no older form")


class AttemptResult(Record):
    """How one attempt ended."""

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
    pending: tuple[AttemptKey, ...] = ()


class OwnReport(Record):
    """A report in a suite's own form."""

    document: bytes
    table: str = Field(description="its figures for people")
    notes: tuple[str, ...] = Field(default=(), description="what the form cannot hold, in sentences")


class ReportForm(Extension):
    """The form of reports that a suite's publishers use, written and read."""

    name: str
    """What users call it."""

    @abstractmethod
    def write(self, results: Results) -> OwnReport:
        """Return *results* in this form. Raises `UsageError` when the form cannot hold them."""

    @abstractmethod
    def read(self, document: bytes, name: str) -> Results | None:
        """Return what *document* says; None when it has another form. *name* says where it was found."""


class Ablation(Extension):
    """Changes submissions to show what one kind of mistake costs."""

    kinds: tuple[str, ...]

    @abstractmethod
    async def write(self, kind: str, task: Task, submission: Path, destination: Path) -> None:
        """Write *submission* without that kind of mistake into the empty folder *destination*."""


class HiddenCode(Record):
    """The text of a task's hidden tests, to be read and not run."""

    files: dict[str, str] = Field(description="path -> text, as test ids name it")
    packages: tuple[str, ...] = Field(default=(), description="import names under test; none: a service is tested")
    specification: str | None = Field(description="None: it is not at hand")


class Auditor(Extension):
    """What `groundup audit` may know of a suite's tasks besides verdicts. Every part has a default: nothing."""

    controls: tuple[str, ...] = ()
    """Worthless submissions that the suite can write, besides `nop`."""

    async def write(self, control: str, task: Task, destination: Path, context: GradingContext) -> bool:
        """Write *control* for *task* into the empty folder *destination*; return False when it has none."""
        return False

    async def hidden(self, task: Task, context: GradingContext) -> HiddenCode | None:
        """Return the text of the hidden tests."""
        return None

    async def answers(self, task: Task, context: GradingContext) -> Sequence[str]:
        """Return where what is asked for lies within a submission's reach."""
        return ()

    def declared(self, task: Task) -> Mapping[str, int]:
        """Return how many tests were published, by data version."""
        return {}


class SuitePart(Extension):
    """An optional part of a suite, which has it by being of its class, too: `class Mine(Suite, ForAgents)`.

    It is asked for by its name: `ForAgents.of(suite)`. A suite that does not have it has the defaults.
    """

    def __init__(self, suite: "Suite | None" = None) -> None:
        self._suite = suite

    @classmethod
    def of(cls, suite: "Suite") -> Self:
        """Return this part of *suite*."""
        return suite if isinstance(suite, cls) else cls(suite)

    @property
    def suite(self) -> "Suite":
        """Whose part it is; a suite that has the part is that itself."""
        if isinstance(self, Suite):
            return self
        assert self._suite is not None, "a part is made by `of`"
        return self._suite


class AtHand(SuitePart):
    """What of a suite this machine can grade, and what it takes."""

    def gradable(self) -> Collection[str]:
        """Return the ids of the tasks that can be graded with the data at hand; a run takes these by default."""
        return [task.id for task in self.suite.tasks()]

    def blocked(self) -> Mapping[str, str]:
        """Return why tasks cannot be graded on any machine, by task, where the suite knows."""
        return {}

    def in_image_only(self) -> Collection[str]:
        """Return those of the blocked tasks whose published image can grade them."""
        return ()

    def referenced(self) -> Collection[str]:
        """Return the ids of the tasks that have an oracle; a run of the oracle takes these by default."""
        return [task.id for task in self.suite.tasks()]

    def beside(self) -> Sequence[str]:
        """Return a sentence for each thing that graders beside the default one lack on this machine."""
        return ()

    def needs(self, task: Task) -> Needs:
        """Return what the default grader needs for *task*, which is gradable."""
        return Needs()

    def published_image(self, task: Task) -> str | None:
        """Return the image in which the publishers grade *task*, without its registry; None: there is none."""
        return None


class ForAgents(SuitePart):
    """What somebody who does a suite's tasks finds, and must not find."""

    def write_seeds(self, task: Task, destination: Path) -> None:
        """Write what an agent finds in its workspace, the absent or empty folder *destination*.

        The default writes the seeds that the task's record lists; a suite overrides it when they are too large.
        """
        for seed in task.seeds:
            place = destination / seed.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(seed.content)

    def agent_environment(self, task: Task) -> PythonRequest | None:
        """Return what *task*'s published image has installed, for agents; None: nothing is known, or wanted."""
        return None

    def told_of_grading(self, task: Task) -> str:
        """Return sentences on how *task* is graded that its text does not say, for prompts; empty: none."""
        return ""

    def withheld(self, task: Task) -> Collection[str]:
        """Return every name under which a registry hands out *task*'s original, for registries to refuse.

        Names are of Python distributions, or of packages of the language in the task's metadata.
        """
        return ()

    def fingerprint(self, task: Task) -> "Fingerprint | None":
        """Return by what copies of *task*'s original are known wherever they lie; None: there is no such thing."""
        return None


class Tables(SuitePart):
    """Tasks and verdicts of a suite in rows, and tasks by common names."""

    def task_rows(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return column names, in the order of their worth, and one row per task, for `groundup tasks`."""
        return ("task",), [(task.id,) for task in self.suite.tasks()]

    def groups(self) -> Mapping[str, Collection[str]]:
        """Return tasks by a common name, such as their language, for `--tasks` and `--exclude`."""
        return {}

    def task_sets(self) -> Mapping[str, Collection[str]]:
        """Return the fixed sets of tasks by which runs are ranked, whatever this machine can grade.

        `full`: all that can be graded on some machine. `lite`: a fixed draw of 20 of these, where there are twice
        as many.
        """
        full = sorted(self.suite.by_name().keys() - AtHand.of(self.suite).blocked().keys())
        drawn = sorted(full, key=lambda name: hashlib.sha256(name.encode()).digest())[:LITE]
        return {"full": full} if len(full) < 2 * LITE else {"full": full, "lite": sorted(drawn)}

    def summaries(self, verdicts: Mapping[AttemptKey, Verdict | None], grader: str) -> Sequence[Summary]:
        """Return tables that say more of a run than means over its attempts.

        None: nothing was handed in. Attempts that are still pending are not there.
        """
        return ()


class ForCommands(SuitePart):
    """What single commands ask of a suite, such as `data pull`, `ablate` and `audit`. Few have any of it."""

    def rights(self, task: Task) -> Sequence[str]:
        """Return sentences: under which licences a task's parts are, and what to cite."""
        return ()

    def statistics(self) -> Summary | None:
        """Return the data in numbers, for `groundup tasks --statistics`; reads all of it."""
        return None

    def packages(self, task: Task, submission: Path | None) -> Collection[PackageName] | None:
        """Return for which packages grading *submission* asks registries; without one, what the original declares.

        None: the suite asks no registry.
        """
        return None

    def data_source(self) -> DataSource | None:
        """Return where the data is published; None: all of it comes with the suite."""
        return None

    def report_form(self) -> ReportForm | None:
        """Return the publishers' form of reports."""
        return None

    def ablation(self) -> Ablation | None:
        """Return what changes submissions to show what a kind of mistake costs."""
        return None

    def auditor(self) -> Auditor:
        """Return what an audit may know of the tasks."""
        return Auditor()


PARTS: tuple[type[SuitePart], ...] = (AtHand, ForAgents, Tables, ForCommands)


class Suite(Extension):
    """A benchmark: tasks, oracles and graders; what else it may have are `PARTS`.

    What has a name (`opening.py`) is a function `create(settings: Settings) -> Suite`.
    """

    name: str
    version: str
    description: str
    default_grader: str
    subjects: tuple[str, ...] = ("oracle", "nop")
    """Whose submissions the suite makes itself, without a model: see `reference`."""
    takes_patches: bool = False
    """Whether a submission may also be a unified diff: a tree that holds nothing but `PATCH_FILE`."""
    prediction_groups: tuple[str, ...] = ()
    """Names of folders that may stand between a folder of predictions and its tasks."""
    variants: tuple[str, ...] = ()
    """Words for forms of it that `varied` makes: SUITE+WORD. Runs of different forms are never compared."""

    @abstractmethod
    def tasks(self) -> Sequence[Task]:
        """Return all tasks at hand, sorted by id."""

    def by_name(self) -> Mapping[str, Task]:
        """Return the tasks at hand by their ids, sorted; a suite may make each when it is asked for."""
        return {task.id: task for task in self.tasks()}

    def varied(self, words: Sequence[str]) -> "Suite":
        """Return the form of this suite that *words* of `variants` mean, called `NAME+WORD`."""
        raise UsageError(f"{self.name} has no variants, such as {words[0]!r}")

    @abstractmethod
    def graders(self) -> Mapping[str, Grader]:
        """Return the graders by name."""

    @abstractmethod
    async def reference(self, task: Task, subject: str, destination: Path, context: GradingContext) -> None:
        """Write what *subject*, one of `subjects`, hands in for *task* into the empty folder *destination*.

        `oracle` passes everything, and `nop` hands in nothing.
        """

    @override
    def __init_subclass__(cls, **options: object) -> None:
        """Refuse what stands in a part that the class has not: nobody would ask for it."""
        super().__init_subclass__(**options)
        for part in PARTS:
            lost = sorted(name for name in vars(cls).keys() & vars(part).keys() if name[0] != "_")
            if lost and not issubclass(cls, part):
                raise TypeError(
                    f"{cls.__name__}.{lost[0]} is of a suite's part {part.__name__}, from which the class has to "
                    f"derive, too: `class {cls.__name__}(Suite, {part.__name__})`"
                )
