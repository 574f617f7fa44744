"""A benchmark whose submissions say themselves how grading them shall go; reached by dotted path."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from typing_extensions import override

from groundup.domain.digests import digest_bytes
from groundup.domain.errors import (
    InfrastructureError,
    MachineError,
    NoSandboxesError,
    SandboxError,
    SubmissionError,
    TaskError,
    UsageError,
)
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, TestResult, Verdict
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import AnySource, Layer, PythonEnvironment, PythonRequest
from groundup.grading.context import GradingContext
from groundup.registries.cache import FetchCache
from groundup.registries.ledger import Trouble
from groundup.registries.pypi.client import PyPIClient
from groundup.registries.pypi.gateway import PyPIGateway
from groundup.registries.settings import Index, RegistrySettings
from groundup.sandbox.protocol import Enforcement, Pod, Sandbox, SandboxProvider, SandboxSpec
from groundup.settings import Settings
from groundup.suites.base import AtHand, ForAgents, Graded, Grader, Suite, Tables
from groundup.suites.places import data_folder

BEHAVIOUR = "behaviour"
"""The file of a submission that says how grading goes: a word, perhaps with a number."""
TESTS = ("first", "second")
ERRORS = {
    "infrastructure": InfrastructureError("the network is down"),
    "machine": MachineError("no interpreter is on this machine"),
    "task": TaskError("its recipe cannot be built"),
    "submission": SubmissionError("its own requirements do not resolve"),
}


class Unreached(PyPIGateway):
    """A gateway whose registry failed."""

    def __init__(self) -> None:
        nowhere = RegistrySettings(indexes=(Index(url="http://127.0.0.1:9"),))
        super().__init__(PyPIClient(nowhere, FetchCache(Path("/nonexistent"))))

    @property
    @override
    def troubles(self) -> tuple[Trouble, ...]:
        """Return what a submission's own pip could not get."""
        return (Trouble(kind="network", name="flask", message="the index answers with HTTP 503"),)


def _passing(word: str, argument: str, context: GradingContext) -> int:
    """Return how many tests pass: `slow` needs so many seconds; every second `varies`, by its file, loses one."""
    if word == "slow":
        return 2 if (context.timeout_s or 60) >= float(argument) else 0
    turns = len(Path(argument).read_text()) if Path(argument).exists() else 0
    Path(argument).write_text("x" * (turns + 1))
    return 2 - turns % 2


def _interfere(word: str, place: str) -> None:
    """Send a ^C for when grading has ended, or leave no room on the disk: at a *place*, while nothing is there."""
    if word == "stopped":
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().call_soon(task.cancel)
        return
    if place and Path(place).exists():
        return
    if place:
        Path(place).write_text("been here")
    raise OSError(28, "No space left on device", "/somewhere")


