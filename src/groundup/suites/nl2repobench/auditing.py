"""What an audit knows of a library's task: stub and copies as submissions, hidden tests, answers within reach."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.environments.requests import ENVIRONMENT_TARGET
from groundup.grading.bench import Bench
from groundup.suites.base import Auditor, HiddenCode
from groundup.suites.nl2repobench.carriers import write_best_copy
from groundup.suites.nl2repobench.fingerprints import fingerprint_of
from groundup.suites.nl2repobench.maker.controls import stub_of
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.contents import Contents, contents_of_folder
from groundup.trees.fingerprints import Fingerprint, prints_of
from groundup.trees.walking import read_regular

STUB, PACKAGE = "stub", "package"


class LibraryAuditor(Auditor):
    """Knows the originals by their recipes."""

    controls = (STUB, PACKAGE)

    def __init__(self, recipes: Mapping[str, Recipe]) -> None:
        self._recipes = recipes

    @override
    async def write(self, control: str, task: Task, destination: Path, bench: Bench) -> bool:
        """Write every name without behaviour, or the best copy that the index would still hand out."""
        recipe = self._recipes[task.id]
        if control == PACKAGE:
            return await write_best_copy(recipe, destination, bench)
        original = await original_tree(recipe, bench)
        for name, text in stub_of(original, recipe).items():
            place = destination / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return True

    @override
    async def hidden(self, task: Task, bench: Bench) -> HiddenCode:
        """Return the Python files that pytest is given."""
        recipe = self._recipes[task.id]
        original = await original_tree(recipe, bench)
        files = {
            str(path.relative_to(original)): read_regular(path).decode(errors="replace")
            for argument in recipe.tests.arguments
            for path in _python_files(original / argument.partition("::")[0])
        }
        return HiddenCode(files=files, packages=recipe.tests.packages, specification=task.instruction)

    @override
    async def answers(self, task: Task, bench: Bench) -> Sequence[str]:
        """Return files of the environment, and protected ones, that hold one of the original's, by content."""
        recipe = self._recipes[task.id]
        original = await original_tree(recipe, bench)
        environment = await bench.builder.python(recipe.environment.request())
        fingerprint = await asyncio.to_thread(fingerprint_of, recipe, original)
        places = [mount.source for mount in environment.mounts if mount.target == ENVIRONMENT_TARGET]
        found = []
        for place in places:
            contents = await asyncio.to_thread(contents_of_folder, place)
            found += _like(fingerprint, contents, f"{ENVIRONMENT_TARGET}/")
        protected = Contents()
        for kept in recipe.tests.protected:
            for path in _python_files(original / kept):
                protected.prints[str(path.relative_to(original))] = prints_of(path.read_bytes())
        return [*found, *_like(fingerprint, protected, "")]

    @override
    def declared(self, task: Task) -> Mapping[str, int]:
        """Return the published counts."""
        return self._recipes[task.id].declared


def _like(fingerprint: Fingerprint, contents: Contents, prefix: str) -> list[str]:
    found = ((place, fingerprint.nearly(prints)) for place, prints in sorted(contents.prints.items()))
    return [f"{prefix}{place} (like {source})" for place, source in found if source is not None]


def _python_files(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted(path for path in place.rglob("*.py") if path.is_file() and not path.is_symlink())
    return [place] if place.suffix == ".py" and place.is_file() else []
