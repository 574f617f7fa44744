"""DI-Bench: what a repository depends on, inferred from its source, judged by its own build files."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from typing_extensions import override

from groundup.catalog import Table
from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.environments.installed_tools import toolchain_lack
from groundup.grading.context import GradingContext
from groundup.languages import LANGUAGES
from groundup.registries.names import Names, names_of
from groundup.settings import Settings, environment
from groundup.suites.base import (
    HERE,
    PATCH_FILE,
    YES,
    Ablation,
    AtHand,
    DataSource,
    ForAgents,
    ForCommands,
    Grader,
    PackageName,
    Suite,
    Summary,
    Tables,
)
from groundup.suites.dibench.ablations import DependencyAblation
from groundup.suites.dibench.dataset import (
    NAME,
    PREDICTION_GROUPS,
    DiBenchData,
    InstanceProblem,
    InstanceSet,
    pulled_dataset,
)
from groundup.suites.dibench.execution import ExecutionGrader
from groundup.suites.dibench.execution_validity import (
    Originals,
    known_originals,
    valid_ids,
    validity_file,
)
from groundup.suites.dibench.registry_check import asked_names, withheld_names
from groundup.suites.dibench.sizes import set_statistics
from groundup.suites.dibench.summaries import run_summaries
from groundup.suites.dibench.textual import DIBenchOfficialGrader, DIBenchStrictGrader

InstanceSubject = Callable[[InstanceProblem, Path], None]
"""Writes what it hands in for an instance into an empty folder."""
SUBJECTS: Table[InstanceSubject] = Table("subject", {})
_INSTRUCTION = """The dependencies of this {language} repository are missing from its build files: {files}.

