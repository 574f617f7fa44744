"""The recipes that come with groundup."""

import pytest

from groundup.suites.nl2repobench.recipe import Recipe
from groundup.suites.nl2repobench.recipe_file import recipe_text
from groundup.suites.nl2repobench.shipped import shipped_recipes

RECIPES = shipped_recipes()


def test_the_promised_tasks_are_there() -> None:
    """The tasks that the documentation names can be graded."""
    promised = {"sqlparse", "tenacity", "unidecode", "jsonlines", "justext", "python-jose"}

    assert promised <= RECIPES.keys()
    assert len(RECIPES) >= 14


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())
def test_a_shipped_recipe_is_frozen_and_whole(recipe: Recipe) -> None:
    """Each was measured three times, declares both counts, and gives a reason for each test that it leaves out."""
    assert recipe.frozen is not None
    assert recipe.frozen.runs >= 3
    assert recipe.frozen.peak_memory_mb is not None
    assert recipe.environment.python_micro is not None
    assert recipe.environment.python_micro.startswith(recipe.environment.python + ".")
    assert recipe.declared.keys() == {"781a1da", "ae9fb81"}
    assert {str(test) for test in recipe.expected}.isdisjoint(excluded.id for excluded in recipe.excluded)
    recipe.environment.request()
    recipe.source_request()


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())
def test_what_is_expected_and_declared_differ_only_by_named_tests(recipe: Recipe) -> None:
    """Where our denominator is not the published one, the excluded tests account for the difference."""
    declared = recipe.declared["781a1da"]

    assert len(recipe.expected) <= declared <= len(recipe.expected) + len(recipe.excluded)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())
def test_no_address_is_written_down(recipe: Recipe) -> None:
    """Where packages come from is the user's configuration, so a mirror just works."""
    text = recipe_text(recipe.model_copy(update={"expected": frozenset(), "excluded": (), "frozen": None}))

    assert "://" not in text
