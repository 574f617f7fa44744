"""RepoGenesis: web services in Python and Java, made from a README.

Figures by language are averaged as each grader's authors average them. `official` averages leave out repositories
without counted tests or extracted endpoints, and those that were not handed in; `legacy` takes the share of all
endpoints together. The others count every attempt.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.errors import UsageError
from groundup.domain.limits import Limits
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import SeedFile, Task
from groundup.domain.verdicts import Score, Status, Verdict, counted, share
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.base import (
    HERE,
    AtHand,
    Auditor,
    DataSource,
    ForCommands,
    Grader,
    HiddenCode,
    Needs,
    ReportForm,
    Suite,
    Summary,
    Tables,
)
from groundup.suites.places import PublishedRepository, data_folder
from groundup.suites.repogenesis.coverage import StaticGrader
from groundup.suites.repogenesis.legacy_grader import LegacyGrader
from groundup.suites.repogenesis.official import RepoGenesisOfficialGrader
from groundup.suites.repogenesis.report_format import (
    PublishedForm,
    PublishedRepositoryResult,
    Share,
    api_coverage,
    deployment,
    pass_at_1,
    repository,
)
from groundup.suites.repogenesis.strict import RepoGenesisStrictGrader
from groundup.suites.repogenesis.tasks import (
    HINTS,
    OTHER_LANGUAGES,
    POM,
    README,
    ServiceProblem,
    ServiceTask,
    checked_services,
    flag_kinds,
    is_valid,
    java_lifecycle,
    lifecycle,
    oracle_names,
    read_services,
    shipped_tasks,
    test_environment,
    whether_here,
    write_reference,
)
from groundup.trees.walking import read_regular
from groundup.trees.writer import in_thread

ALL = "all"
PUBLISHED = ("official", "published")
LEGACY = "legacy"
_COUNTED = ("files", "loc", "tokens", "functions", "classes", "complexity")

Verdicts = Mapping[AttemptKey, Verdict | None]
Figures = Callable[[Verdicts, Mapping[str, ServiceProblem]], Mapping[str, Score]]


def summaries(
    verdicts: Verdicts, grader: str, problems: Mapping[str, ServiceProblem], words: Sequence[str] = ()
) -> Sequence[Summary]:
    """Return the paper's table, and for graders whose authors publish one, a table by language.

    Runs of a variant, by its *words*, are in tables of their own.
    """
    if grader in PUBLISHED:
        headline, figures = "As the published harness averages", _published
        notes = (
            "left out of averages, as published: no counted test (Pass@1), no endpoint (API coverage), and in all "
            "three what was not handed in",
        )
    elif grader == LEGACY:
        headline, figures = "As the older scripts average", _legacy
        notes = ("API coverage is that of all endpoints together; what was not handed in is in no average",)
    else:
        return (_paper(verdicts, _every_attempt, problems, words),)
    paper = _paper(verdicts, figures, problems, words).but(notes=notes)
    return (_table(headline, figures, verdicts, problems, notes), paper)


_PAPER = {"Pass@1": ("Pass@1", "pass rate"), "AC": ("API coverage",), "DSR": ("deployed",)}
"""What the paper calls figures, and how tables here call them."""


def _paper(
    verdicts: Verdicts, figures: Figures, problems: Mapping[str, ServiceProblem], words: Sequence[str]
) -> Summary:
    """Return the paper's figures by language."""
    scores = {}
    for word, part in _by_language(verdicts, problems).items():
        found = figures(part, problems)
        scores[word] = {
            name: next((found[known] for known in names if known in found), Score(numerator=0, denominator=0))
            for name, names in _PAPER.items()
        }
    several = {word: row for word, row in scores.items() if word != ALL}
    called = "+".join(("RepoGenesis", *words))
    return Summary(headline=f"{called}: agents and models by language", scores=several, layout="paper")


def _every_attempt(verdicts: Verdicts, problems: Mapping[str, ServiceProblem]) -> Mapping[str, Score]:
    """Return means over tasks of all attempts: what was not handed in, or was tampered with, counts 0."""
    found = {}
    for name, score in {"Pass@1": None, "API coverage": "api_coverage", "deployed": "deployed"}.items():
        tasks: dict[str, list[float]] = {}
        for key, one in verdicts.items():
            if (value := counted(one, score)) is not None:
                tasks.setdefault(key.task, []).append(value)
        means = [math.fsum(values) / len(values) for values in tasks.values()]
        found[name] = Score(numerator=math.fsum(means), denominator=len(means))
    return found


def _by_language(verdicts: Verdicts, problems: Mapping[str, ServiceProblem]) -> dict[str, Verdicts]:
    """Return all verdicts on known tasks, and those of each language."""
    known = {key: verdict for key, verdict in verdicts.items() if key.task in problems}
    parts: dict[str, Verdicts] = {ALL: known}
    for word in sorted({problems[key.task].language for key in known}):
        parts[word] = {key: one for key, one in known.items() if problems[key.task].language == word}
    return parts


