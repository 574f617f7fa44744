"""Tests of groundup_factory.recipes.table."""

from groundup.domain.verdicts import GraderIdentity, Score, Status, Verdict
from groundup.suites.nl2repobench.decisions import TaskDecision
from groundup.suites.nl2repobench.recipe import Excluded, Why
from groundup_factory.recipes import table
from tests.suites.nl2repobench.trials import RECIPE


def verdict(grader: str, passed: int) -> Verdict:
    """Return a verdict on an oracle."""
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=passed, denominator=9),
        timings_s={"tests": float(passed)},
        grader=GraderIdentity(name=grader, version="1", data_version="781a1da"),
    )


def test_a_row_says_what_the_oracles_got() -> None:
    """Equal results are said once with their number, different ones each, and times are medians."""
    task = RECIPE.task
    runs = table.seen([(task, verdict("strict", 9)), (task, verdict("strict", 9)), (task, verdict("official", 7))])
    row = dict(zip(table.COLUMNS, table.rows({task: RECIPE}, runs)[0], strict=True))

    assert row["oracle"] == "9 x2"
    assert row["official"] == "7"
    assert row["s"] == "9.0"
    assert table.seen([(task, verdict("strict", 9)), (task, verdict("strict", 8))])[task].strict == "9 8"


def test_without_runs_a_row_says_what_the_recipe_has_on_record() -> None:
    """The published evaluator's count is measured once, and may be unknown."""
    assert RECIPE.frozen is not None
    known = RECIPE.but(frozen=RECIPE.frozen.but(official=8))
    official = [table.rows({RECIPE.task: one}, {})[0][table.COLUMNS.index("official")] for one in (RECIPE, known)]

    assert official == ["-", "8"]


def test_the_published_evaluator_may_count_more_than_was_declared() -> None:
    """Its score ends at the declared count; the table has the count itself."""
    capped = verdict("official", 9).but(facts={"declared": 9, "passed": 12})

    assert table.seen([(RECIPE.task, capped)])[RECIPE.task].official == 12


def test_what_is_not_whole_is_named_with_its_reason() -> None:
    """A task without a recipe, and one that expects too little, are listed; others are not."""
    few = TaskDecision(declared={"781a1da": len(RECIPE.expected) * 2})
    enough = TaskDecision(declared={"781a1da": len(RECIPE.expected)})
    none = TaskDecision(declared={"781a1da": 5}, blocked="it wants a display")

    assert dict(table.not_whole({RECIPE.task: RECIPE}, {RECIPE.task: enough})) == {}
    told = dict(table.not_whole({RECIPE.task: RECIPE}, {RECIPE.task: few, "other": none}))
    assert told.keys() == {RECIPE.task, "other"}
    assert "it wants a display" in told["other"]
    assert "1 of 2 tasks" in table.standing({RECIPE.task: RECIPE}, {RECIPE.task: few, "other": none})


def test_what_is_missing_is_shown_with_a_line_of_its_log() -> None:
    """The line that most tests of a reason end with is named, and fits into a table."""
    lines = ["OSError: a | `b` " + "c" * 200] * 2 + ["another"]
    lacking = RECIPE.but(
        excluded=tuple(Excluded(id=str(n), why=Why.NETWORK, note=note) for n, note in enumerate(lines))
    )
    few = TaskDecision(declared={"781a1da": len(RECIPE.expected) * 2})

    ((_, told),) = table.not_whole({RECIPE.task: lacking}, {RECIPE.task: few})

    assert "3 network (`OSError: a / 'b' cc" in told
    assert "|" not in told
    assert len(told) < 150
