"""The table of tasks is the same whether recipes are read whole or only their heads."""

import pytest

from groundup.suites.nl2repobench import listing
from groundup.suites.nl2repobench.recipe import recipe_text, shipped_recipes
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
