"""NL2RepoBench: Python libraries from long specifications, judged by the originals' own tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from groundup.domain.limits import Limits
from groundup.domain.tasks import Task
from groundup.grading.bench import Bench
from groundup.settings import Settings
from groundup.suites.nl2repobench.published import PublishedData, PublishedTask, read_published
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.suites.nl2repobench.shipped import shipped_recipes
from groundup.suites.nl2repobench.strict import StrictGrader
from groundup.suites.protocol import Grader
from groundup.suites.pulling import data_folder
from groundup.trees.copy import copy_tree

NAME = "nl2repobench"
DEFAULT_DATA_VERSION = "781a1da"
"""Whose declared counts are shown while no data has been pulled."""

_EASY_LINES, _MEDIUM_LINES = 1500, 4000
_LIMITS = Limits(cpus=1, memory_mb=2048)


def create(settings: Settings) -> "Nl2RepoBench":
    """Return the suite, with specifications where the published data is at hand."""
    folder = data_folder(NAME, settings)
    return Nl2RepoBench(shipped_recipes(), None if folder is None else read_published(folder))


class Nl2RepoBench:
    """The suite: tasks from recipes, specifications from the published data."""

    name = NAME
    version = "1"
    description = "Python libraries written from a specification, judged by the original's hidden tests"
    default_grader = "strict"

    def __init__(self, recipes: Mapping[str, Recipe], published: PublishedData | None = None) -> None:
        self._recipes = recipes
        self._published = {} if published is None else {task.id: task for task in published.tasks}
        self._data_version = DEFAULT_DATA_VERSION if published is None else published.version

    def tasks(self) -> Sequence[Task]:
        """Return the tasks that have a recipe."""
        return [self._task(self._recipes[name]) for name in sorted(self._recipes)]

    def graders(self) -> Mapping[str, Grader]:
        """Return the graders."""
        return {StrictGrader.name: StrictGrader(self._recipes)}

    async def reference(self, task: Task, kind: Literal["oracle", "nop"], destination: Path, bench: Bench) -> None:
        """Write the original's whole source tree, or nothing."""
        if kind == "oracle":
            source = await bench.builder.source(self._recipes[task.id].source_request())
            copy_tree(source.path, destination)

    def task_rows(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return a row per task: what is at hand, and what is counted."""
        columns = ("task", "band", "specification", "original", "python", "expected", "declared")
        return columns, [self._row(self._recipes[name]) for name in sorted(self._recipes)]

    def _row(self, recipe: Recipe) -> tuple[str, ...]:
        published = self._published.get(recipe.task)
        has_specification = published is not None and published.specification is not None
        return (
            recipe.task,
            _band(recipe) or "-",
            "yes" if has_specification else "no",
            f"{recipe.source.name} {recipe.source.version}",
            recipe.environment.python,
            str(len(recipe.expected)),
            str(self._declared(recipe, published) or "-"),
        )

    def _task(self, recipe: Recipe) -> Task:
        published = self._published.get(recipe.task)
        return Task(
            id=recipe.task,
            suite=NAME,
            instruction=None if published is None else published.specification,
            limits=_LIMITS,
            data_version=self._data_version,
            metadata={
                "declared": self._declared(recipe, published),
                "band": _band(recipe),
                "python": recipe.environment.python,
            },
        )

    def _declared(self, recipe: Recipe, published: PublishedTask | None) -> int | None:
        return recipe.declared_count(self._data_version) if published is None else published.declared


def _band(recipe: Recipe) -> str | None:
    """Return the benchmark's size band, computed from the original; its publishers give none per task."""
    if recipe.frozen is None:
        return None
    lines = recipe.frozen.original_lines
    return "easy" if lines <= _EASY_LINES else "medium" if lines < _MEDIUM_LINES else "hard"
