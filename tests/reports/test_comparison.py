"""Two runs by the tasks that both have; every number here was computed by hand."""

import pytest

from groundup.domain.verdicts import GraderIdentity
from groundup.reports.comparison import compare, from_ahead
from groundup.reports.document import RunComparison
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


def pair(base: dict[str, list[Word]], other: dict[str, list[Word]]) -> RunComparison:
    """Compare two made runs, a and b."""
    return compare(report_run(*run_of("a", base)), report_run(*run_of("b", other)))


LOW: dict[str, list[Word]] = {"x": [(0, 2)], "y": [(1, 2)], "z": [(1, 2)], "gone": [(1, 2)]}
HIGH: dict[str, list[Word]] = {"x": [(2, 2)], "y": [(1, 2)], "z": [(0, 2)], "lone": ["pending"]}


def test_a_comparison_reads_the_same_from_the_run_that_is_ahead() -> None:
    """Turned round it is the comparison that the other order gives; the one that is ahead stays as it is."""
    there, back = pair(LOW, HIGH), pair(HIGH, LOW)
    assert there.lead is not None
    assert back.lead is not None
    assert (there.lead.run, there.lead.over, back.lead.run) == ("b", "a", "a")
    assert from_ahead(there) is there
    found = from_ahead(back)
    assert (found.base, found.other, found.better, found.worse) == ("b", "a", back.worse, back.better)
    assert found.difference == back.lead.difference > 0
    assert [one.difference for one in found.figures] == [-one.difference for one in back.figures]
    assert [(one.base, one.other) for one in found.figures] == [(one.other, one.base) for one in back.figures]
    assert [one.difference for one in found.pairs] == [-one.difference for one in back.pairs]
    assert [(one.base, one.other) for one in found.unpaired] == [(one.other, one.base) for one in back.unpaired]
    for mirrored, one in zip(found.figures, back.figures, strict=True):
        assert mirrored.interval is not None
        assert one.interval is not None
        assert (mirrored.interval.low, mirrored.interval.high) == (-one.interval.high, -one.interval.low)


def test_equal_means_have_no_lead_and_alike_scores_no_correlation() -> None:
    """Nobody is ahead by nothing, and what does not vary goes along with nothing."""
    same = pair(LOW, LOW)
    assert (same.lead, same.difference, same.equal) == (None, 0.0, 4)
    assert from_ahead(same) is same
    flat: dict[str, list[Word]] = {task: [(1, 2)] for task in LOW}
    assert [one.figures[0].correlation for one in (pair(LOW, flat), pair(flat, LOW))] == [None, None]
    assert same.figures[0].correlation == pytest.approx(1.0)
    assert pair({"x": [(1, 2)]}, {"y": [(1, 2)]}).lead is None


def test_runs_of_the_same_submissions_are_told() -> None:
    """One run and its copy, or two gradings of what was handed in; with another submission it is another run."""

    def told(first: str, second: str, *, later: bool = False) -> str:
        runs = []
        for name, digest in (("a", first), ("b", second)):
            config, lines = run_of(name, {"x": [(1, 2)], "y": ["pending"]})
            if later and name == "b":
                config = config.but(created_at=config.created_at.replace(year=2027))
            changed = {key: line.but(submission=digest or None) for key, line in lines.items()}
            runs.append(report_run(config, changed))
        return compare(runs[0], runs[1]).same

    assert told("sha256:1", "sha256:1") == "a and b are one run, or one is a copy of the other"
    assert told("sha256:1", "sha256:1", later=True) == (
        "a and b hold the same submissions: what differs is how they were graded"
    )
    assert told("sha256:1", "sha256:2") == told("sha256:1", "") == told("", "") == ""
