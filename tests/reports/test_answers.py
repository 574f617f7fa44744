"""Reports and comparisons begin with the answer. Every number here was computed by hand."""

import pytest

from groundup.domain.limits import Effort
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Score
from groundup.reports.answers import comparison_answer, noise_sentences, run_answer
from groundup.reports.causes import AttemptLosses, Cause, Losses
from groundup.reports.document import Report
from groundup.reports.formats import ShownComparison, ShownReport, markdown
from groundup.reports.lost import worst_first
from groundup.reports.numbers import around, chance
from groundup.reports.summary import report_run, side_by_side
from groundup.reports.views import views_of
from tests.reports.made import Run, Word, run_of

A: dict[str, list[Word]] = {
    "boltons": [(300, 400)],
    "bleach": [(80, 100)],
    "six": [(200, 200)],
    "sqlparse": [(90, 100)],
    "tinydb": [(150, 200)],
    "flask": ["infrastructure"],
}
B: dict[str, list[Word]] = {
    "boltons": [(380, 400)],
    "bleach": [(95, 100)],
    "six": [(200, 200)],
    "sqlparse": [(80, 100)],
    "tinydb": [(180, 200)],
    "flask": [(10, 20)],
}
"""0.2, 0.15, 0, -0.1 and 0.15 more: 0.4 / 5 = 8.0 points; 84.0 and 92.0 %."""


def compared(*runs: Run) -> Report:
    """Compare runs with the first."""
    return side_by_side([report_run(*run) for run in runs])


def test_a_difference_that_these_tasks_cannot_tell_is_said_first() -> None:
    """Who, by how much, over which tasks, by what chance, how many tasks it takes, and what has no verdict.

    The figures behind the sign are those of tables and JSON.
    """
    report = compared(run_of("a", A), run_of("b", B))
    answer = comparison_answer(report)
    (lead,) = (one.lead for one in report.comparisons)
    assert lead is not None
    assert (lead.run, lead.over) == ("b", "a")
    assert lead.difference == pytest.approx(0.08)
    needed = report.comparisons[0].tasks_needed
    assert answer[0] == (
        f"b +8.0 points over a{around(lead.interval)}, p {chance(lead.p_value)} (better on 3 of 5 tasks, worse on "
        f"1): these tasks cannot tell the two apart; about {needed} would for such a difference"
    )
    assert answer[1:3] == (
        "b 92.0 %, a 84.0 %, over 5 tasks with a score in both; most apart on boltons +20.0, bleach +15.0, "
        "tinydb +15.0",
        "left out, for one of the two has no score: flask (a: infrastructure; b: 50.0 %)",
    )
    mirrored = comparison_answer(compared(run_of("b", B), run_of("a", A)))
    assert mirrored[:2] == answer[:2], "whichever run is the base"
    for text in (ShownComparison.of(report).markdown(), ShownReport.of(report).markdown()):
        assert f"+8.0 points{around(lead.interval)}".replace("[", "\\[").replace("]", "\\]") in text
        assert "-8.0 points" not in text


def test_a_difference_that_these_tasks_tell_is_said_so() -> None:
    """Each of nine tasks half a point better: p is 2 / 2 * (1 / 1.5)^9 = 0.026, by the value added at -1."""
    names = [f"t{number}" for number in range(9)]
    worse: Run = run_of("low", {name: [(1, 4)] for name in names})
    (first, *_) = comparison_answer(compared(worse, run_of("high", {name: [(3, 4)] for name in names})))
    assert first.startswith("high +50.0 points over low [+")
    assert first.endswith(", p 0.026 (better on 9 of 9 tasks): these tasks tell the two apart")


