"""A set of libraries of one's own: a folder with a manifest, recipes, specifications and kept originals.

    set.json                     name, version, kind, and of each task its licence and digests
    entries.jsonl                what became of each entry, in the order in which that was settled
    recipes/<task>.toml          as shipped recipes
    recipes/<task>.prints.json   by which copies of the original are known
    recipes/<task>.bundle        the original, where it can be fetched from nowhere
    specifications/<task>.md

The hidden tests are files of the original, which the recipe names.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from typing_extensions import override

from groundup.domain.digests import digest_bytes, digest_of, short
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.names import Name
from groundup.domain.records import Record, plainly
from groundup.domain.tasks import Task
from groundup.suites.base import SET_FILE
from groundup.suites.nl2repobench.published import PublishedData, PublishedTask
from groundup.suites.nl2repobench.recipe import KeptSource, Recipe
from groundup.suites.nl2repobench.recipe_file import RecipeFolder
from groundup.suites.nl2repobench.shipped import FINGERPRINT_SUFFIX
from groundup.trees.fingerprints import Fingerprint
from groundup.trees.walking import read_regular

MANIFEST = SET_FILE
RECIPES = "recipes"
SPECIFICATIONS = "specifications"
BUNDLE = ".bundle"


class SetTask(Record):
    """One task of a set."""

    id: Name
    entry: str = Field(description="what was asked for")
    source: str = Field(description="what the original is called")
    licence: str = Field(description="of the original, as it states it")
    specification: Literal["extracted"] = "extracted"
    tests: int = Field(ge=1, description="expected ones")
    left_out: int = Field(ge=0)
    files: dict[str, str] = Field(description="path in the set -> digest")


class SetManifest(Record):
    """What a set is."""

    format: Literal[1] = 1
    name: Name
    version: str = Field(min_length=1, max_length=60)
    kind: Literal["library"] = "library"
    canary: str = Field(
        description="stands in each specification, so that a training corpus can be searched for it"
    )
    tasks: tuple[SetTask, ...] = ()

    @property
    def digest(self) -> str:
        """Of all that decides a verdict, and the texts."""
        return digest_of({task.id: task.files for task in self.tasks})

    @property
    def label(self) -> str:
        """Which data this is, in verdicts."""
        return f"{self.name} {self.version} {short(self.digest)}"


def is_set(folder: Path) -> bool:
    """Whether *folder* has a manifest."""
    return (folder / MANIFEST).is_file()


def read_manifest(folder: Path) -> SetManifest:
    """Return the manifest of the set in *folder*. Raises `UsageError`."""
    path = folder / MANIFEST
    try:
        return SetManifest.model_validate_json(read_regular(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name the folder of a set") from error
    except ValidationError as error:
        raise UsageError(f"{path} is no manifest of a set: {plainly(error.errors()[0])}") from error


def checked_set(folder: Path) -> SetManifest:
    """Return the manifest of the set in *folder*, whose files are as it says. Raises `UsageError`."""
    manifest = read_manifest(folder)
    for task in manifest.tasks:
        for place, digest in task.files.items():
            try:
                found = digest_bytes(read_regular(folder / place))
            except OSError as error:
                raise UsageError(
                    f"{folder / place} cannot be read: {error.strerror}; copy the set again"
                ) from error
            if found != digest:
                raise UsageError(
                    f"{folder / place} is not as {MANIFEST} says; copy the set again, or if the change is yours, "
                    f"`groundup curate set -o {folder}` brings the manifest up to date"
                )
    return manifest


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
            id=task.id, specification=text, commands=("pytest",), test_files=arguments, declared=task.tests
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
