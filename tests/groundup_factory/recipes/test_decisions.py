"""Tests of groundup.suites.nl2repobench.decisions."""

import pytest

from groundup.domain.errors import TaskError
from groundup.suites.nl2repobench.decisions import TaskDecision, decisions
from groundup.suites.nl2repobench.recipe import RecipeSource, RepositorySource, Why, shipped_recipes
from groundup_factory.recipes.build import applied
from groundup_factory.recipes.candidates import parse_source
from tests.suites.nl2repobench.trials import RECIPE


def test_every_task_of_the_benchmark_has_a_source() -> None:
    """All 104 tasks name where their original comes from, and both published counts."""
    assert len(decisions()) == 104
    for decision in decisions().values():
        assert decision.source is not None
        parse_source(decision.source)
        assert decision.declared.keys() == {"781a1da", "ae9fb81"}


def test_a_shipped_recipe_is_of_the_source_that_was_decided() -> None:
    """Building a recipe again without any flag starts from the same distribution or commit."""
    for task, recipe in shipped_recipes().items():
        decided = decisions()[task]
        assert decided.source is not None
        kind, name, version = parse_source(decided.source)
        source = recipe.source
        if isinstance(source, RecipeSource):
            assert (kind, name.lower(), version) == ("sdist", source.name.lower(), source.version)
        else:
            assert isinstance(source, RepositorySource)
            assert (kind, name, version) == ("git", source.repository, source.commit)
        # Their published images hold files of another revision.
        revision = recipe.image.revision if recipe.image else ""
        is_other = task == "trimming" or revision not in ("", version)
        assert decided.sure == ("likely" if is_other else "proven")
        assert recipe.declared == decided.declared


def test_what_was_decided_takes_the_place_of_what_was_guessed() -> None:
    """Keys of the tests, reasons and a version come from the decision; everything else stays."""
    decided = TaskDecision(tests={"writable": ("tests",)}, reasons={"tests/a.py::*": Why.NETWORK}, version="9.9")
    made = applied(decided, RECIPE)

    assert made.tests.writable == ("tests",)
    assert made.tests.arguments == RECIPE.tests.arguments
    assert made.reasons["tests/a.py::*"] is Why.NETWORK
    assert made.source.version == "9.9"
    with pytest.raises(TaskError, match="mend the decision"):
        applied(TaskDecision(tests={"memory_mb": "much"}), RECIPE)
