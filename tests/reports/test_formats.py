"""What readers see, in each format."""

import io
import json

from rich.console import Console

from groundup.domain.figures import percent
from groundup.domain.limits import Effort
from groundup.domain.subjects import Outcome
from groundup.domain.usage import TokenUsage
from groundup.domain.verdicts import Reason, Stage
from groundup.reports.document import Report
from groundup.reports.formats import markdown, show
from groundup.reports.views import views_of
from tests.reports.made import Word, report_of, run_of

WORDS: dict[str, list[Word]] = {
    "alpha": [(3, 4)],
    "beta": [(4, 4)],
    "cheat": ["tampered"],
    "gamma": ["infrastructure"],
    "unseen": ["not_attempted"],
}


def printed(report: Report) -> str:
    """Return the tables as text, without rules."""
    console = Console(file=io.StringIO(), width=160, color_system=None)
    show(views_of(report), console)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    return "\n".join(line for line in lines if not line or line.strip("─ "))


ONE = """toy · r
4 of 5 tasks were attempted: 58.3 %; over the 4 with a verdict: 43.8 %
lost most: 1 not attempted; cheat 0.0 % (tampered), test: it wrote its own results; alpha 75.0 %, \
test: some *failed* | \\x1b[31m
lost in all: 2.2 tasks; test 1.2 tasks, 56 %, not attempted 1 task, 44 %
no verdict, in no mean: gamma
predictions with m; toy 1; sandbox bubblewrap
graded by strict 3, data d1, environment rebuilt

 task    score           verdict          why
 alpha   75.0 % (3/4)    partial          test: some *failed* | \\x1b[31m
 beta    100.0 % (4/4)   solved
 cheat   -               tampered         test: it wrote its own results
 gamma   -               infrastructure   environment: no network

not attempted, counted as 0: unseen; `evaluate --only-predicted` leaves such tasks out
1 of 5 attempts have no verdict and are in no mean; resume the run
verdicts with signs of tampering: 1; `groundup review r` shows them

Summary

 figure                value
 mean score            43.8 % (1.750/4 tasks, of 5) [5.9 %, 87.6 %]
 solved                25.0 % (1/4 tasks, of 5) [0.6 %, 80.6 %]
 declared              12.5 % (0.500/4 tasks, of 5) [1.7 %, 65.6 %]
 tampered              1
 infrastructure        1
 not attempted         1
 lost: test            1.2 tasks, 56 %
 lost: not attempted   1 task, 44 %

95 % interval of solved: Clopper-Pearson
95 % interval of mean score, declared: Gaffke's, for means of values between bounds
"""


def test_no_attempt_is_called_solved_beside_an_unexplained_fault() -> None:
    """With all points and yet a reason, such as one that was not deployed, all reasons are reported."""
    report = report_of([run_of("r", WORDS)])
    run = report.runs[0]
    beta = next(row for row in run.attempts if row.task == "beta")
    reasons = (
        Reason(stage=Stage.INSTALL, message="no such package"),
        Reason(stage=Stage.START, message="port 80 did not answer"),
    )
    rows = [row.but(reasons=reasons) if row is beta else row for row in run.attempts]
    text = printed(report.but(runs=(run.but(attempts=tuple(rows)),)))

    (line,) = (line for line in text.splitlines() if "beta" in line)
    assert "solved" in line
    assert "install: no such package; start: port 80 did not answer" in line


def test_one_run_as_a_table() -> None:
    """Denominators, intervals with their method, the grader with its version, and what has no score, apart."""
    assert printed(report_of([run_of("r", WORDS)])) == ONE


def test_an_interval_s_method_is_told_with_its_figures() -> None:
    """Who explains a score reads which of the methods below the table is that of which figure."""
    run = run_of("r", {"a": [(1, 1)], "b": [(1, 2)], **{name: [(0, 2)] for name in "cdef"}})
    (view,) = [view for view in views_of(report_of([run])) if view.title == "Summary"]
    assert view.below[0] == "95 % interval of solved: Clopper-Pearson"
    assert view.below[1].startswith("95 % interval of mean score, declared: Gaffke")


