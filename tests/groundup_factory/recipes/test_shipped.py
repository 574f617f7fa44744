"""The recipes that come with groundup are as they are made."""

import re
from importlib.resources import files

import pytest

from groundup.suites.nl2repobench.recipe import Recipe, shipped_recipes
from groundup_factory.recipes.files import recipe_text
from groundup_factory.recipes.stubs import Stub

RECIPES = shipped_recipes()


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())
def test_a_recipe_file_is_as_groundup_writes_it(recipe: Recipe) -> None:
    """Freezing a recipe again changes what was measured and no other line."""
    shipped = files("groundup.suites.nl2repobench") / "recipes" / f"{recipe.task}.toml"

    assert shipped.read_text(encoding="utf-8") == recipe_text(recipe)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())
def test_worthless_submissions_are_worth_nothing(recipe: Recipe) -> None:
    """Empty work passes nothing; no cheat or stub passes more than the floor, which scores nothing by itself."""
    assert recipe.frozen is not None
    assert recipe.frozen.controls.keys() == {"nop", *Stub, "files", "leaves", "patches"}
    assert recipe.frozen.controls["nop"] == 0
    assert max(recipe.frozen.controls.values()) <= len(recipe.floor)
    assert recipe.floor < recipe.expected


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())
def test_no_address_is_written_down(recipe: Recipe) -> None:
    """Where packages come from is the user's configuration, so a mirror just works."""
    tests = recipe.tests.but(distribution=None)  # what the original's metadata says is content
    text = recipe_text(
        recipe.but(expected=frozenset(), floor=frozenset(), excluded=(), differences=(), frozen=None, tests=tests)
    )

    assert "://" not in re.sub(r"\bsqlite[+\w]*:///", "", text)  # such a URL names a file
