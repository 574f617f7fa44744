"""From records to figures: every number here was computed by hand."""

import pytest

from groundup.domain.limits import Effort
from groundup.domain.subjects import Outcome
from groundup.domain.usage import TokenUsage
from groundup.domain.verdicts import GraderIdentity
from groundup.reports.document import Figure, Report
from groundup.reports.formats import markdown
from groundup.reports.summary import report_run, side_by_side
from groundup.reports.views import comparison_views, views_of
from tests.reports.made import GRADER, Word, report_of, run_of


def figures(words: dict[str, list[Word]]) -> dict[str, Figure]:
    """Return the figures of a run, by name."""
    return {figure.name: figure for figure in report_run(*run_of("r", words)).figures}


def parts(figure: Figure) -> tuple[float, float]:
    """Return numerator and denominator."""
    return figure.score.numerator, figure.score.denominator


MIXED: dict[str, list[Word]] = {
    "full": [(4, 4)],
    "half": [(2, 4)],
    "cheat": ["tampered"],
    "absent": ["not_attempted"],
    "broken": ["infrastructure"],
    "later": ["pending"],
}


def test_each_standing_is_counted_apart() -> None:
    """All add up to what was planned; nothing leaves silently."""
    counts = report_run(*run_of("r", MIXED)).counts
    assert counts.model_dump() == {
        "planned": 6,
        "graded": 2,
        "tampered": 1,
        "infrastructure": 1,
        "unfit": 0,
        "not_attempted": 1,
        "made": 0,
        "pending": 1,
    }


def test_a_report_of_an_earlier_version_is_read() -> None:
    """It calls `owed` what is pending; figures and rows are as they were."""
    report = report_of([run_of("r", MIXED)])
    earlier = report.model_dump_json().replace('"pending"', '"owed"')
    assert '"owed":1' in earlier
    assert Report.model_validate_json(earlier) == report


def test_the_mean_counts_the_missing_and_the_tampered_as_zero_and_leaves_out_what_no_one_knows() -> None:
    """(1 + 0.5 + 0 + 0) over 4: an infrastructure failure is never a zero, a missing attempt always one."""
    found = figures(MIXED)
    assert parts(found["mean score"]) == (1.5, 4)
    assert parts(found["mean score of what was attempted"]) == (1.5, 3)
    assert parts(found["solved"]) == (1, 4)
    assert parts(found["declared"]) == pytest.approx((4 / 14 + 2 / 14, 4))


def test_what_was_not_attempted_counts_in_every_figure_or_in_none() -> None:
    """Further scores are over as many tasks as the mean; points are not known of what has no verdict."""
    found = figures({"a": [(2, 4)], "b": ["not_attempted"], "c": ["tampered"], "d": ["infrastructure"]})
    over = {name: figure.score.denominator for name, figure in found.items() if "attempted" not in name}
    assert over == {"mean score": 3, "solved": 3, "declared": 3}
    assert parts(figures({"a": [(2, 4)], "b": [(4, 4)]})["points"]) == (6, 8)


def test_every_mean_is_over_tasks() -> None:
    """A task with more known attempts weighs no more than another, in the report as in a comparison."""
    words: dict[str, list[Word]] = {"a": [(1, 1), (1, 1)], "b": [(0, 1), "infrastructure"]}
    base, other = report_run(*run_of("base", words)), report_run(*run_of("other", words))
    (compared,) = side_by_side([base, other]).comparisons
    assert parts(base.headline) == (1, 2)
    assert compared.figures[0].base == base.headline.score.value


def test_what_no_one_knows_is_reported() -> None:
    """A mean over a part of the run says so."""
    assert report_run(*run_of("r", MIXED)).warnings == (
        "2 of 6 attempts have no verdict and are in no mean; resume the run",
    )


def test_where_points_were_lost_is_counted_by_stage() -> None:
    """Only attempts with a verdict that lack points."""
    assert report_run(*run_of("r", MIXED)).lost_at == {"test": 2}


def test_verdicts_that_time_decided_are_counted() -> None:
    """The report says of how many verdicts, and of which, and its table has a row for them."""
    config, lines = run_of("r", {"a": [(0, 1)], "b": [(1, 1)]})
    first = next(iter(lines))
    verdict = lines[first].verdict
    assert verdict is not None
    lines[first] = lines[first].but(verdict=verdict.but(by_time=True))
    report = report_run(config, lines)
    assert report.by_time == 1
    assert [row.task for row in report.attempts if row.by_time] == ["a"]
    rows = [row for view in views_of(side_by_side([report])) for row in view.rows]
    assert ("decided by time", "1") in rows


