"""RepoGenesis: web services in Python and Java, made from a README."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path

from typing_extensions import override

from groundup.domain.errors import TaskError
from groundup.domain.limits import Limits
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import SeedFile, Task
from groundup.domain.verdicts import Verdict
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.base import HERE, Auditor, DataSource, Grader, HiddenCode, Needs, ReportForm, Suite, Summary
from groundup.suites.pulling import PublishedRepository, data_folder
from groundup.suites.repogenesis.data import (
    POM,
    PYTHON,
    README,
    ServiceProblem,
    java_lifecycle,
    lifecycle,
    read_dataset,
    test_environment,
    whether_here,
)
from groundup.suites.repogenesis.legacy_grader import LegacyGrader
from groundup.suites.repogenesis.official import RepoGenesisOfficialGrader
from groundup.suites.repogenesis.report_format import PublishedForm
from groundup.suites.repogenesis.static import StaticGrader
from groundup.suites.repogenesis.strict import RepoGenesisStrictGrader
from groundup.suites.repogenesis.summaries import summaries
from groundup.suites.repogenesis.tasks import ServiceTask, flag_kinds, is_valid, shipped_tasks
from groundup.trees.walking import read_regular
from groundup.trees.writer import copy_tree


def all_graders(problems: Mapping[str, ServiceProblem], settings: Settings) -> Mapping[str, Grader]:
    """Return the graders over *problems*, by name."""
    del settings
    return {
        RepoGenesisStrictGrader.name: RepoGenesisStrictGrader(problems, lifecycle(), java_lifecycle()),
        RepoGenesisOfficialGrader.name: RepoGenesisOfficialGrader(problems, lifecycle(), java_lifecycle()),
        LegacyGrader.name: LegacyGrader(problems, lifecycle(), java_lifecycle()),
        StaticGrader.name: StaticGrader(problems),
    }


_PACKAGE = "groundup.suites.repogenesis"


def oracle_names() -> frozenset[str]:
    """Return the tasks that have one."""
    folder = files(_PACKAGE) / "oracles"
    return frozenset(entry.name for entry in folder.iterdir() if entry.is_dir())


def write_oracle(task: str, destination: Path) -> None:
    """Write the service that solves *task* to the empty folder *destination*. Raises `TaskError`."""
    if task not in oracle_names():
        raise TaskError(f"{task} has no oracle; those that have one: {', '.join(sorted(oracle_names()))}")
    with as_file(files(_PACKAGE) / "oracles" / task) as folder:
        copy_tree(folder, destination)


NAME = "repogenesis"
COMMIT = "c090b7d57e3996c8900e86fecd16085b27e07f29"
_LIMITS = Limits(cpus=2, memory_mb=2048)
_BASE_IMAGES = {"python": "python:3.10-slim", "java": "maven:3.9-eclipse-temurin-17"}

_SPECIFICATION = "\nThe specification, which also lies in README.md:\n\n"


def create(settings: Settings) -> "RepoGenesis":
    """Return the suite, with specifications and hidden tests where the data is at hand."""
    problems = {name: ServiceProblem(task=task) for name, task in shipped_tasks().items()}
    folder = data_folder(NAME, settings)
    version = COMMIT[:7]
    if folder is not None:
        dataset = read_dataset(folder)
        version = dataset.version
        problems |= {problem.task.id: problem for problem in dataset.problems}
    return RepoGenesis(dict(sorted(problems.items())), version, settings)


class RepoGenesisData(DataSource):
    """The publishers' repository."""

    published = PublishedRepository(
        address="https://github.com/microsoft/DKI_LLM",
        commit=COMMIT,
        folder="RepoGenesis/repo",
        licence="MIT",
    )

    @override
    def check(self, folder: Path) -> str:
        """Read task folders and return which release they are."""
        return read_dataset(folder).version


class ServiceAuditor(Auditor):
    """Knows the services' hidden tests."""

    def __init__(self, problems: Mapping[str, ServiceProblem]) -> None:
        self._problems = problems

    @override
    async def hidden(self, task: Task, context: GradingContext) -> HiddenCode | None:
        """Return the test files as they lie in the data. Raises `TaskError` where they are not at hand."""
        problem = self._problems[task.id]
        root = problem.hidden_tests()
        files = {
            str(path.relative_to(root.parent)): read_regular(path).decode(errors="replace")
            for path in sorted(root.rglob("*"))
            if path.suffix in (".py", ".java") and path.is_file()
        }
        return HiddenCode(files=files, specification=problem.readme)

    @override
    def declared(self, task: Task) -> Mapping[str, int]:
        """Return how many tests the task's record counts."""
        return {task.data_version: self._problems[task.id].task.tests.count}


