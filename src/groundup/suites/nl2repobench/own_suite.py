"""The suite with the published tasks, or with a set of libraries in their place, and what such a set holds.

    recipes/<task>.toml          as shipped recipes
    recipes/<task>.prints.json   by which copies of the original are known
    recipes/<task>.bundle        the original, where it can be fetched from nowhere
    specifications/<task>.md

The hidden tests are files of the original, which the recipe names.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError
from typing_extensions import override

from groundup.domain.errors import TaskError
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.settings import Settings
from groundup.suites.base import Grader, Summary
from groundup.suites.nl2repobench import suite
from groundup.suites.nl2repobench.published import PublishedData, PublishedTask
from groundup.suites.nl2repobench.recipe import KeptSource, Recipe, RecipeFolder
from groundup.suites.nl2repobench.shipped import FINGERPRINT_SUFFIX
from groundup.suites.places import data_folder
from groundup.suites.sets import SetManifest, is_set, read_manifest
from groundup.trees.walking import read_regular

if TYPE_CHECKING:
    from groundup.trees.fingerprints import Fingerprint

RECIPES = "recipes"
SPECIFICATIONS = "specifications"
BUNDLE = ".bundle"


class SetRecipes(RecipeFolder):
    """The recipes of a set, which know where its originals lie."""

    def __init__(self, folder: Path, python: str | None = None) -> None:
        """Look which recipes there are."""
        super().__init__(folder / RECIPES, python)
        self._place = folder / RECIPES

    @override
    def __getitem__(self, task: str) -> Recipe:
        recipe = super().__getitem__(task)
        if not isinstance(recipe.source, KeptSource):
            return recipe
        return recipe.but(source=recipe.source.within(self._place))


def data_of(folder: Path, manifest: SetManifest, recipes: Mapping[str, Recipe]) -> PublishedData:
    """Return the specifications in the form of published data; what is declared is what is expected."""
    tasks = []
    for task in manifest.tasks:
        text = read_regular(folder / SPECIFICATIONS / f"{task.id}.md").decode()
        arguments = recipes[task.id].tests.arguments
        published = PublishedTask(
            id=task.id, text=text, commands=("pytest",), test_files=arguments, declared=task.tests
        )
        tasks.append(published)
    return PublishedData(tasks=tuple(tasks), version=manifest.label)


def kept_fingerprint(folder: Path, task: Task) -> "Fingerprint | None":
    """Return by which copies of *task*'s original are known; None: there is no such file. Raises `TaskError`."""
    from groundup.trees.fingerprints import Fingerprint

    place = folder / RECIPES / f"{task.id}{FINGERPRINT_SUFFIX}"
    if not place.is_file():
        return None
    try:
        return Fingerprint.model_validate_json(read_regular(place))
    except ValidationError as error:
        raise TaskError(f"{place} is no fingerprint ({error.error_count()} errors); copy the set again") from error


def create(settings: Settings) -> suite.Nl2RepoBench:
    """Return the suite with the data that *settings* lead to. Raises `UsageError`."""
    folder = data_folder(suite.NAME, settings)
    if folder is not None and is_set(folder):
        return _of_set(folder, settings)
    return suite.create(settings)


def _of_set(folder: Path, settings: Settings) -> "OwnLibraries":
    manifest = read_manifest(folder)
    recipes = SetRecipes(folder, settings.python)
    made = OwnLibraries(
        {task.id: recipes[task.id] for task in manifest.tasks},
        data_of(folder, manifest, recipes),
        cache_dir=settings.cache_dir,
        agent_environment=settings.agent_environment,
    )
    made.folder = folder
    return made


class OwnLibraries(suite.Nl2RepoBench):
    """Tasks that nobody published: no image, no declared count, no publishers' way to grade them."""

    folder: Path
    """Of the set."""

    @override
    def graders(self) -> Mapping[str, Grader]:
        from groundup.suites.nl2repobench.strict import NL2RepoFullGrader, NL2RepoStrictGrader

        # Fresh inputs that ship are of published tasks, which may have the same names.
        strict, full = NL2RepoStrictGrader(self._recipes), NL2RepoFullGrader(self._recipes)
        return {grader.name: grader for grader in (strict, full)}

    @override
    def fingerprint(self, task: Task) -> "Fingerprint | None":
        """Return what lies beside the task's recipe in the set."""
        return kept_fingerprint(self.folder, task)

    @override
    def published_image(self, task: Task) -> None:
        """Return None: nobody publishes one."""

    @override
    def summaries(self, verdicts: Mapping[AttemptKey, Verdict | None], grader: str) -> Sequence[Summary]:
        """Return none: the published tables are of the published tasks."""
        return ()

    @override
    def _difficulty(self, name: str) -> None:
        return None

    @override
    def _declared(self, name: str) -> int | None:
        return None
