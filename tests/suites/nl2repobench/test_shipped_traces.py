"""The golden traces that lie beside recipes, and who uses them."""

from pathlib import Path

import pytest

from groundup.domain.digests import digest_of
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.trace import HOLDS, TracedTest
from groundup.settings import Settings
from groundup.suites.nl2repobench.recipe_file import shipped_recipes
from groundup.suites.nl2repobench.shipped import shipped_trace, trace_changes
from groundup.suites.nl2repobench.suite import create

LEAST = 60
"""Recipes with a trace."""


def _traced() -> list[str]:
    return [name for name in shipped_recipes() if shipped_trace(name) is not None]


def test_recipes_with_a_trace_are_not_few() -> None:
    """Those that somebody grades with `--integrity trace` have something to be compared with."""
    assert len(_traced()) >= LEAST


@pytest.mark.parametrize("name", _traced())
def test_a_trace_belongs_to_its_recipe(name: str) -> None:
    """It names expected tests only, most of them, and holds digests and nothing of the tests."""
    recipe, trace = shipped_recipes()[name], shipped_trace(name)

    assert trace is not None
    assert {NumberedTest.parse(text) for text in trace.tests} <= recipe.expected
    assert len(trace.tests) > len(recipe.expected) / 2
    told = {value for test in trace.tests.values() for value in test.places.values()}
    assert all(value == HOLDS or len(value) == 12 for value in told)
    assert all(test.places for test in trace.tests.values())


def test_a_verdict_depends_on_the_trace(tmp_path: Path) -> None:
    """A cached verdict of `strict` is none of `trace`; where there is no trace, nothing of one is named."""
    suite = create(Settings(cache_dir=tmp_path))
    tasks, graders = {task.id: task for task in suite.tasks()}, suite.graders()
    traced, plain = tasks["jsonlines"], tasks[next(name for name in shipped_recipes() if not shipped_trace(name))]

    assert digest_of(graders["trace"].identity(traced)) != digest_of(graders["strict"].identity(traced))
    assert graders["trace"].reservation_mb(traced) > graders["strict"].reservation_mb(traced)
    assert "trace" not in graders["trace"].identity(plain)


def test_changes_of_a_trace_are_told() -> None:
    """`recipe check` says what is not as it was."""
    trace = shipped_trace("jsonlines")
    assert trace is not None
    name = min(trace.tests)
    tests = {**trace.tests, name: TracedTest(places={1: HOLDS})}
    other = trace.model_copy(update={"form": "sha256:0", "tests": tests})

    assert list(trace_changes(trace, trace)) == []
    assert list(trace_changes(trace, other)) == [
        "the trace was recorded for other tests; record it again with `groundup recipe trace`",
        f"the trace of 1 tests changed, first {name}",
    ]
