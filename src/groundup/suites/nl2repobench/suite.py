"""NL2RepoBench: Python libraries from long specifications, judged by the originals' own tests."""

import math
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal, TypeVar

from typing_extensions import override

from groundup.domain.errors import TaskError
from groundup.domain.limits import Limits
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Score, Verdict, counted
from groundup.environments.requests import PythonRequest
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.base import (
    AtHand,
    Auditor,
    Claimed,
    DataSource,
    ForAgents,
    ForCommands,
    Grader,
    Needs,
    Suite,
    Summary,
    Tables,
)
from groundup.suites.nl2repobench.listing import (
    COLUMNS,
    DEFAULT_DATA_VERSION,
    DIFFICULTIES,
    VERSION,
    RecipeHead,
    categories,
    difficulties,
    row,
    shipped_summary,
    slug,
)
from groundup.suites.nl2repobench.published import (
    Nl2RepoBenchData,
    PublishedData,
    pulled,
    withheld_names,
    write_original,
)
from groundup.suites.nl2repobench.recipe import Recipe, shipped_recipes
from groundup.suites.nl2repobench.shipped import shipped_fingerprint

_UNKNOWN = "unknown"
"""The group of a task of which nobody published one."""


def by_difficulty(verdicts: Mapping[AttemptKey, Verdict | None], published: Mapping[str, str]) -> Summary:
    """Return the paper's table: mean score and share of solved attempts over tasks, in all and by difficulty.

    *verdicts* is None where nothing was handed in, which counts 0, as what was tampered with does. What failed
    with the machine is in no mean. *published* are difficulties by task.
    """
    return Summary(
        headline="NL2RepoBench: models by difficulty",
        scores=_grouped(verdicts, published, DIFFICULTIES),
        notes=("difficulty as published",),
        claimed=claimed(),
        layout="paper",
    )


@cache
def claimed() -> tuple[Claimed, ...]:
    """Return what others published of all tasks."""
    text = (files("groundup.suites.nl2repobench") / "claimed.toml").read_text(encoding="utf-8")
    return tuple(
        Claimed(by=by, model=model, scores={"all": {"score": percent / 100}})
        for by, models in tomllib.loads(text).items()
        for model, percent in models.items()
    )


def by_category(verdicts: Mapping[AttemptKey, Verdict | None]) -> Summary:
    """Return the same by the nine categories."""
    return Summary(
        headline="NL2RepoBench: models by category",
        scores=_grouped(verdicts, categories(), tuple(dict.fromkeys(categories().values()))),
        notes=("categories as published, with as many tasks in each; which task is in which was decided here",),
        layout="paper",
    )


def _grouped(
    verdicts: Mapping[AttemptKey, Verdict | None], groups: Mapping[str, str], order: Sequence[str]
) -> dict[str, dict[str, Score]]:
    values: dict[str, dict[str, list[float]]] = {"all": {}}
    for key, verdict in verdicts.items():
        value = counted(verdict)
        if value is not None:
            for name in ("all", groups.get(key.task) or _UNKNOWN):
                values.setdefault(name, {}).setdefault(key.task, []).append(value)
    return {name: _figures(values[name]) for name in ("all", *order, _UNKNOWN) if name in values}


def _figures(tasks: Mapping[str, list[float]]) -> dict[str, Score]:
    """Return means over *tasks* of the means over their attempts."""
    values = [fmean(scores) for scores in tasks.values()]
    solved = [fmean(score == 1.0 for score in scores) for scores in tasks.values()]
    return {
        "score": Score(numerator=math.fsum(values), denominator=len(values)),
        "solved": Score(numerator=math.fsum(solved), denominator=len(values)),
    }


if TYPE_CHECKING:
    from groundup.suites.nl2repobench.official import Installs
    from groundup.trees.fingerprints import Fingerprint

Made = TypeVar("Made")

NAME = "nl2repobench"
_LIMITS = Limits(cpus=1, memory_mb=2048)
_TOLD_OF_GRADING = (
    "Hidden tests run with the packages of the task's own environment: what you install, and what project files "
    "require, is not installed for them. Keep the package at the top or in `src`. Project files (pyproject.toml, "
    "setup.py, setup.cfg) are taken away before, so nothing may read them when it is imported."
)
"""Each grader does so, as the published evaluator does."""
_PAPER = "Ding et al., NL2Repo-Bench, arXiv:2512.12730 (2025), and groundup with its version"
_UNPUBLISHED = "arxiv-mcp-server"
"""The only task that has no image."""


