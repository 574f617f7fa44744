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


def test_figures_of_a_comparison_number_by_number() -> None:
    """Of the three figures, corrected for three comparisons; and what it takes until the difference shows."""
    base, other = report_run(*run_of("a", BASE)), report_run(*run_of("b", OTHER))
    found = compare(base, other, comparisons=3)
    assert [(one.name, one.pairs, one.better, one.worse, one.equal) for one in found.figures] == [
        ("score", 4, 1, 2, 1),
        ("solved", 4, 1, 0, 3),
        ("declared", 5, 2, 2, 1),
    ]
    for one, expected in zip(
        found.figures,
        [(0.0625, 0.328744, -0.050965), (0.25, 0.25, 0.57735), (0.044372, 0.06786, -0.231706)],
        strict=True,
    ):
        assert (one.difference, one.standard_error, one.correlation) == pytest.approx(expected, abs=1e-6)
        assert one.p_value == 1
        assert one.interval
        assert one.interval.level == pytest.approx(1 - 0.05 / 3)
    assert (found.base, found.other, found.tasks, found.better, found.worse, found.equal) == ("a", "b", 4, 1, 2, 1)
    assert (found.tasks_needed, found.power) == (621, None)
    assert found.interval == found.figures[0].interval
    assert found.lead
    assert (found.lead.run, found.lead.over, found.lead.difference) == ("b", "a", 0.0625)
    assert (found.lead.told_apart, found.lead.p_value, found.lead.interval) == (False, 1.0, found.interval)
    back = compare(other, base, 0.2)
    assert back.power
    assert (back.tasks_needed, back.power.difference, back.power.tasks_needed, back.power.tasks) == (
        621,
        0.2,
        63,
        4,
    )
    assert back.lead
    assert back.interval
    assert back.lead.interval == back.interval.but(low=-back.interval.high, high=-back.interval.low)


def test_a_lead_is_told_apart_by_its_chance() -> None:
    """Ten tasks from nothing to everything are enough; without a common task there is no figure at all."""
    none: dict[str, list[Word]] = {f"t{number}": [(0, 1)] for number in range(10)}
    full: dict[str, list[Word]] = {f"t{number}": [(1, 1)] for number in range(10)}
    for found in (pair(none, full), pair(full, none)):
        assert found.lead
        assert (found.lead.told_apart, found.lead.difference) == (True, 1.0)
        assert found.lead.p_value
        assert found.lead.p_value < 0.05
    apart = pair({"x": [(1, 2)]}, {"y": [(1, 2)]})
    assert (apart.tasks, apart.figures, apart.difference, apart.interval) == (0, (), None, None)
    assert (apart.better, apart.worse, apart.equal, apart.tasks_needed) == (0, 0, 0, None)
    assert apart.left_out == ("x", "y")


def test_every_doubt_about_a_comparison_in_its_words() -> None:
    """What lacks verdicts or left tasks out, and in what the two runs differ."""
    base = report_run(*run_of("a", {"x": [(1, 2)], "y": ["pending"]}))
    other = report_run(*run_of("b", {"x": [(1, 2)], "y": [(1, 2)]}, suite="toy 2"))
    other = other.but(
        left_out=("z",),
        subject=other.subject.but(settings={**other.subject.settings, "rounds": 3}),
        graders=(GRADER.but(version="4"),),
    )
    assert compare(base, base).warnings == ("a is provisional: 1 of 2 attempts have no verdict",) * 2
    assert compare(base, other).warnings == (
        "a is provisional: 1 of 2 attempts have no verdict",
        "different suites: toy 1 and toy 2",
        "b: 2 of 3 tasks asked for; left out, because they could not be graded when the run began: z; with them "
        "as 0 the mean of 50.0 % would be 33.3 % (1/3)",
        "different numbers of feedback rounds: 1 and 3",
        "different graders, versions, data or environments; grade one again with `groundup regrade`",
    )