def test_what_agents_took_is_added_up_and_how_they_were_ended_is_counted() -> None:
    """A cost that is unknown for one attempt is no cost of the run; what no one made has no effort."""
    config, lines = run_of("r", {"a": [(0, 1)], "b": [(1, 1)], "c": ["not_attempted"]})
    first, second, third = lines
    usage = TokenUsage(input_tokens=100, output_tokens=20)
    cut = Effort(detail="3 turns", turns=3, usage=usage, cost_usd=0.5, seconds=4)
    lines[first] = lines[first].but(outcome=Outcome.LIMIT, effort=cut)
    lines[second] = lines[second].but(effort=Effort(turns=1, usage=usage, cost_usd=0.25))
    report = report_run(config, lines)
    assert report.cut_short == {"limit": 1}
    total = TokenUsage(input_tokens=200, output_tokens=40)
    assert report.effort == Effort(turns=4, usage=total, cost_usd=0.75, seconds=4)
    lines[second] = lines[second].but(effort=Effort(turns=1, usage=usage))
    unpriced = report_run(config, lines).effort
    assert unpriced is not None
    assert unpriced.cost_usd is None
    assert report_run(config, {third: lines[third]}).effort is None


def test_several_attempts_count_each_and_any() -> None:
    """Two tasks, two attempts: three of four score 1, both tasks are solved in some attempt."""
    found = figures({"a": [(1, 1), (0, 1)], "b": [(1, 1), (1, 1)]})
    assert parts(found["mean score"]) == (1.5, 2)
    assert parts(found["solved"]) == (1.5, 2)
    assert parts(found["pass@2"]) == (2, 2)
    assert found["pass@2"].unit == "tasks"


def test_pass_at_k_is_estimated_from_all_attempts_at_a_task() -> None:
    """One of four solved: two drawn hold it with 1/2, four for sure; tasks with fewer known ones are left out."""
    found = figures(
        {"a": [(1, 1), (0, 1), (0, 1), (0, 1)], "b": [(1, 1), (1, 1), "infrastructure", "infrastructure"]}
    )
    assert parts(found["pass@2"]) == pytest.approx((1.5, 2))
    assert parts(found["pass@4"]) == (1, 1)
    assert "pass@3" not in found


def test_shares_have_the_interval_of_clopper_and_pearson_and_means_that_of_gaffke() -> None:
    """The method stands beside the interval; a run that solves all has one."""
    found = figures({"a": [(1, 1)], "b": [(1, 2)], **{name: [(0, 2)] for name in "cdef"}})
    assert found["solved"].interval is not None
    assert found["solved"].interval.method == "Clopper-Pearson"
    assert found["mean score"].interval is not None
    assert found["mean score"].interval.method.startswith("Gaffke")
    all_solved = figures({name: [(1, 1), (1, 1)] for name in "abcdef"})["solved"]
    assert all_solved.interval is not None
    assert (all_solved.interval.low, all_solved.interval.high) == pytest.approx((0.5407, 1.0), abs=1e-4)


def test_an_undefined_score_is_in_no_mean_and_is_reported() -> None:
    """0/0 is neither 0 nor 1."""
    report = report_run(*run_of("r", {"a": [(0, 0)], "b": [(1, 1)]}))
    assert parts(report.headline) == (1, 1)
    assert report.warnings == ("graded with an undefined score (0/0), which is in no mean: 1",)


def test_a_run_without_any_verdict_has_a_headline_without_value() -> None:
    """No division by zero, no pretended zero."""
    assert report_run(*run_of("r", {"a": ["pending"]})).headline.score.value is None


def test_runs_are_compared_by_the_tasks_that_both_have() -> None:
    """Differences +0.5, -1 and 0 give a mean of -1/6; tasks without a pair are named."""
    first: dict[str, list[Word]] = {
        "a": [(1, 2)],
        "b": [(2, 2)],
        "c": [(1, 2)],
        "d": ["infrastructure"],
        "e": [(1, 1)],
    }
    second: dict[str, list[Word]] = {"a": [(2, 2)], "b": ["tampered"], "c": [(1, 2)], "d": [(1, 1)], "f": [(1, 1)]}
    report = report_of([run_of("first", first), run_of("second", second)])
    (comparison,) = report.comparisons
    assert comparison.difference == pytest.approx(-1 / 6)
    assert (comparison.tasks, comparison.better, comparison.worse, comparison.equal) == (3, 1, 1, 1)
    assert comparison.left_out == ("d", "e", "f")
    assert comparison.interval is not None
    assert comparison.interval.low < -1 / 6 < 0 < comparison.interval.high
    assert comparison.figures[0].standard_error == pytest.approx(0.44096, abs=1e-5)
    assert comparison.warnings == ("first is provisional: 1 of 5 attempts have no verdict",)