class RepoGenesis(Suite):
    """The suite: tasks from shipped and brought records, texts and hidden tests from the data."""

    name = NAME
    version = "1"
    description = "web services in Python and Java from a README: deployment, hidden tests, API coverage"
    default_grader = "strict"

    def __init__(self, problems: Mapping[str, ServiceProblem], data_version: str, settings: Settings) -> None:
        self.problems = problems
        self._data_version = data_version
        self._settings = settings

    @override
    def tasks(self) -> Sequence[Task]:
        """Return every task, whether its texts are at hand or not."""
        return [self._task(problem) for problem in self.problems.values()]

    @override
    def gradable(self) -> Sequence[str]:
        """Return the tasks whose hidden tests are at hand."""
        return [name for name, problem in self.problems.items() if problem.folder is not None]

    @override
    def referenced(self) -> Collection[str]:
        """Return the tasks for which there is a service of our own."""
        return oracle_names()

    @override
    def groups(self) -> Mapping[str, Collection[str]]:
        """Return the tasks of each language, and those that can be measured by strict."""
        tasks = [problem.task for problem in self.problems.values()]
        languages = {task.language for task in tasks}
        return {
            "valid": [task.id for task in tasks if is_valid(task.flags)],
            **{word: [task.id for task in tasks if task.language == word] for word in sorted(languages)},
        }

    @override
    def published_image(self, task: Task) -> str | None:
        """Return the base image of the task's language."""
        return _BASE_IMAGES.get(self.problems[task.id].task.language)

    @override
    def graders(self) -> Mapping[str, Grader]:
        """Return the graders."""
        return all_graders(self.problems, self._settings)

    @override
    def data_source(self) -> DataSource:
        """Return the publishers' repository."""
        return RepoGenesisData()

    @override
    async def reference(self, task: Task, subject: str, destination: Path, context: GradingContext) -> None:
        """Write our own service for the task, or nothing."""
        if subject == "oracle":
            await asyncio.to_thread(write_oracle, task.id, destination)

    @override
    def report_form(self) -> ReportForm:
        """Return the form of the published harness."""
        return PublishedForm(self.problems)

    @override
    def summaries(self, verdicts: Mapping[AttemptKey, Verdict | None], grader: str) -> Sequence[Summary]:
        """Return the figures by language, as *grader* averages them."""
        return summaries(verdicts, grader, self.problems)

    @override
    def auditor(self) -> Auditor:
        """Return what reads the hidden tests."""
        return ServiceAuditor(self.problems)

    @override
    def needs(self, task: Task) -> Needs:
        """Return the environment of the hidden tests, and a JDK for tasks in Java."""
        problem = self.problems[task.id]
        by_maven = problem.task.means.by_maven
        return Needs(python=PYTHON, environment=test_environment(problem), java=by_maven, packages=not by_maven)

    @override
    def task_rows(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return a row per task."""
        columns = (
            "task",
            HERE,
            "language",
            "validity",
            "hidden tests",
            "endpoints",
            "port",
            "framework",
            "tests",
        )
        return columns, [_row(problem) for problem in self.problems.values()]

    def _task(self, problem: ServiceProblem) -> Task:
        task = problem.task
        return Task(
            id=task.id,
            suite=NAME,
            instruction=None if problem.readme is None else _instruction(task, problem.readme),
            seeds=_seeds(problem),
            limits=_LIMITS,
            data_version=self._data_version,
            metadata={
                "language": task.language,
                "python": PYTHON,
                "framework": task.framework,
                "port": task.port,
                "kind": task.kind,
                "tests": task.tests.count,
                "endpoints": len(task.endpoints),
                "valid": is_valid(task.flags),
            },
        )


def _instruction(task: ServiceTask, readme: str) -> str:
    return task.means.asked.format(port=task.port) + _SPECIFICATION + readme


def _seeds(problem: ServiceProblem) -> tuple[SeedFile, ...]:
    seeds = []
    if problem.readme is not None:
        seeds.append(SeedFile(path=README, content=problem.readme.encode()))
    if problem.pom is not None:
        seeds.append(SeedFile(path=POM, content=problem.pom))
    return tuple(seeds)


def _row(problem: ServiceProblem) -> tuple[str, ...]:
    task: ServiceTask = problem.task
    return (
        task.id,
        whether_here(problem),
        task.language,
        flag_kinds(task.flags),
        str(task.tests.count),
        str(len(task.endpoints)),
        str(task.port),
        task.framework,
        task.kind,
    )
