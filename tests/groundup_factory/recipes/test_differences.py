"""Tests of groundup_factory.recipes.differences."""

import pytest

from groundup.grading.library.hidden import NumberedTest
from groundup.suites.nl2repobench.recipe import Difference, Excluded, Recipe, Why, shipped_recipes
from groundup_factory.recipes.differences import explained, unexplained
from tests.suites.nl2repobench.trials import RECIPE

RECIPES = shipped_recipes()


def recipe(declared: dict[str, int], excluded: dict[str, Why], given: tuple[Difference, ...] = ()) -> Recipe:
    """Return a recipe with five expected tests."""
    assert RECIPE.frozen is not None
    return RECIPE.but(
        declared=declared,
        expected=frozenset(NumberedTest(f"test_a.py::test_{number}") for number in range(5)),
        excluded=tuple(Excluded(id=name, why=why, note=f"of {name}") for name, why in excluded.items()),
        differences=given,
        frozen=RECIPE.frozen.but(collected=5 + len(excluded)),
    )


def ended(found: tuple[Difference, ...]) -> list[tuple[str, str, int]]:
    """Return what can be compared."""
    return [(one.data_version, one.why.value, one.tests) for one in found]


def test_equal_counts_need_no_reason() -> None:
    """Nothing differs, nothing is said."""
    assert explained(recipe({"a": 5}, {"x": Why.SKIPPED})) == ()


def test_excluded_tests_account_for_a_higher_count() -> None:
    """What fails here with a reason passed where the count was made; the log line is the proof."""
    found = explained(recipe({"a": 7}, {"x": Why.NETWORK, "y": Why.USER, "z": Why.SKIPPED}))

    assert ended(found) == [("a", "network", 1), ("a", "user", 1)]
    assert found[0].note == "of x"


def test_a_count_of_everything_that_was_collected_is_wrong() -> None:
    """Tests that the original marks as skipped or failing never passed; the collected ids are the proof."""
    found = explained(recipe({"a": 7}, {"x": Why.SKIPPED, "y": Why.EXPECTED_FAILURE}))

    assert ended(found) == [("a", "published count wrong", 2)]
    assert "7 collected, 5 passed" in found[0].note


def test_skips_for_want_of_something_account_for_a_higher_count() -> None:
    """Tests that say that something is not there ran where it was."""
    made = recipe({"a": 6}, {"x": Why.SKIPPED, "y": Why.SKIPPED})
    notes = ("Skipped: speedups unavailable", "Skipped: Windows only")
    excluded = tuple(one.but(note=note) for one, note in zip(made.excluded, notes, strict=True))

    assert ended(explained(made.but(excluded=excluded))) == [("a", "optional dependency", 1)]


def test_a_count_that_the_publishers_corrected_was_wrong() -> None:
    """Where one release of the data has our number, the other's is explained by it."""
    found = explained(recipe({"a": 3, "b": 5}, {}))

    assert ended(found) == [("a", "published count wrong", -2)]
    assert "corrected by the publishers in b" in found[0].note


def test_what_nothing_accounts_for_is_left_open() -> None:
    """No reason is invented: a person gives one, and it is kept while it adds up."""
    open_question = recipe({"a": 9}, {"x": Why.SKIPPED})
    assert explained(open_question) == ()
    assert unexplained(open_question) == {"a": 4}

    given = Difference(data_version="a", why=Why.SERVICE, tests=4, note="no redis")
    settled = recipe({"a": 9}, {}, (given,))
    assert explained(settled) == (given,)
    assert unexplained(settled) == {}
    assert explained(recipe({"a": 8}, {}, (given,))) == ()


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())
def test_what_is_expected_and_declared_differ_for_a_reason(recipe: Recipe) -> None:
    """Where our denominator is not a published one, each missing or additional test has a reason with a proof."""
    assert unexplained(recipe) == {}
    assert all(difference.note for difference in recipe.differences)