def test_what_an_agent_took_stands_below_and_how_it_was_ended_beside_the_reason() -> None:
    """A cut-off reply explains a missing file better than the grader can."""
    config, lines = run_of("r", {"alpha": [(0, 4)]})
    (key,) = lines
    usage = TokenUsage(input_tokens=12345, output_tokens=600)
    effort = Effort(detail="the reply was cut off after 600 tokens", turns=1, usage=usage)
    lines[key] = lines[key].but(outcome=Outcome.LIMIT, effort=effort)
    text = printed(report_of([(config, lines)]))
    assert "ended by limit (the reply was cut off after 600 tokens); test: some *failed*" in text
    rows = [line.split("  ") for line in text.splitlines()]
    shown = {row[0].strip(): row[-1].strip() for row in rows}
    assert [shown[name] for name in ("ended by limit", "turns", "input tokens", "output tokens")] == [
        "1",
        "1",
        "12,345",
        "600",
    ]
    assert "cost" not in shown  # it has no price


def test_an_agent_s_end_explains_points_that_no_grader_explains() -> None:
    """Suites that compare texts name no stage; then none is pretended, and a reply without files says why."""
    config, lines = run_of("r", {"alpha": [(0, 4)]})
    (key,) = lines
    verdict = lines[key].verdict
    assert verdict is not None
    silent = verdict.but(reasons=())
    effort = Effort(detail="the reply gives no file", turns=1)
    lines[key] = lines[key].but(verdict=silent, effort=effort)
    text = printed(report_of([(config, lines)]))
    assert "failed    the reply gives no file" in text
    assert "unstated" not in text


def test_two_runs_side_by_side() -> None:
    """Each task in one row, each run in one column, and the paired difference below."""
    other: dict[str, list[Word]] = {**WORDS, "alpha": [(4, 4)]}
    text = printed(report_of([run_of("first", WORDS), run_of("second", other)]))
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "alpha 75.0 % (3/4) 100.0 % (4/4)" in rows
    assert "cheat tampered tampered" in rows
    assert "unseen not attempted not attempted" not in rows
    assert "second over first 4 +6.2 points [-50.0, +56.0] 0.800 1 0 3 1" in rows


def test_many_unattempted_tasks_are_one_line() -> None:
    """Two predictions for a suite of a hundred tasks are not buried, and the hundred are not forgotten."""
    words: dict[str, list[Word]] = {f"t{number:03}": ["not_attempted"] for number in range(100)}
    text = printed(report_of([run_of("r", {**words, "done": [(1, 1)]})]))
    assert text.splitlines()[1] == "1 of 101 tasks was attempted: 100.0 %; over all 101: 1.0 %"
    assert "t006, t007 and 92 more; `evaluate --only-predicted` leaves such tasks out" in text
    assert "t050" not in text
    assert "1.0 % (1/101 tasks)" in text


def test_markdown_says_the_same_and_a_stranger_s_words_stay_words() -> None:
    """Messages of submissions are escaped: no markup, no new table cells."""
    text = markdown(views_of(report_of([run_of("r", WORDS)])))
    assert "| alpha | 75.0 % (3/4) | partial | test: some \\*failed\\* \\| \\\\x1b\\[31m |" in text
    assert "| mean score | 43.8 % (1.750/4 tasks, of 5) \\[" in text


def test_every_score_in_the_document_has_value_numerator_and_denominator() -> None:
    """Programs never have to divide, and never meet a share without its parts."""
    document = json.loads(report_of([run_of("r", WORDS)]).model_dump_json())
    run = document["runs"][0]
    scores = [row["score"] for row in run["attempts"] if row["score"]] + [row["score"] for row in run["figures"]]
    assert all(score.keys() == {"value", "numerator", "denominator"} for score in scores)
    assert run["figures"][0]["score"] == {"value": 0.4375, "numerator": 1.75, "denominator": 4.0}
    assert document["format"] == 1


def test_a_document_reads_back() -> None:
    """`report.json` is the record it was made from."""
    report = report_of([run_of("r", WORDS), run_of("s", WORDS)])
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_percentages_claim_no_more_than_is_true() -> None:
    """All and nothing are said only when they are exact."""
    assert [percent(value) for value in (0, 0.0001, 0.5, 0.9994, 0.9996, 1)] == [
        "0.0 %",
        "<0.1 %",
        "50.0 %",
        "99.9 %",
        ">99.9 %",
        "100.0 %",
    ]