class ToyGrader(Grader):
    """Obeys the submission. Every grading leaves a file in *journal*, when the suite has one."""

    def __init__(self, name: str, version: str, journal: Path | None) -> None:
        self.name = name
        self.version = version
        self.journal = journal
        self.running = 0
        self.most_running = 0

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return the task's limit."""
        return task.limits.memory_mb

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what a real grader would: the oracle's digest."""
        return {"oracle": digest_bytes(task.id.encode()), "version": self.version}

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return 0 of 2."""
        return self._graded(0, (reason,))

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Do what the submission says."""
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            (context.scratch / "workspace").mkdir()
            (context.scratch / "workspace" / "copy").write_text(task.id)
            if self.journal:
                self.journal.mkdir(parents=True, exist_ok=True)
                with (self.journal / task.id).open("a") as file:
                    file.write("graded\n")
            return await self._obey(submission, context)
        finally:
            self.running -= 1

    @override
    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Return a layer whose digest is the first line of a file beside the journal, if there is one."""
        file = self.journal.parent / "layer" if self.journal else None
        return {"toy": file.read_text() if file and file.exists() else "none"}

    @override
    async def sandbox_spec(self, task: Task, workspace: Path, context: GradingContext) -> SandboxSpec:
        """Return a plain sandbox with a variable that shows who made it."""
        return SandboxSpec(workspace=workspace, environment={"TOY": task.id})

    async def _obey(self, submission: Path, context: GradingContext) -> Graded:
        path = submission / BEHAVIOUR
        word, _, argument = (path.read_text().strip() if path.exists() else "fail").partition(" ")
        if word in ERRORS:
            raise ERRORS[word]
        match word:
            case "sleep":
                await asyncio.sleep(float(argument))
            case "once":  # fails as long as there is nothing at the given place
                if not Path(argument).exists():
                    Path(argument).write_text("been here")
                    raise InfrastructureError("the network was down for a moment")
            case "unreached":  # its own installer met a registry that failed; so many of its tests pass
                context.lent.append(Unreached())
                return self._graded(int(argument))
            case "varies" | "slow":
                return self._graded(_passing(word, argument, context))
            case "crash":
                raise ZeroDivisionError("a bug of the grader")
            case "full" | "stopped":
                _interfere(word, argument)
            case "timeout":
                return self._graded(0, (Reason(stage=Stage.TIMEOUT, message="too slow"),), cacheable=False)
            case "fail":
                return self._graded(0, (Reason(stage=Stage.TEST, message="nothing passed"),))
            case "half":
                return self._graded(1, (Reason(stage=Stage.TEST, message="one failed"),))
        return self._graded(2)

    def _graded(self, passed: int, reasons: tuple[Reason, ...] = (), *, cacheable: bool = True) -> Graded:
        return Graded(
            verdict=Verdict(
                status=Status.GRADED,
                score=Score(numerator=passed, denominator=len(TESTS)),
                reasons=reasons,
                grader=GraderIdentity(name=self.name, version=self.version, environment="none"),
                cacheable=cacheable,
            ),
            tests=tuple(
                TestResult(id=name, outcome="passed" if number < passed else "failed", expected=True)
                for number, name in enumerate(TESTS)
            ),
            logs={"grading.log": b"obeyed\n"},
        )


class ToySuite(Suite, Tables):
    """So many tasks, two graders."""

    name = "toy"
    description = "obeys its submissions"
    default_grader = "strict"

    def __init__(
        self,
        tasks: int = 20,
        *,
        version: str = "1",
        journal: Path | None = None,
        memory_mb: int = 16,
        written: bool = False,
        **fields: object,
    ) -> None:
        self.version = version
        self._tasks = [
            Task.model_validate(
                {
                    "id": f"task-{number:04}",
                    "suite": "toy",
                    "instruction": f"Write task-{number:04}." if written else None,
                    "limits": {"memory_mb": memory_mb},
                    "data_version": version,
                    **fields,
                }
            )
            for number in range(tasks)
        ]
        self._graders = {
            name: ToyGrader(name, grader_version, journal)
            for name, grader_version in (("strict", "1"), ("lax", "7"))
        }

    @override
    def tasks(self) -> Sequence[Task]:
        """Return the tasks."""
        return self._tasks

    @override
    def graders(self) -> Mapping[str, ToyGrader]:
        """Return the graders."""
        return self._graders

    @override
    async def reference(self, task: Task, subject: str, destination: Path, context: GradingContext) -> None:
        """Write a submission that passes after a moment, or nothing."""
        if subject == "oracle":
            (destination / BEHAVIOUR).write_text("sleep 0.002")
            (destination / "name").write_text(task.id)

    @override
    def task_rows(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return the ids."""
        return ("id",), [(task.id,) for task in self._tasks]


def create(settings: Settings) -> ToySuite:
    """Return twenty tasks that note each grading beside the cache."""
    return ToySuite(journal=settings.cache_dir.parent / "gradings")


def create_two(settings: Settings) -> ToySuite:
    """Return two tasks."""
    return ToySuite(2, journal=settings.cache_dir.parent / "gradings")


def create_shrinking(settings: Settings) -> ToySuite:
    """Return as many tasks as a file `tasks` beside the cache says."""
    return ToySuite(int((settings.cache_dir.parent / "tasks").read_text()))


def create_newer(settings: Settings) -> ToySuite:
    """Return the two tasks of a later version."""
    return ToySuite(2, version="2")


def create_written(settings: Settings) -> ToySuite:
    """Return two tasks that an agent can do."""
    return ToySuite(2, journal=settings.cache_dir.parent / "gradings", written=True)


def create_pulled(settings: Settings) -> ToySuite:
    """Return two tasks with instruction and seeds, once there is a file `instruction` beside the cache."""
    pulled = (settings.cache_dir.parent / "instruction").exists()
    seeds = ({"path": "README", "content": b"Write it."},) if pulled else ()
    return ToySuite(2, journal=settings.cache_dir.parent / "gradings", written=pulled, seeds=seeds)


def create_eight_written(settings: Settings) -> ToySuite:
    """Return eight tasks that an agent can do."""
    return ToySuite(8, journal=settings.cache_dir.parent / "gradings", written=True)


class ChoosyGrader(ToyGrader):
    """Cannot grade the last of three tasks."""

    @override
    def check(self, task: Task) -> None:
        """Refuse it."""
        if task.id == "task-0002":
            raise TaskError("task-0002 has no recipe; make one")