def test_a_run_beside_itself_or_its_copy_says_so() -> None:
    """Same submissions, same times: no two runs are compared. Graded again later, only grading is."""
    config, lines = run_of("ada", {"t": [(1, 2)], "u": [(2, 2)]})
    lines = {key: line.but(submission=f"digest-{key.task}") for key, line in lines.items()}
    copy, again = (
        config.but(run_id="copy"),
        config.but(run_id="again", created_at=config.created_at.replace(year=2027)),
    )
    (first, *_) = comparison_answer(compared((config, lines), (copy, lines)))
    assert first == "ada and copy are one run, or one is a copy of the other"
    (first, *_) = comparison_answer(compared((config, lines), (again, lines)))
    assert first == "ada and again hold the same submissions: what differs is how they were graded"
    other = {key: line.but(submission="other") for key, line in lines.items()}
    (first, *_) = comparison_answer(compared((config, lines), (copy, other)))
    assert first == "ada and copy have the same score on each of 2 tasks"


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ([(1, 2), (3, 4)], [(1, 2), (3, 4)], "a and b have the same score on each of 2 tasks"),
        ([(1, 2), (3, 4)], [(3, 4), (1, 2)], "a and b are equal over 2 tasks: each is better on 1"),
        (
            [(1, 2)],
            [(1, 1)],
            "b +50.0 points over a (better on 1 of 1 task): one task cannot tell the two apart",
        ),
        (["pending"], [(1, 1)], "a and b have no task with a score in both: nothing can be compared"),
    ],
)
def test_other_answers(left: list[Word], right: list[Word], said: str) -> None:
    """Nothing is called better that is not, and one task decides nothing."""
    named = {"a": left, "b": right}.items()
    runs = [run_of(name, {f"t{n}": [word] for n, word in enumerate(words)}) for name, words in named]
    assert comparison_answer(compared(*runs))[0] == said


def test_of_several_runs_the_best_is_named_and_each_is_compared() -> None:
    """With its place, as far as the tasks say."""
    runs = [
        run_of(name, {f"t{n}": [(points, 4)] for n in range(10)})
        for name, points in (("a", 1), ("b", 3), ("c", 2))
    ]
    answer = comparison_answer(compared(*runs))
    assert answer[0] == (
        "b has the highest mean of 3 runs: 75.0 % over the 10 tasks that all have a score for; its true place may "
        "be 1 to 3"
    )
    assert answer[1].startswith("b +50.0 points over a [")
    assert answer[1].endswith("p 0.035 (better on 10 of 10 tasks): these tasks tell the two apart"), "2 / 1.5^10"
    assert answer[3].startswith("c +25.0 points over a [-")


def test_both_forms_begin_with_it() -> None:
    """In the first five lines, of a terminal and of Markdown, of `compare` and `report`."""
    report = compared(run_of("a", A), run_of("b", B))
    for shown in (ShownReport.of(report), ShownComparison.of(report)):
        lines = [line for line in shown.markdown().splitlines() if line]
        assert lines[1].startswith("b +8.0 points over a")
    assert report.answer == comparison_answer(report), "JSON has it, too"
    assert side_by_side(report.runs[:1]).answer == run_answer(report.runs[0])


REPEATED: dict[str, list[Word]] = {
    "flips": [(4, 4), (2, 4)],
    "steady": [(4, 4), (4, 4)],
    "below": [(1, 4), (2, 4)],
    "once": [(3, 4), "pending"],
}
"""Variances of attempts 0.125, 0 and 0.03125, on average 0.0520833; the deviation over 4 tasks is 0.114109."""


