"""The table of tasks is the same whether recipes are read whole or only their heads."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.suites.nl2repobench import listing
from groundup.suites.nl2repobench.recipe_file import RecipeFolder, recipe_text, shipped_recipes
from groundup.suites.nl2repobench.suite import Nl2RepoBench


@pytest.mark.parametrize("task", shipped_recipes())
def test_the_head_of_a_recipe_says_what_the_whole_recipe_does(task: str) -> None:
    """Also of a draft, which has neither a lock nor expected tests."""
    recipe = shipped_recipes()[task]
    assert listing.shipped_summaries()[task] == recipe.summary()
    draft = recipe.model_copy(
        update={
            "environment": recipe.environment.model_copy(update={"lock": {}}),
            "frozen": None,
            "expected": frozenset(),
        }
    )
    assert listing.summarized(recipe_text(draft)) == draft.summary()


def test_without_data_the_listing_is_the_suites_table() -> None:
    """What `groundup tasks` prints first does not change when a run or a setting makes it ask the suite."""
    suite = Nl2RepoBench(shipped_recipes())
    assert listing.shipped_rows() == (suite.version, *suite.task_rows())


def test_only_the_recipe_that_is_asked_for_is_read(tmp_path: Path) -> None:
    """All of them take half a second; a task with a broken recipe is in the way of no other."""
    (tmp_path / "six.toml").write_text(recipe_text(shipped_recipes()["six"]), encoding="utf-8")
    (tmp_path / "broken.toml").write_text("?", encoding="utf-8")
    (tmp_path / "other.toml").write_text(recipe_text(shipped_recipes()["six"]), encoding="utf-8")
    recipes, head = RecipeFolder(tmp_path), shipped_recipes()["six"].summary()
    suite = Nl2RepoBench(recipes, heads=dict.fromkeys(recipes, head))

    assert suite.gradable() == [task.id for task in suite.tasks()] == ["broken", "other", "six"]
    assert suite.needs(suite.tasks()[2]).python == head.python
    with pytest.raises(TaskError, match="not valid TOML"):
        suite.needs(suite.tasks()[0])
    with pytest.raises(TaskError, match="holds the recipe of 'six'"):
        suite.needs(suite.tasks()[1])