def test_several_comparisons_hold_at_once() -> None:
    """Two runs against a base, each task by a quarter or by half: p is twice that of one alone."""
    words: list[dict[str, list[Word]]] = [{f"t{task}": [(more, 4)] for task in range(12)} for more in (0, 1, 2)]
    runs = [run_of(name, one) for name, one in zip("abc", words, strict=True)]
    first, second = (one.figures[0] for one in report_of(runs).comparisons)
    assert first.p_value == pytest.approx(2 / 1.25**12, rel=1e-4)
    assert second.p_value == pytest.approx(2 / 1.5**12, rel=1e-4)
    assert second.interval is not None
    assert second.interval.level == 0.975
    text = markdown(comparison_views(report_of(runs)))
    assert "95 % interval of the difference, corrected for 2 comparisons" in text
    alone = report_of(runs[:2]).comparisons[0].figures[0]
    assert alone.p_value == pytest.approx(1 / 1.25**12, rel=1e-4)


def test_a_comparison_of_an_earlier_version_is_read() -> None:
    """It had a second p beside one of a single comparison."""
    words: dict[str, list[Word]] = {"a": [(1, 1)], "b": [(1, 2)]}
    report = report_of([run_of("x", words), run_of("y", words)])
    text = report.model_dump_json().replace('"p_value":', '"p_corrected":null,"p_value":')
    assert Report.model_validate_json(text) == report


def test_a_comparison_across_graders_or_suites_says_so() -> None:
    """Numbers of different graders look alike and are not."""
    words: dict[str, list[Word]] = {"a": [(1, 1)]}
    later = GRADER.but(version="4")
    (comparison,) = report_of([run_of("x", words), run_of("y", words, later, "toy 2")]).comparisons
    assert "different suites" in comparison.warnings[0]
    assert "different graders" in comparison.warnings[1]


def test_a_failure_of_the_machine_is_no_other_grader() -> None:
    """What no grader judged names none."""
    config, lines = run_of("r", {"a": [(1, 1)], "b": ["infrastructure"]})
    broken = next(key for key in lines if key.task == "b")
    verdict = lines[broken].verdict
    assert verdict is not None
    nothing = GRADER.but(environment="none")
    lines[broken] = lines[broken].but(verdict=verdict.but(grader=nothing))
    report = report_run(config, lines)
    assert report.graders == (GRADER,)
    assert not any("several graders" in warning for warning in report.warnings)


def test_verdicts_of_several_graders_in_one_run_are_reported() -> None:
    """A resume under another grader is refused, but a file can be put together by hand."""
    config, lines = run_of("r", {"a": [(1, 1)], "b": [(1, 1)]})
    other = run_of("r", {"a": [(1, 1)], "b": [(1, 1)]}, GraderIdentity(name="lax", version="1"))[1]
    mixed = {key: (lines if key.task == "a" else other)[key] for key in lines}
    report = report_run(config, mixed)
    assert len(report.graders) == 2
    assert "several graders" in report.warnings[0]


def test_a_run_of_another_data_set_says_which() -> None:
    """It is a run of the same benchmark all the same."""
    own, published = run_of("own", {"one": [(1, 1)]}, loaded="toy@mine"), run_of("published", {"one": [(1, 1)]})
    report = report_of([own, published])
    assert [run.suite for run in report.runs] == ["toy@mine", "toy"]
    assert report.comparisons[0].warnings == ()


def test_attempts_that_came_by_the_original_are_named() -> None:
    """The warning says which attempt, in which turn and how; beyond ten the rest is counted."""
    config, lines = run_of("r", {f"task-{number:02}": [(1, 1)] for number in range(12)})
    seen = Effort(resembles="turn 3: results of tools hold 50% of the original")
    lines = {key: line.but(effort=seen) for key, line in lines.items()}
    warnings = report_run(config, lines).warnings
    assert warnings[0] == f"task-00/0 came by the original: {seen.resembles}"
    assert len(warnings) == 11
    assert warnings[10].startswith("2 more attempts came by the original")