def test_repeated_attempts_say_what_chance_does() -> None:
    """Which tasks flip, by how much two runs of one subject differ, and by how much two single runs must."""
    run = report_run(*run_of("r", REPEATED))
    assert run.noise is not None
    assert (run.noise.tasks, run.noise.flipping) == (3, ("flips",))
    assert run.noise.deviation == pytest.approx(0.114109, abs=1e-6)
    assert run.noise.difference == pytest.approx(0.161374, abs=1e-6)
    assert run.noise.needed == pytest.approx(0.316294, abs=1e-6)
    said = (
        "r: of 3 tasks with several attempts 1 flips between solved and not (flips); two runs of it with one "
        "attempt a task differ by 16.1 points as a rule, and must by more than 31.6 points to say anything"
    )
    assert noise_sentences(run) == (said,)
    other = run_of("other", {task: [words[0]] for task, words in REPEATED.items()})
    assert said in comparison_answer(compared(run_of("r", REPEATED), other))
    same = report_run(*run_of("same", {"t": [(1, 2), (1, 2)]}))
    assert noise_sentences(same) == (
        "same: of 1 task with several attempts none flips between solved and not; "
        "attempts at one task never differ",
    )


def test_where_each_task_has_one_attempt_chance_is_not_known() -> None:
    """Which says how it can be."""
    assert noise_sentences(report_run(*run_of("a", A))) == ()
    assert (
        "each task has one attempt: `-k 3` shows"
        in comparison_answer(compared(run_of("a", A), run_of("b", B)))[-1]
    )


def test_a_run_says_its_score_what_it_lost_most_and_what_has_none() -> None:
    """Attempts by what they got; the one that lost most first, with its largest cause."""
    config, lines = run_of("r", {"a": [(4, 4), (1, 4)], "b": [(2, 4), "pending"], "c": [(0, 4), "tampered"]})
    cause = Cause(said="KeyError: 'k'", place="pkg/a.py:3", tests=2, first="t::one")
    other = Cause(said="assert 1 == 2", tests=1, first="t::two")
    key = AttemptKey(task="a", index=1)
    run = report_run(config, lines, losses={key: AttemptLosses(Losses(tests=3, causes=(cause, other)), ())})
    assert run_answer(run) == (
        "37.5 % [5.3 %, 83.3 %] so far, provisional, over 3 tasks: of 6 attempts 1 solved, 2 partial, 1 pending, "
        "1 failed, 1 tampered",
        "lost most: c/0 0.0 %, test: some *failed* | \x1b[31m; c/1 0.0 % (tampered), test: it wrote its own "
        "results; a/1 25.0 %, 3 tests lost, 2 of them by pkg/a.py:3: KeyError: 'k'; 1 more",
        "no verdict, in no mean: b/1",
    )


def test_one_repository_has_its_own_sentence() -> None:
    """Is it good, and why not."""
    config, lines = run_of("r", {"six": [(3, 4)]})
    losses = Losses(tests=1, causes=(Cause(said="KeyError: 'k'", place="six.py:9", tests=1, first="t::one"),))
    run = report_run(config, lines, losses=dict.fromkeys(lines, AttemptLosses(losses, ())))
    assert run_answer(run) == ("six: 75.0 % (3/4); 1 test lost, six.py:9: KeyError: 'k'",)
    assert run_answer(report_run(*run_of("r", {"six": [(4, 4)]}))) == ("six: 100.0 % (4/4)",)
    assert run_answer(report_run(*run_of("r", {"six": ["pending"]}))) == (
        "six: pending",
        "no verdict, in no mean: six",
    )
    nothing = report_run(*run_of("r", {"a": ["pending"], "b": ["pending"]}))
    assert run_answer(nothing)[0] == "no score yet: none of 2 tasks has a verdict"


def test_why_no_test_tells_is_said_of_one_repository() -> None:
    """Such as a reply without a file."""
    config, lines = run_of("r", {"six": [(0, 4)]})
    (key,) = lines
    verdict = lines[key].verdict
    assert verdict is not None
    silent = lines[key].but(
        verdict=verdict.but(reasons=()), effort=Effort(detail="the reply gives no file", turns=1)
    )
    assert run_answer(report_run(config, {key: silent})) == ("six: 0.0 % (0/4); the reply gives no file",)


