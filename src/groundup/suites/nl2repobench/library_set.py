"""What a set of libraries holds besides its manifest: recipes, specifications and kept originals.

    recipes/<task>.toml          as shipped recipes
    recipes/<task>.prints.json   by which copies of the original are known
    recipes/<task>.bundle        the original, where it can be fetched from nowhere
    specifications/<task>.md

The hidden tests are files of the original, which the recipe names.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError
from typing_extensions import override

from groundup.domain.errors import TaskError
from groundup.domain.tasks import Task
from groundup.suites.nl2repobench.published import PublishedData, PublishedTask
from groundup.suites.nl2repobench.recipe import KeptSource, Recipe
from groundup.suites.nl2repobench.recipe_file import RecipeFolder
from groundup.suites.nl2repobench.shipped import FINGERPRINT_SUFFIX
from groundup.suites.sets import SetManifest
from groundup.trees.fingerprints import Fingerprint
from groundup.trees.walking import read_regular

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


def kept_fingerprint(folder: Path, task: Task) -> Fingerprint | None:
    """Return by which copies of *task*'s original are known; None: there is no such file. Raises `TaskError`."""
    place = folder / RECIPES / f"{task.id}{FINGERPRINT_SUFFIX}"
    if not place.is_file():
        return None
    try:
        return Fingerprint.model_validate_json(read_regular(place))
    except ValidationError as error:
        raise TaskError(f"{place} is no fingerprint ({error.error_count()} errors); copy the set again") from error