Find out from its source code which packages it needs, and write them into these files, so that the project can be
installed and its tests pass. Change nothing else.
"""


def create(settings: Settings) -> "DiBench":
    """Return the suite over the pulled data, which may be absent."""
    dataset = pulled_dataset(settings)
    names = names_of(settings.registry, settings.cache_dir, environment())
    return DiBench(dataset, names, validity_file(settings), settings.ci_exclude_newer, settings.ci_timeout_s)


class DiBench(Suite, AtHand, ForAgents, Tables, ForCommands):
    """The suite. `registry` of the settings says who is asked whether packages exist."""

    name = NAME
    version = "1"
    description = "Dependencies of real repositories in four languages, inferred from their source"
    default_grader = "strict"
    prediction_groups: tuple[str, ...] = PREDICTION_GROUPS
    takes_patches = True

    def __init__(
        self,
        dataset: InstanceSet,
        names: Names,
        validity: Path | None = None,
        exclude_newer: str = "commit",
        ci_timeout_s: float = 1800.0,
    ) -> None:
        self.subjects = ("oracle", "nop", *SUBJECTS.names())
        self._dataset = dataset
        self.validity = validity
        self._exclude_newer = exclude_newer
        self._ci_timeout_s = ci_timeout_s
        self.problems = {problem.id: problem for problem in dataset.problems}
        self._names = names

    @override
    def data_source(self) -> DataSource:
        """Return the publishers' release."""
        return DiBenchData()

    @override
    def tasks(self) -> Sequence[Task]:
        """Return the problems at hand. Raises `UsageError` when no data was pulled."""
        if not self.problems:
            raise UsageError(
                "this machine has no data of dibench; download the archives of its release and run "
                "`groundup data pull dibench --from FOLDER` (docs/dibench.md)"
            )
        return [self._task(problem) for problem in self._dataset.problems]

    @override
    def graders(self) -> Mapping[str, Grader]:
        return {
            DIBenchStrictGrader.name: DIBenchStrictGrader(self.problems, self._names),
            DIBenchOfficialGrader.name: DIBenchOfficialGrader(self.problems, self._names),
            ExecutionGrader.name: self.execution_grader(self._names, self._originals),
        }

    def execution_grader(self, names: Names | None = None, originals: Originals | None = None) -> ExecutionGrader:
        return ExecutionGrader(self.problems, self._exclude_newer, self._ci_timeout_s, names, originals)

    @cached_property
    def _originals(self) -> Originals:
        """How many tests pass with the original, where its validation counted them."""
        problems = self._dataset.problems
        return known_originals(self._dataset.validity, problems) | known_originals(self.validity, problems)

    @override
    def groups(self) -> Mapping[str, Collection[str]]:
        """Return the tasks of each language and subset, and those whose execution was found valid."""
        problems = self._dataset.problems
        valid = valid_ids(self.validity, problems) | valid_ids(self._dataset.validity, problems)
        found: dict[str, list[str]] = {"valid": sorted(valid)}
        for problem in problems:
            for name in (problem.instance.language, problem.subset):
                found.setdefault(name, []).append(problem.id)
        return found

    @override
    async def reference(self, task: Task, subject: str, destination: Path, context: GradingContext) -> None:
        """Write the published patch, nothing, or the build files as inference without a model makes them."""
        problem = self.problems[task.id]
        if subject == "oracle":
            (destination / PATCH_FILE).write_bytes(problem.instance.patch.encode())
        elif subject != "nop":
            SUBJECTS.find(subject)(problem, destination)

    @override
    def write_seeds(self, task: Task, destination: Path) -> None:
        """Copy the masked repository."""
        self.problems[task.id].copy_to(destination)

    @override
    def withheld(self, task: Task) -> Collection[str]:
        """Return the distributions whose metadata would tell *task*'s dependencies."""
        return withheld_names(self.problems[task.id])

    @override
    def task_rows(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return a row per problem."""
        self.tasks()
        columns = ("task", HERE, "language", "subset", "build files")
        return columns, [
            (
                problem.id,
                YES if problem.repository.is_dir() else "no repository",
                problem.instance.language,
                problem.subset,
                ", ".join(problem.instance.build_files),
            )
            for problem in self._dataset.problems
        ]

    @override
    def beside(self) -> Sequence[str]:
        """Return which languages' jobs cannot be executed here for want of a toolchain."""
        counts = Counter(problem.instance.language for problem in self._dataset.problems)
        found = []
        for language, count in counts.items():
            record = LANGUAGES[language]
            lack = toolchain_lack(record.toolchain, environment()) if record.toolchain else ""
            if lack:
                found.append(
                    f"jobs of {count} task{'s' * (count > 1)} in {record.name} cannot be executed: {lack}"
                )
        return found

    @override
    def statistics(self) -> Summary:
        """Return files, lines, tokens, dependencies and tests by language and subset."""
        self.tasks()
        return set_statistics(self._dataset.problems)

    @override
    def packages(self, task: Task, submission: Path | None) -> Collection[PackageName]:
        """Return what a prediction declares, or what the original does."""
        return asked_names(self.problems[task.id], submission)

    @override
    def ablation(self) -> Ablation:
        """Return what mends versions or takes invented names out."""
        return DependencyAblation(self.problems, self._names)

    @override
    def summaries(self, verdicts: Mapping[AttemptKey, Verdict | None], grader: str) -> Sequence[Summary]:
        """Return rates by language, subset, kind, number of dependencies and size."""
        strict = DIBenchStrictGrader(self.problems, self._names)
        return run_summaries(
            verdicts, grader, lambda task: strict.missing(task) if task in self.problems else None
        )

    def _task(self, problem: InstanceProblem) -> Task:
        instance = problem.instance
        instruction = _INSTRUCTION.format(language=problem.language, files=", ".join(instance.build_files))
        if self._dataset.remark:
            instruction += f"\n{self._dataset.remark}\n"
        return Task(
            id=problem.id,
            suite=NAME,
            instruction=instruction,
            deliverable="edits",
            data_version=self._dataset.version,
            metadata={
                "language": instance.language,
                "subset": problem.subset,
                "build_files": json.dumps(instance.build_files),
                "repository": instance.metadata.full_name,
                "commit": instance.metadata.commit_sha,
            },
        )