def test_what_was_not_attempted_counts_among_the_losses() -> None:
    """By points: two tasks not handed in are 2, two halves of one task 0.25 each, and one more is 0.5."""
    words: dict[str, list[Word]] = {
        "gone": ["not_attempted", "not_attempted"],
        "away": ["not_attempted", "not_attempted"],
        "half": [(1, 2), (1, 2)],
        "late": [(1, 2), "pending"],
        "full": [(2, 2), (2, 2)],
    }
    run = report_run(*run_of("r", words))
    assert run.points_lost == {"not attempted": 2.0, "test": 1.0}
    answer = run_answer(run)
    assert answer[1].startswith("lost most: 4 not attempted; 3 attempts 50.0 %, test: ")
    assert answer[2] == "lost in all: 3 tasks; not attempted 2 tasks, 67 %, test 1 task, 33 %"
    assert sum(run.points_lost.values()) == pytest.approx(5 * (1 - (run.headline.score.value or 0)))


def test_the_worst_come_first_whatever_their_number_of_tests() -> None:
    """A task of 10 tests at 0 % lost more than one of 1,000 at 70 %."""
    rows = report_run(*run_of("r", {"large": [(700, 1000)], "small": [(0, 10)], "mid": [(5, 10)]})).attempts
    assert [row.task for row in worst_first(rows)] == ["small", "mid", "large"]


def test_a_verdict_of_nothing_says_so() -> None:
    """0 of 0 is graded and no score: nothing was left to count."""
    run = report_run(*run_of("r", {"a": [(0, 0)], "b": [(0, 0)]}))
    assert run_answer(run)[0] == "no score: 2 of 2 attempts graded, as 0 of 0: there was nothing to count"
    one = report_run(*run_of("r", {"a": [(0, 0)], "b": [(1, 1)]}))
    assert run_answer(one)[0].endswith("1 of 2 tasks: 1 with nothing to count (0/0), 1 solved")


def test_a_score_by_names_is_not_lost_at_tests() -> None:
    """DI-Bench's F1 counts names of dependencies; its verdicts name the stage of tests."""
    config, lines = run_of("r", {"a": [(6, 7)], "b": [(0, 3)]})
    half = Score(numerator=1, denominator=2)
    named = {
        key: line.but(verdict=line.verdict and line.verdict.but(scores={"precision": half, "recall": half}))
        for key, line in lines.items()
    }
    run = report_run(config, named)
    assert list(run.points_lost) == ["names"]
    assert run_answer(run)[1].startswith("lost most: b 0.0 %, names: some")
    assert list(report_run(config, lines).points_lost) == ["test"]


def test_tasks_left_out_are_said_with_both_means() -> None:
    """In the answer, a comparison, LaTeX, CSV, JUnit, the paper's table: two of five tasks could not be graded."""
    config, lines = run_of("r", {"a": [(1, 2)], "b": [(1, 1)], "c": [(0, 1)]})
    run = report_run(config.but(left_out=("d", "e")), lines)
    told = (
        "3 of 5 tasks asked for; left out, because they could not be graded when the run began: d, e; "
        "with them as 0 the mean of 50.0 % would be 30.0 % (1.500/5)"
    )
    assert run_answer(run)[1] == told
    many = report_run(config.but(left_out=tuple(f"d{number:02}" for number in range(13))), lines)
    assert "began: d00, d01, " in run_answer(many)[1]
    assert "d09 and 3 more; with them as 0" in run_answer(many)[1]
    whole = report_run(*run_of("whole", {"a": [(1, 2)], "b": [(1, 1)], "c": [(0, 1)]}))
    assert f"compare with care: r: {told}" in comparison_answer(side_by_side((whole, run)))
    one = ShownReport.of(side_by_side((run,)))
    assert told in one.written("latex").decode()
    assert markdown(views_of(one)).count("of 5 tasks asked for") == 1
    assert told in one.written("junit").decode()
    assert [(row["task"], row["standing"], row["score"]) for row in one.rows()[3:]] == [
        ("d", "left out", None),
        ("e", "left out", None),
    ]
    assert told in one.written("csv").decode()