def create(settings: Settings) -> "Nl2RepoBench":
    """Return the suite, with specifications where the published data is at hand."""

    def head(name: str) -> RecipeHead:
        found = shipped_summary(name)
        return found if settings.python is None else found._replace(python=settings.python)

    recipes = shipped_recipes(settings.python)
    return Nl2RepoBench(
        recipes,
        pulled(settings),
        settings.official_installs,
        settings.cache_dir,
        heads=_OnDemand(recipes, head),
        agent_environment=settings.agent_environment,
        has_images=settings.has_unpacked_images,
    )


class Nl2RepoBench(Suite, AtHand, ForAgents, Tables, ForCommands):
    """The suite: tasks from recipes, specifications from the published data."""

    name = NAME
    version = VERSION
    description = "Python libraries written from a specification, judged by the original's hidden tests"
    default_grader = "strict"

    def __init__(
        self,
        recipes: Mapping[str, Recipe],
        published: PublishedData | None = None,
        official_installs: "Installs" = "open",
        cache_dir: Path | None = None,
        *,
        heads: Mapping[str, RecipeHead] | None = None,
        agent_environment: Literal["task", "empty"] = "task",
        has_images: bool = False,
    ) -> None:
        """Make the suite; in *cache_dir* lie this machine's own fresh inputs, and interpreters that uv fetched.

        *heads* are the summaries of *recipes*, where they can be had without reading them whole. *has_images*:
        published images are at hand, so that `official` grades tasks without a recipe.
        """
        self._fresh_folder = None if cache_dir is None else cache_dir / "fresh"
        self._cache_dir = cache_dir
        self._agent_environment = agent_environment
        self._has_images = has_images
        self._recipes = recipes
        self._heads = {name: one.summary() for name, one in recipes.items()} if heads is None else heads
        self._official_installs: Installs = official_installs
        self._published = {} if published is None else {task.id: task for task in published.tasks}
        self._data_version = DEFAULT_DATA_VERSION if published is None else published.version

    @override
    def tasks(self) -> Sequence[Task]:
        """Return every task of which the recipe or the published data is at hand."""
        return [*self.by_name().values()]

    @override
    def by_name(self) -> Mapping[str, Task]:
        """Return them by name, each read when it is asked for: all specifications are 10 MB."""
        return _OnDemand(self._names(), self._task)

    @override
    def gradable(self) -> Sequence[str]:
        return [name for name in self._names() if self._has_recipe(name) or self._in_image(name)]

    @override
    def blocked(self) -> Mapping[str, str]:
        """Return why tasks have no recipe, as it was decided."""
        from groundup.suites.nl2repobench.decisions import decisions  # for the few without a recipe

        decided = decisions()
        gradable = frozenset(self.gradable())
        without = [name for name in self._names() if name in decided and name not in gradable]
        return {name: decided[name].lack for name in without}

    @override
    def in_image_only(self) -> Collection[str]:
        from groundup.suites.nl2repobench.decisions import decisions  # for the few without a recipe

        return [name for name in self.blocked() if decisions()[name].image_only]

    @override
    def referenced(self) -> Collection[str]:
        """Return the tasks whose recipe names an original."""
        return self._heads.keys()

    @override
    def graders(self) -> Mapping[str, Grader]:
        """Return the graders, imported here: who asks for the tasks alone waits for none."""
        from groundup.suites.nl2repobench.fresh import fresh_runs
        from groundup.suites.nl2repobench.official import NL2RepoOfficialGrader
        from groundup.suites.nl2repobench.strict import NL2RepoFullGrader, NL2RepoStrictGrader

        fresh = fresh_runs(self._fresh_folder)
        strict, full = NL2RepoStrictGrader(self._recipes, fresh), NL2RepoFullGrader(self._recipes, fresh)
        official = NL2RepoOfficialGrader(
            self._recipes, self._published, self._official_installs, has_images=self._has_images
        )
        return {grader.name: grader for grader in (strict, full, official)}

    @override
    def data_source(self) -> DataSource:
        return Nl2RepoBenchData()

    @override
    async def reference(self, task: Task, subject: str, destination: Path, context: GradingContext) -> None:
        """Write the original's whole source tree, or nothing."""
        if subject == "oracle":
            recipe = self._recipes.get(task.id)
            if recipe is None:
                raise TaskError(
                    f"{task.id} has no recipe, which names its original; make one with "
                    f"`groundup recipe build {task.id}`"
                )
            await write_original(recipe, destination, context)

    @override
    def agent_environment(self, task: Task) -> PythonRequest | None:
        """Return the recipe's environment: what the library and its tests need, and never the library."""
        recipe = self._recipes.get(task.id) if self._agent_environment == "task" else None
        return None if recipe is None else recipe.environment.request()

    @override
    def told_of_grading(self, task: Task) -> str:
        return _TOLD_OF_GRADING

    @override
    def published_image(self, task: Task) -> str | None:
        """Return the image of the task, of the publishers' first and only release of images."""
        if task.id == _UNPUBLISHED:
            return None
        return f"multimodal-art-projection/nl2repobench/{task.id.lower()}:1.0"

    @override
    def withheld(self, task: Task) -> Collection[str]:
        """Return the distributions that hand out *task*'s original."""
        return withheld_names(task.id, self._recipes.get(task.id))

    @override
    def fingerprint(self, task: Task) -> "Fingerprint | None":
        """Return what lies beside the task's recipe."""
        return shipped_fingerprint(task.id)

    @override
    def auditor(self) -> Auditor:
        """Return what knows the originals, imported here: few ask for it."""
        from groundup.suites.nl2repobench.auditing import LibraryAuditor

        return LibraryAuditor(self._recipes)

    @override
    def needs(self, task: Task) -> Needs:
        """Return the recipe's interpreter, environment and original."""
        recipe = self._recipes.get(task.id)
        if recipe is None:  # the image has all of it
            return Needs()
        request = recipe.environment.request()
        return Needs(
            python=request.python,
            environment=request,
            source=recipe.source_request(),
            graded=recipe.graded_request(),
            programs=recipe.tests.programs,
        )

    @override
    def rights(self, task: Task) -> Sequence[str]:
        recipe = self._recipes.get(task.id)
        original = f"the original, {recipe.source.label}: {recipe.source.licence}; " if recipe else ""
        stated = Nl2RepoBenchData.published.licence
        return (f"licences: {original}the specification: {stated}", f"cite {_PAPER}")

    @override
    def summaries(self, verdicts: Mapping[AttemptKey, Verdict | None], grader: str) -> Sequence[Summary]:
        """Return the paper's table by difficulty, and one by category."""
        return (by_difficulty(verdicts, difficulties()), by_category(verdicts))

    @override
    def groups(self) -> Mapping[str, Collection[str]]:
        """Return the tasks of each published difficulty, and of each category, such as `machine-learning`."""
        found: dict[str, list[str]] = {}
        for name in self._names():
            words = (self._difficulty(name), slug(categories().get(name, "")))
            for word in filter(None, words):
                found.setdefault(word, []).append(name)
        return found

    @override
    def task_rows(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
        """Return a row per task: what is at hand, and what is counted. "-": not known."""
        return COLUMNS, [self._row(name) for name in self._names()]

    def _names(self) -> list[str]:
        return sorted(self._heads.keys() | self._published.keys())

    def _has_recipe(self, name: str) -> bool:
        return name in self._heads and self._heads[name].is_frozen

    def _in_image(self, name: str) -> bool:
        return self._has_images and name in self._published

    def _row(self, name: str) -> tuple[str, ...]:
        published = self._published.get(name)
        has_specification = published is not None and published.is_specified
        head, declared = self._heads.get(name), self._declared(name)
        found = row(
            name,
            head,
            declared,
            self._difficulty(name),
            self._cache_dir,
            has_specification=has_specification,
            source=lambda: self._recipes[name].source_request(),  # noqa: PLW0108 - read only where it is asked
        )
        return found if head is not None else (name, self._without_recipe(name), *found[2:])

    def _without_recipe(self, name: str) -> str:
        from groundup.suites.nl2repobench.decisions import decisions  # for the few without a recipe

        if self._in_image(name):
            return "yes, in its image"
        decided = decisions().get(name)
        return "in its image only" if decided is not None and decided.image_only else "no recipe"

    def _task(self, name: str) -> Task:
        head, published = self._heads.get(name), self._published.get(name)
        return Task(
            id=name,
            suite=NAME,
            instruction=None if published is None else published.specification,
            limits=_LIMITS,
            data_version=self._data_version,
            metadata={
                "declared": self._declared(name),
                "expected": head.expected if head is not None and head.is_frozen else None,
                "difficulty": self._difficulty(name),
                "lines": None if head is None else head.lines,
                "category": categories().get(name),
                "python": None if head is None else head.python,
            },
        )

    def _difficulty(self, name: str) -> str | None:
        return difficulties().get(name)

    def _declared(self, name: str) -> int | None:
        if name in self._published:
            return self._published[name].declared
        return self._heads[name].declared.get(self._data_version)


class _OnDemand(Mapping[str, Made]):
    """Values by their names; each is made when it is asked for, once."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Made]) -> None:
        self._names = dict.fromkeys(names)
        self._make = cache(make)

    @override
    def __getitem__(self, name: str) -> Made:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    @override
    def __len__(self) -> int:
        return len(self._names)

    @override
    def __contains__(self, name: object) -> bool:
        return name in self._names