def _table(
    headline: str,
    figures: Figures,
    verdicts: Verdicts,
    problems: Mapping[str, ServiceProblem],
    notes: tuple[str, ...],
) -> Summary:
    scores = {word: dict(figures(part, problems)) for word, part in _by_language(verdicts, problems).items()}
    columns = tuple(dict.fromkeys(name for row in scores.values() for name in row))
    rows = tuple((word, *(share(row.get(column)) for column in columns)) for word, row in scores.items())
    return Summary(headline=headline, columns=("", *columns), rows=rows, scores=scores, notes=notes)


def _published(verdicts: Verdicts, problems: Mapping[str, ServiceProblem]) -> Mapping[str, Score]:
    """Return the three published averages; failures of the machine count as the harness counts them."""
    found = [
        repository(key.task, verdict, None, problems) for key, verdict in verdicts.items() if verdict is not None
    ]
    averaged: dict[str, Callable[[Sequence[PublishedRepositoryResult]], Share]] = {
        "deployed": deployment,
        "Pass@1": pass_at_1,
        "API coverage": api_coverage,
    }
    shares = {name: average(found) for name, average in averaged.items()}
    return {name: Score(numerator=share.sum, denominator=share.count) for name, share in shares.items()}


def _legacy(verdicts: Verdicts, problems: Mapping[str, ServiceProblem]) -> Mapping[str, Score]:
    """Return the older scripts' averages, and what their repositories hold on average."""
    graded = [one for one in verdicts.values() if one is not None and one.status is Status.GRADED]
    scores = {
        "deployed": _mean([one.scores.get("deployed") for one in graded]),
        "pass rate": _mean([one.score for one in graded]),
        "API coverage": _micro([one.scores.get("api_coverage") for one in graded]),
        "test coverage": _mean([one.scores.get("test_coverage") for one in graded]),
    }
    for name in _COUNTED:
        values = [value for one in graded if isinstance(value := one.facts.get(name), int)]
        scores[name] = Score(numerator=sum(values), denominator=len(values))
    return scores


def _mean(scores: Sequence[Score | None]) -> Score:
    values = [one.value for one in scores if one is not None and one.value is not None]
    return Score(numerator=math.fsum(values), denominator=len(values))


def _micro(scores: Sequence[Score | None]) -> Score:
    found = [one for one in scores if one is not None]
    return Score(numerator=sum(one.numerator for one in found), denominator=sum(one.denominator for one in found))


def all_graders(problems: Mapping[str, ServiceProblem], settings: Settings) -> Mapping[str, Grader]:
    """Return the graders over *problems*, by name."""
    del settings
    return {
        RepoGenesisStrictGrader.name: RepoGenesisStrictGrader(problems, lifecycle(), java_lifecycle()),
        RepoGenesisOfficialGrader.name: RepoGenesisOfficialGrader(problems, lifecycle(), java_lifecycle()),
        LegacyGrader.name: LegacyGrader(problems, lifecycle(), java_lifecycle()),
        StaticGrader.name: StaticGrader(problems),
    }


NAME = "repogenesis"
COMMIT = "c090b7d57e3996c8900e86fecd16085b27e07f29"
_LIMITS = Limits(cpus=2, memory_mb=2048)
_BASE_IMAGES = {"python": "python:3.10-slim", "java": "maven:3.9-eclipse-temurin-17"}

_HINTS = "\nWhat hidden tests want and the specification does not say, which also lies in HINTS.md:\n\n"
_SPECIFICATION = "\nThe specification, which also lies in README.md:\n\n"


def create(settings: Settings) -> "RepoGenesis":
    """Return the suite, with specifications and hidden tests where the data is at hand."""
    folder = data_folder(NAME, settings)
    problems, version = ({}, COMMIT[:7]) if folder is None else read_services(folder)
    if not problems or not all(one.is_own for one in problems.values()):
        problems = {name: ServiceProblem(task=task) for name, task in shipped_tasks().items()} | problems
    known = {name: one.but(stand_in=settings.python) for name, one in sorted(problems.items())}
    return RepoGenesis(known, version, settings)


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
        return checked_services(folder)


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


