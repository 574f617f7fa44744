"""Runs that report one of several attempts, and what feedback rounds brought."""

import pytest

from groundup.domain.limits import Effort, OwnTests, Selection
from groundup.domain.subjects import AttemptKey
from groundup.reports.comparison import compare
from groundup.reports.document import RunReport
from groundup.reports.summary import report_run
from groundup.store.records import Generated, VerdictLine
from tests.reports.made import Run, run_of


def chosen_run(select: Selection | None, own: dict[tuple[str, int], OwnTests] | None = None) -> Run:
    """Return a run of two tasks with three attempts each: `a` got 1, 3 and 2 of 4, `b` 4, 0 and 4."""
    config, lines = run_of(
        "one", {"a": [(1, 4), (3, 4), (2, 4)], "b": [(4, 4), (0, 4), (4, 4)]}, suite="toy 1", loaded="toy"
    )
    made = Generated(agent="loop", model="m/n", select=select)
    config = config.but(configuration=config.configuration.but(submissions=made))
    found: dict[AttemptKey, VerdictLine] = {}
    for key, line in lines.items():
        effort = Effort(own_tests=(own or {}).get((key.task, key.index)))
        found[key] = line.but(effort=effort)
    return config, found


def reported(select: Selection | None, **fields: object) -> RunReport:
    """Return the report of such a run."""
    return report_run(*chosen_run(select, fields.get("own")))  # type: ignore[arg-type]


def test_without_a_choice_all_attempts_count() -> None:
    """The headline is the mean of tasks' means: (0.5 + 2/3) / 2."""
    report = reported(None)
    assert report.headline.name == "mean score"
    assert report.headline.score.value == pytest.approx(7 / 12)
    assert len(report.reported) == 6


def test_by_hidden_score_is_called_a_bound() -> None:
    """Each task's best: (0.75 + 1) / 2; the mean of all stays in the report, and the first of equals is chosen."""
    report = reported(Selection.SCORE)
    assert report.headline.name == "best by hidden score (bound)"
    assert report.headline.score.value == pytest.approx(0.875)
    assert report.figures[1].score.value == pytest.approx(7 / 12)
    assert report.choice is not None
    assert report.choice.attempts == {"a": 1, "b": 0}
    assert report.subject.settings["select"] == "score"


def test_by_own_tests_the_largest_share_then_the_most() -> None:
    """`a` has two whose tests all pass, of which the last has more; `b` has none, so its mean counts: 2/3."""
    own = {
        ("a", 0): OwnTests(passed=2, failed=0),
        ("a", 1): OwnTests(passed=9, failed=1),
        ("a", 2): OwnTests(passed=3, failed=0),
        ("b", 1): OwnTests(passed=0, failed=0),
    }
    report = reported(Selection.OWN_TESTS, own=own)
    assert report.choice is not None
    assert report.choice.attempts == {"a": 2}
    assert report.headline.name == "chosen by own tests"
    assert report.headline.score.value == pytest.approx((0.5 + 2 / 3) / 2)


@pytest.mark.parametrize("by", [Selection.JUDGES, Selection.VOTES])
def test_runs_in_which_models_chose_are_reported_whole(by: Selection) -> None:
    """Earlier versions let models choose: all attempts count now, and a warning says so."""
    report = reported(by)
    assert (report.choice, report.headline.name, len(report.reported)) == (None, "mean score", 6)
    assert "let models choose" in report.warnings[0]


def test_comparisons_are_of_the_chosen_and_say_so() -> None:
    """A best of three beside a mean of three is no comparison of agents, which the warning says."""
    base, other = reported(None), reported(Selection.SCORE)
    made = compare(base, other)
    assert [round(pair.other, 3) for pair in made.pairs] == [0.75, 1.0]
    assert any("different choices of attempts" in warning for warning in made.warnings)
    assert not any("different choices" in warning for warning in compare(base, base).warnings)


def test_rounds_are_shown_one_by_one() -> None:
    """What ended in the first round keeps its score: after round 1 (0.25 + 1) / 2, after round 2 (0.5 + 1) / 2."""
    config, lines = run_of("one", {"a": [(3, 4)], "b": [(4, 4)]})
    made = Generated(agent="loop", model="m/n", rounds=3)
    config = config.but(configuration=config.configuration.but(submissions=made))
    told = {"a": (0.25, 0.5), "b": ()}
    lines = {key: line.but(effort=Effort(rounds=told[key.task])) for key, line in lines.items()}
    report = report_run(config, lines)
    figures = {figure.name: figure.score.value for figure in report.figures}
    assert figures["after round 1 of 3"] == pytest.approx(0.625)
    assert figures["after round 2 of 3"] == pytest.approx(0.75)
    assert report.headline.score.value == pytest.approx(0.875)
    one = config.configuration.but(submissions=made.but(rounds=1))
    warned = compare(report, report_run(config.but(configuration=one), lines)).warnings
    assert any("different numbers of feedback rounds: 3 and 1" in warning for warning in warned)
