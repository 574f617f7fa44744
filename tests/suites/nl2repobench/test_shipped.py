"""The recipes that come with groundup."""

import shlex
from pathlib import PurePosixPath

import pytest

from groundup.suites.nl2repobench.recipe import Recipe, shipped_recipes

RECIPES = shipped_recipes()


def test_the_promised_tasks_are_there() -> None:
    """The tasks that the documentation names can be graded."""
    promised = {"sqlparse", "tenacity", "unidecode", "jsonlines", "justext", "python-jose"}

    assert promised <= RECIPES.keys()
    assert len(RECIPES) >= 32


def test_a_machine_that_reaches_only_the_package_index_can_run_a_good_part() -> None:
    """Half of the recipes come from source distributions; the others name a commit and its tree."""
    kinds = [recipe.source.kind for recipe in RECIPES.values()]

    assert kinds.count("sdist") >= 16
    assert kinds.count("git") >= 16


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
def test_published_commands_find_their_tests(recipe: Recipe) -> None:
    """What pytest is given lies where the image gets tests from, or `moved` says where the original has it."""
    assert recipe.published is not None
    known = [PurePosixPath(path) for path in (*recipe.tests.protected, *recipe.published.moved)]
    words = [word for line in recipe.published.commands if "pytest" in line for word in shlex.split(line)[1:]]
    for word in words:
        path = PurePosixPath(word.partition("::")[0].removeprefix("/workspace/"))
        if path.name.endswith(".py") or path.name in ("test", "tests"):
            assert any(path.is_relative_to(one) or one.is_relative_to(path) for one in known), word


def test_originals_that_declare_a_distribution_have_its_metadata() -> None:
    """A submission may ask for its own version; three originals are scripts that are never installed."""
    bare = {task for task, recipe in shipped_recipes().items() if recipe.tests.distribution is None}
    assert bare <= {"autojump", "binaryalert", "flasky"}