class LackingSuite(ToySuite, AtHand):
    """One task of three has no oracle, one cannot be graded."""

    @override
    def graders(self) -> Mapping[str, ToyGrader]:
        """Return one that says so."""
        return {"strict": ChoosyGrader("strict", "1", None)}

    @override
    def gradable(self) -> tuple[str, ...]:
        """Return two."""
        return ("task-0000", "task-0001")

    @override
    def referenced(self) -> tuple[str, ...]:
        """Return two, one of which cannot be graded."""
        return ("task-0001", "task-0002")

    @override
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the first two tasks as a group."""
        return {"early": ("task-0000", "task-0001"), "late": ("task-0001", "task-0002")}


def create_lacking(settings: Settings) -> LackingSuite:
    """Return three tasks that lack something."""
    return LackingSuite(3)


class EmptySuite(ToySuite, AtHand):
    """A suite whose data is not at hand."""

    @override
    def gradable(self) -> tuple[str, ...]:
        """Return none."""
        return ()


def create_empty(settings: Settings) -> EmptySuite:
    """Return tasks that no one can grade."""
    return EmptySuite(2)


class SeededSuite(ToySuite, ForAgents):
    """A task that asks for edits of files that are there."""

    @override
    def write_seeds(self, task: Task, destination: Path) -> None:
        """Write a file to change and one to leave alone."""
        for name, text in ((BEHAVIOUR, "fail"), ("folder/other", "as it is")):
            (destination / name).parent.mkdir(parents=True, exist_ok=True)
            (destination / name).write_text(text)

    @override
    def withheld(self, task: Task) -> tuple[str, ...]:
        """Return a name."""
        return ("the-original",)


def create_edits(settings: Settings) -> SeededSuite:
    """Return one task that asks for edits."""
    return SeededSuite(1, journal=settings.cache_dir.parent / "gradings", written=True, deliverable="edits")


class UnevenGrader(ToyGrader):
    """Knows that later tasks take longer."""

    @override
    def expected_s(self, task: Task) -> float:
        """Return the task's number."""
        return float(task.id[-4:])


class UnevenSuite(ToySuite):
    """Tasks that take the longer the later they come."""

    @override
    def graders(self) -> Mapping[str, ToyGrader]:
        """Return one."""
        return {"strict": UnevenGrader("strict", "1", None)}


def create_uneven(settings: Settings) -> UnevenSuite:
    """Return five tasks."""
    return UnevenSuite(5)


def create_thousand(settings: Settings) -> ToySuite:
    """Return a thousand tasks."""
    return ToySuite(1000)


class ToyProvider:
    """A provider that opens nothing."""

    name = "toy"
    guests_are_others = False

    def __init__(self, closing_s: float = 0) -> None:
        self.closing_s = closing_s

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Refuse."""
        raise SandboxError("the toy provider opens nothing")

    async def pod(self) -> Pod:
        """Refuse."""
        raise SandboxError("the toy provider opens nothing")

    def enforcement(self) -> Enforcement:
        """Say that nothing is enforced."""
        return Enforcement(cpus="none", memory="none", processes="none", disk="none", network="none")

    def identity(self) -> Mapping[str, str]:
        """Return name and version."""
        return {"toy": "1"}

    async def close(self) -> None:
        """Take its time."""
        await asyncio.sleep(self.closing_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


def create_provider(settings: Settings) -> ToyProvider:
    """Return a provider."""
    return ToyProvider()


def create_broken_provider(settings: Settings) -> ToyProvider:
    """Return a provider, but on a machine whose variable says that no sandbox can be opened."""
    if "TOY_WITHOUT_SANDBOXES" in os.environ:
        raise NoSandboxesError("the toy engine does not answer")
    return ToyProvider()


def create_stubborn_provider(settings: Settings) -> ToyProvider:
    """Return a provider that does not want to close."""
    return ToyProvider(closing_s=600)


class ToyBuilder(EnvironmentBuilder):
    """A builder that builds nothing."""

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Refuse."""
        raise TaskError("the toy builder builds nothing")

    @override
    async def source(self, request: AnySource) -> Layer:
        """Refuse."""
        raise TaskError("the toy builder builds nothing")

    @override
    def identity(self) -> Mapping[str, str]:
        """Return nothing."""
        return {}


def create_builder(settings: Settings, provider: SandboxProvider) -> ToyBuilder:
    """Return a builder."""
    return ToyBuilder()


def create_of_data(settings: Settings) -> Suite:
    """Return the suite whose tasks have the data of this name; it cannot be had without."""
    folder = data_folder("toy", settings)
    if folder is None:
        raise UsageError("this machine has no data of toy; run `groundup data pull toy`")
    return ToySuite(2, version=(folder / "version").read_text())
