"""Two runs by the tasks that both have; every number here was computed by hand."""

import pytest

from groundup.domain.verdicts import GraderIdentity
from groundup.reports.comparison import compare
from groundup.reports.formats import markdown
from groundup.reports.summary import report_run
from groundup.reports.views import comparison_views
from tests.reports.made import GRADER, Word, report_of, run_of

BASE: dict[str, list[Word]] = {
    "same": [(1, 1)],
    "better": [(0, 4)],
    "worse": [(3, 4)],
    "cheat": [(1, 2)],
    "broken": ["infrastructure"],
    "undefined": [(0, 0)],
    "only_here": [(1, 1)],
}
OTHER: dict[str, list[Word]] = {
    "same": [(1, 1)],
    "better": [(4, 4)],
    "worse": [(2, 4)],
    "cheat": ["tampered"],
    "broken": [(1, 1)],
    "undefined": [(1, 1)],
    "only_there": ["pending"],
}


def test_pairs_are_tasks_with_a_score_in_both() -> None:
    """Means are over pairs alone, what was tampered with counts 0, and the difference is other minus base."""
    found = compare(report_run(*run_of("a", BASE)), report_run(*run_of("b", OTHER)))
    (score, solved, declared) = found.figures
    assert (score.name, score.pairs, score.base, score.other) == ("score", 4, 2.25 / 4, 2.5 / 4)
    assert score.difference == found.difference == 0.0625
    assert (score.better, score.worse, score.equal) == (1, 2, 1)
    assert (solved.base, solved.other) == (0.25, 0.5)
    assert (declared.name, declared.pairs) == ("declared", 5)
    assert {pair.task: pair.difference for pair in found.pairs} == {
        "same": 0,
        "better": 1,
        "worse": -0.25,
        "cheat": -0.5,
    }


def test_no_task_is_left_out_silently() -> None:
    """Each task without a pair is named with how it stands in both runs."""
    found = compare(report_run(*run_of("a", BASE)), report_run(*run_of("b", OTHER)))
    assert {one.task: (one.base, one.other) for one in found.unpaired} == {
        "broken": ("infrastructure", "100.0 %"),
        "undefined": ("with nothing to count (0/0)", "100.0 %"),
        "only_here": ("100.0 %", "not in the run"),
        "only_there": ("not in the run", "pending"),
    }
    assert found.left_out == tuple(one.task for one in found.unpaired)


def test_attempts_at_one_task_are_one_pair() -> None:
    """Means over attempts are compared, however many each run has."""
    found = compare(
        report_run(*run_of("a", {"t": [(1, 1), (0, 1)]})),
        report_run(*run_of("b", {"t": [(1, 1), (1, 1), (0, 1)]})),
    )
    assert found.tasks == 1
    assert found.difference == pytest.approx(2 / 3 - 1 / 2)


def test_what_may_not_be_comparable_is_reported() -> None:
    """Another grader or another version of the suite is a warning, in the table too."""
    other = GraderIdentity(name="official", version="1", data_version=GRADER.data_version)
    report = report_of([run_of("a", BASE), run_of("b", OTHER, grader=other, suite="toy 2")])
    (found,) = report.comparisons
    assert found.warnings[:2] == (
        "a is provisional: 1 of 7 attempts have no verdict",
        "b is provisional: 1 of 7 attempts have no verdict",
    )
    assert len(found.warnings) == 4
    text = markdown(comparison_views(report))
    for ended in (
        "different graders",
        "toy 1 and toy 2",
        "not in the run",
        "equal: same",
        "p is of this interval",
    ):
        assert ended in text
