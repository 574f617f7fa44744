"""What a run lost: which attempts come first, at which stages, and what was left out."""

import pytest

from groundup.reports.document import RunReport
from groundup.reports.lost import left_out_words, points_lost, shares_lost, stage_of, tasks_worth, worst_first
from groundup.reports.numbers import standing_words
from groundup.reports.summary import report_run
from tests.reports.made import Word, run_of

WORDS: dict[str, list[Word]] = {
    "x": [(0, 2), (1, 2)],
    "y": [(1, 2), (2, 2)],
    "z": [(1, 2), (1, 2)],
    "w": ["tampered", "not_attempted"],
    "v": ["infrastructure", "pending"],
}


@pytest.fixture
def report() -> RunReport:
    """A run of five tasks with two attempts each."""
    return report_run(*run_of("a", WORDS))


def test_the_worst_come_first(report: RunReport) -> None:
    """Equal ones by task and number; those that lost nothing, and those without a score, are left out."""
    found = [f"{row.task}{row.index}" for row in worst_first(report.attempts)]
    assert found == ["w0", "w1", "x0", "x1", "y0", "z0", "z1"]


def test_how_attempts_stand_and_where_they_lost(report: RunReport) -> None:
    """A stage for each that lost points, and what people call each."""
    found = {f"{row.task}{row.index}": (standing_words(row), stage_of(row)) for row in report.attempts}
    assert found == {
        "x0": ("failed", "test"),
        "x1": ("partial", "test"),
        "y0": ("partial", "test"),
        "y1": ("solved", None),
        "z0": ("partial", "test"),
        "z1": ("partial", "test"),
        "w0": ("tampered", "test"),
        "w1": ("not attempted", "not attempted"),
        "v0": ("infrastructure", None),
        "v1": ("pending", None),
    }
    lost = next(row for row in report.attempts if row.task == "x")
    assert stage_of(lost.but(reasons=())) == "unstated"


def test_tasks_worth_of_points_by_stage(report: RunReport) -> None:
    """Together what the mean lacks: an attempt weighs as one of its task's that have a score."""
    found = points_lost(report.attempts)
    assert list(found.items()) == [("test", 2.0), ("not attempted", 0.5)]
    assert shares_lost(found) == {"test": "2 tasks, 80 %", "not attempted": "0.5 tasks, 20 %"}
    assert points_lost([]) == {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1, "1 task"),
        (1.04, "1 task"),
        (0.05, "0.1 tasks"),
        (0.049, "0.049 tasks"),
        (0.0123, "0.012 tasks"),
        (2.5, "2.5 tasks"),
        (12.0, "12 tasks"),
    ],
)
def test_tasks_in_words(value: float, said: str) -> None:
    """A tenth is enough where there is one."""
    assert tasks_worth(value) == said


def test_tasks_that_were_left_out_are_named(report: RunReport) -> None:
    """Ten by name; with them as 0 the mean is that of all. A run without a mean has none of that either."""
    why = "left out, because they could not be graded when the run began:"
    names = tuple(f"l{number}" for number in range(12))
    assert left_out_words(report) == ""
    assert left_out_words(report.but(left_out=names[:2])) == (
        f"5 of 7 tasks asked for; {why} l0, l1; with them as 0 the mean of 37.5 % would be 25.0 % (1.500/6)"
    )
    for number, more in ((10, ""), (11, " and 1 more"), (12, " and 2 more")):
        told = left_out_words(report.but(left_out=names[:number])).partition("; with")[0]
        assert told == f"5 of {5 + number} tasks asked for; {why} {', '.join(names[:10])}{more}"
    without = report_run(*run_of("a", {"x": ["pending"]})).but(left_out=("q",))
    assert left_out_words(without) == f"1 of 2 tasks asked for; {why} q"
