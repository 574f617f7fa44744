"""The recipes that come with groundup, one file per task."""

from functools import cache
from importlib.resources import files

from groundup.domain.errors import TaskError
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.suites.nl2repobench.recipe_file import parse_recipe

SUFFIX = ".toml"


@cache
def shipped_recipes() -> dict[str, Recipe]:
    """Return every shipped recipe by its task, sorted."""
    folder = files("groundup.suites.nl2repobench") / "recipes"
    found = {}
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if not entry.name.endswith(SUFFIX):
            continue
        recipe = parse_recipe(entry.read_text(encoding="utf-8"), entry.name)
        if recipe.task != entry.name.removesuffix(SUFFIX):
            raise TaskError(f"{entry.name}: holds the recipe of {recipe.task!r}; rename one of them")
        found[recipe.task] = recipe
    return found