class RepoGenesis(Suite, AtHand, Tables, ForCommands):
    """The suite: tasks from shipped and brought records, texts and hidden tests from the data."""

    name = NAME
    version = "1"
    description = "web services in Python and Java from a README: deployment, hidden tests, API coverage"
    default_grader = "strict"
    variants = ("hints", *OTHER_LANGUAGES)

    def __init__(
        self,
        problems: Mapping[str, ServiceProblem],
        data_version: str,
        settings: Settings,
        words: Sequence[str] = (),
    ) -> None:
        self.name = "+".join((NAME, *words))
        self.problems = problems
        self._data_version = data_version
        self._settings = settings
        self._words = words
        self._other = next((one for one in OTHER_LANGUAGES if one in words), None)

    @override
    def varied(self, words: Sequence[str]) -> "RepoGenesis":
        """Return the suite whose subjects get hints, or make services in another language, or both.

        Raises `UsageError` for two languages.
        """
        others = [one for one in OTHER_LANGUAGES if one in words]
        if len(others) > 1:
            raise UsageError(f"services are in one language; name {' or '.join(others)}")
        told = {"is_hinted": "hints" in words, "toolchain": next(iter(others), None)}
        varied = {name: one.but(**told) for name, one in self.problems.items()}
        return RepoGenesis(varied, self._data_version, self._settings, words)

    @override
    def tasks(self) -> Sequence[Task]:
        """Return every task, whether its texts are at hand or not."""
        return [self._task(problem) for problem in self.problems.values()]

    @override
    def gradable(self) -> Sequence[str]:
        """Return the tasks whose hidden tests are at hand."""
        return [
            name
            for name, problem in self.problems.items()
            if problem.folder is not None and (problem.toolchain is None or problem.takes_other_languages)
        ]

    @override
    def blocked(self) -> Mapping[str, str]:
        """Return which tasks have no services in another language, where one is asked for."""
        if self._other is None:
            return {}
        others = (name for name, problem in self.problems.items() if not problem.takes_other_languages)
        return dict.fromkeys(others, f"no task for services in {OTHER_LANGUAGES[self._other].named}")

    @override
    def referenced(self) -> Collection[str]:
        """Return the tasks that have a service of our own, or bring one; none in another language."""
        if self._other is not None:
            return ()
        return oracle_names() | {name for name, problem in self.problems.items() if problem.reference is not None}

    @override
    def groups(self) -> Mapping[str, Collection[str]]:
        """Return the tasks of each language, and those that can be measured by strict."""
        tasks = [problem.task for problem in self.problems.values()]
        languages = {task.language for task in tasks}
        return {
            "valid": [name for name, problem in self.problems.items() if is_valid(problem.flags)],
            **{word: [task.id for task in tasks if task.language == word] for word in sorted(languages)},
        }

    @override
    def published_image(self, task: Task) -> str | None:
        return _BASE_IMAGES.get(self.problems[task.id].task.language)

    @override
    def graders(self) -> Mapping[str, Grader]:
        every = all_graders(self.problems, self._settings)
        return {self.default_grader: every[self.default_grader]} if self._other else every

    @override
    def data_source(self) -> DataSource:
        """Return the publishers' repository."""
        return RepoGenesisData()

    @override
    async def reference(self, task: Task, subject: str, destination: Path, context: GradingContext) -> None:
        """Write the task's reference or our own service for it, or nothing."""
        if subject == "oracle":
            await in_thread(write_reference, self.problems[task.id], destination)

    @override
    def report_form(self) -> ReportForm:
        return PublishedForm(self.problems)

    @override
    def summaries(self, verdicts: Mapping[AttemptKey, Verdict | None], grader: str) -> Sequence[Summary]:
        """Return the figures by language, as *grader* averages them."""
        return summaries(verdicts, grader, self.problems, self._words)

    @override
    def auditor(self) -> Auditor:
        """Return what reads the hidden tests."""
        return ServiceAuditor(self.problems)

    @override
    def needs(self, task: Task) -> Needs:
        """Return the environment of the hidden tests, or a JDK for tasks in Java."""
        problem = self.problems[task.id]
        if problem.task.means.by_maven:
            return Needs(java=True)
        return Needs(
            python=next(iter(problem.service_pythons), None),
            environment=test_environment(problem),
            packages=self._other is None,
        )

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
            instruction=None if problem.readme is None else _instruction(problem, problem.readme),
            seeds=_seeds(problem),
            limits=_LIMITS,
            data_version=self._data_version,
            metadata={
                "language": problem.language,
                "python": problem.service_python,
                "framework": task.framework,
                "port": task.port,
                "kind": task.kind,
                "tests": task.tests.count,
                "endpoints": len(task.endpoints),
                "valid": is_valid(problem.flags),
                **({"hints": True} if problem.hints else {}),
            },
        )


def _instruction(problem: ServiceProblem, readme: str) -> str:
    task = problem.task
    version = f"It runs with Python {task.python}.\n" if task.python and problem.toolchain is None else ""
    hints = _HINTS + _page(problem.hints) if problem.hints else ""
    return problem.asked.format(port=task.port) + version + hints + _SPECIFICATION + readme


def _page(hints: Sequence[str]) -> str:
    return "".join(f"- {hint}\n" for hint in hints)


def _seeds(problem: ServiceProblem) -> tuple[SeedFile, ...]:
    seeds = []
    if problem.readme is not None:
        seeds.append(SeedFile(path=README, content=problem.readme.encode()))
    if problem.hints:
        seeds.append(SeedFile(path=HINTS, content=_page(problem.hints).encode()))
    if problem.pom is not None:
        seeds.append(SeedFile(path=POM, content=problem.pom))
    return tuple(seeds)


def _row(problem: ServiceProblem) -> tuple[str, ...]:
    task: ServiceTask = problem.task
    return (
        task.id,
        whether_here(problem),
        task.language,
        flag_kinds(problem.flags),
        f"{task.tests.most} of {task.tests.count}" if task.tests.unpassable else str(task.tests.count),
        str(len(task.endpoints)),
        str(task.port),
        task.framework,
        task.kind,
    )
