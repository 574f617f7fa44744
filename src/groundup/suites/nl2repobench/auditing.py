"""What is known of a library's task besides verdicts: its hidden tests, and the published counts."""

from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.suites.base import Auditor, HiddenCode
from groundup.suites.nl2repobench.published import graded_tree
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.walking import read_regular


class LibraryAuditor(Auditor):
    """Knows the originals by their recipes."""

    def __init__(self, recipes: Mapping[str, Recipe]) -> None:
        self.recipes = recipes

    @override
    async def hidden(self, task: Task, context: GradingContext) -> HiddenCode:
        """Return the Python files that pytest is given."""
        recipe = self.recipes[task.id]
        original = await graded_tree(recipe, context)
        files = {
            str(path.relative_to(original)): read_regular(path).decode(errors="replace")
            for argument in recipe.tests.arguments
            for path in python_files(original / argument.partition("::")[0])
        }
        return HiddenCode(files=files, packages=recipe.tests.packages, specification=task.instruction)

    @override
    def declared(self, task: Task) -> Mapping[str, int]:
        """Return the published counts, or how many tests a library of one's own has."""
        recipe = self.recipes[task.id]
        if recipe.declared or recipe.frozen is None or recipe.frozen.collected is None:
            return recipe.declared
        return {"collected": recipe.frozen.collected}


def python_files(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted(path for path in place.rglob("*.py") if path.is_file() and not path.is_symlink())
    return [place] if place.suffix == ".py" and place.is_file() else []
