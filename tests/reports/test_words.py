"""What reports say of differences, losses and signs, word by word, at both sides of each bound."""

from typing import Any

import pytest

from groundup.domain.limits import Effort
from groundup.domain.subjects import AttemptKey, Outcome
from groundup.domain.verdicts import PASSES_WITH, Reason, Score, Stage, TestResult
from groundup.reports.causes import Cause, Losses
from groundup.reports.changed_tests import mended, mended_lines
from groundup.reports.columns import COLUMNS, left_out_rows
from groundup.reports.document import AttemptRow
from groundup.reports.edits import split_by_edits
from groundup.reports.intervals import Interval
from groundup.reports.kinds import KindLoss
from groundup.reports.lost import (
    kinds_in_all,
    left_out_words,
    points_lost,
    shares_lost,
    stage_of,
    tasks_worth,
    worst_first,
)
from groundup.reports.numbers import around, between, chance, points, signed, standing_words, words
from groundup.reports.publishing import row_for_others, without_parameters
from groundup.reports.repetition import noise_of
from groundup.reports.review import review_of
from groundup.reports.why import (
    common_cause,
    ended_words,
    guess_lines,
    kinds_words,
    lacking_lines,
    losses_words,
    place_lines,
    reasons_of,
    row_words,
    short_name,
    shortened,
)
from tests.reports.made import Word, report_of, run_of

INTERVAL = Interval(low=-0.0251, high=0.1249, method="m")


def test_differences_in_points() -> None:
    """With one digit; the interval has its signs, in percent it has none."""
    assert points(0.0249) == "2.5 points"
    assert signed(0.05, INTERVAL) == "+5.0 points [-2.5, +12.5]"
    assert signed(-0.05, None) == "-5.0 points"
    assert (around(None), between(None)) == ("", "")
    assert between(Interval(low=0.0, high=0.1249, method="m")) == " [0.0 %, 12.5 %]"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "-"),
        (0.0009, "< 0.001"),
        (0.001, "0.001"),
        (0.0494, "0.049"),
        (0.0496, "0.0496"),
        (0.0504, "0.0504"),
        (0.0506, "0.051"),
        (1.0, "1.000"),
    ],
)
def test_p_has_a_digit_more_beside_the_level(value: float | None, told: str) -> None:
    """Three digits would hide on which side of 5 % it is."""
    assert chance(value) == told


def test_scores_have_names() -> None:
    """As people say them; a name that nobody knows is read as it is, without its underscores."""
    names = ("of_declared", "port_in_time", "api_coverage", "f1", "fake_rate")
    assert [*map(words, names)] == [
        "share of the declared tests",
        "port open in time",
        "API coverage",
        "F1",
        "fake rate",
    ]


def row(task: str = "a", index: int = 0, **fields: Any) -> AttemptRow:
    """Return an attempt of a report."""
    fields = {"standing": "graded", "score": Score(numerator=0, denominator=2), **fields}
    return AttemptRow.model_validate({"task": task, "index": index, **fields})


def got(numerator: float, denominator: float = 2, **fields: Any) -> AttemptRow:
    """Return an attempt with a score."""
    return row(score=Score(numerator=numerator, denominator=denominator), **fields)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (got(2), "solved"),
        (got(2, complete=False), "all points, unsolved"),
        (got(1), "partial"),
        (got(0), "failed"),
        (got(0, 0), "with nothing to count (0/0)"),
        (row(standing="not_attempted", score=None), "not attempted"),
        (row(standing="infrastructure", score=None), "infrastructure"),
    ],
)
def test_how_an_attempt_stands(one: AttemptRow, told: str) -> None:
    """One word for each, and never `solved` for what was not graded whole."""
    assert standing_words(one) == told


TEST = Reason(stage=Stage.TEST, message="1 of 2 tests did not pass")
NAMED = {name: Score(numerator=1, denominator=2) for name in ("precision", "recall", "f1")}


def test_where_points_go() -> None:
    """By the first reason; a score by names has no tests; what lost nothing is at no stage."""
    build = Reason(stage=Stage.ENVIRONMENT, message="x")
    rows = {
        "test": got(1, reasons=(TEST, build)),
        "environment": got(1, reasons=(build, TEST)),
        "unstated": got(1),
        "not attempted": row(standing="not_attempted", score=None),
    }
    assert {stage_of(one) for one in (got(2), got(0, 0))} == {None}
    assert [*map(stage_of, rows.values())] == [*rows]


def test_the_worst_come_first() -> None:
    """By points, then by task, then by number; who lost none, or counts nothing, is not among them."""
    lost = [got(1, task="b"), got(1, task="a", index=1), got(1, task="a"), got(2), got(0, 0), got(0, task="z")]
    assert [(one.task, one.index) for one in worst_first(lost)] == [("z", 0), ("a", 0), ("a", 1), ("b", 0)]


def test_points_lost_add_up_to_what_the_mean_lacks() -> None:
    """Each of a task's attempts counts its part; the most first, equal ones by name."""
    rows = [
        got(1, task="a", reasons=(TEST,)),
        got(2, task="a", index=1),
        got(0, task="b", reasons=(Reason(stage=Stage.ENVIRONMENT, message="x"),)),
        got(1, task="c"),
        got(1, task="d", reasons=(TEST,)),
        got(0, 0, task="e"),
    ]
    found = points_lost(rows)
    assert found == {"environment": 1.0, "test": 0.75, "unstated": 0.5}
    assert [*found] == ["environment", "test", "unstated"]
    assert [*points_lost([got(1, task="x"), got(1, task="y", reasons=(TEST,))])] == ["test", "unstated"]
    assert shares_lost(found) == {
        "environment": "1 task, 44 %",
        "test": "0.8 tasks, 33 %",
        "unstated": "0.5 tasks, 22 %",
    }


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (1, "1 task"),
        (1.04, "1 task"),
        (2.5, "2.5 tasks"),
        (2, "2 tasks"),
        (0.05, "0.1 tasks"),
        (0.049, "0.049 tasks"),
    ],
)
def test_how_much_is_lost_in_tasks(value: float, told: str) -> None:
    """Little is not rounded to nothing."""
    assert tasks_worth(value) == told


def test_kinds_of_causes_are_summed_over_tasks() -> None:
    """A task's attempts share its part of the mean; one without a score has none."""
    kinds = (
        KindLoss(kind="wrong value", tests=1, points=40.0),
        KindLoss(kind="missing name", tests=1, points=40.0),
    )
    rows = [got(1, task="a", kinds=kinds), got(2, task="a", index=1), got(1, task="b", kinds=kinds[:1])]
    rows.append(row(task="c", standing="infrastructure", score=None, kinds=kinds))
    found = kinds_in_all(rows)
    assert found == {"wrong value": 30.0, "missing name": 10.0}
    assert [*found] == ["wrong value", "missing name"]


def test_left_out_tasks_are_named_and_counted() -> None:
    """Ten of them; the mean is said with and without."""
    (run,) = report_of([run_of("r", {"a": [(1, 2)], "b": [(2, 2)]})]).runs
    assert left_out_words(run) == ""
    told = "; left out, because they could not be graded when the run began: "
    ten = ", ".join(f"t{n}" for n in range(10))
    mean = "; with them as 0 the mean of 75.0 % would be "
    assert left_out_words(run.but(left_out=("t0", "t1"))) == (
        f"2 of 4 tasks asked for{told}t0, t1{mean}37.5 % (1.500/4)"
    )
    eleven = left_out_words(run.but(left_out=tuple(f"t{n}" for n in range(11))))
    assert eleven == f"2 of 13 tasks asked for{told}{ten} and 1 more{mean}11.5 % (1.500/13)"
    assert f"{told}{ten}{mean}" in left_out_words(run.but(left_out=tuple(f"t{n}" for n in range(10))))


def cause(said: str = "KeyError: 'k'", **fields: Any) -> Cause:
    """Return a cause of one lost test."""
    return Cause.model_validate({"said": said, "tests": 1, "first": "t.py::a", **fields})


def test_losses_in_one_line() -> None:
    """One cause names its first test, where there is a result; of several the first three are named."""
    one = Losses(tests=1, causes=(cause(place="a.py:3"),))
    assert losses_words(one) == "1 test lost, first t.py::a: a.py:3: KeyError: 'k'"
    assert (
        losses_words(Losses(tests=2, causes=(cause("no result: it hung"),))) == "2 tests lost: no result: it hung"
    )
    several = tuple(cause(f"E: {at}", tests=9 - at) for at in range(4))
    named = "9 E: 0; 8 E: 1; 7 E: 2"
    assert losses_words(Losses(tests=24, causes=several[:3])) == f"24 tests lost by 3 causes: {named}"
    assert losses_words(Losses(tests=30, causes=several)) == f"30 tests lost by 4 causes: {named}; 1 more"
    assert losses_words(Losses(tests=40, causes=several[:3], further=5)) == (
        f"40 tests lost by 8 causes: {named}; 5 more"
    )
    syntax = cause("SyntaxError: no (a.py, line 3)", place="a.py:3")
    assert losses_words(Losses(tests=1, causes=(syntax,))).endswith("t.py::a: SyntaxError: no (a.py, line 3)")


def test_why_an_attempt_lost_points_in_one_line() -> None:
    """How it ended comes first where it did not end by itself; a solved one has nothing to say."""
    effort = Effort(detail="the limit of 3 turns is reached")
    assert ended_words(None, effort) == ended_words(Outcome.SUBMITTED, effort) == ""
    assert ended_words(Outcome.LIMIT, effort) == "ended by limit (the limit of 3 turns is reached)"
    assert ended_words(Outcome.LIMIT, None) == ended_words(Outcome.LIMIT, Effort()) == "ended by limit"
    cut = got(1, outcome=Outcome.LIMIT, effort=effort, reasons=(TEST,))
    told = "test: 1 of 2 tests did not pass"
    assert row_words(cut) == f"ended by limit (the limit of 3 turns is reached); {told}"
    spoke = got(1, outcome=Outcome.SUBMITTED, effort=Effort(detail="no file"), reasons=(TEST,))
    assert row_words(spoke) == f"{told}; no file"
    assert row_words(spoke.but(effort=Effort())) == told
    assert row_words(got(2, outcome=Outcome.SUBMITTED, effort=Effort(detail="no file"))) == ""
    absent = row(standing="not_attempted", score=None, outcome=Outcome.NOT_ATTEMPTED, effort=effort)
    assert row_words(absent) == ""
    losses = Losses(tests=1, causes=(cause(),), reasons=(Reason(stage=Stage.START, message="late"),))
    assert reasons_of(got(1, losses=losses, reasons=(TEST,))) == [
        "start: late",
        "test: 1 test lost, first t.py::a: KeyError: 'k'",
    ]


def test_names_and_lines_are_cut_where_they_are_too_long() -> None:
    """At 120 characters a name keeps its beginning and, for its parameters, more of its end."""
    assert short_name("x" * 120) == "x" * 120
    assert short_name("a" * 60 + "b" * 61) == "a" * 40 + "..." + "a" * 19 + "b" * 61
    assert (shortened("abc", 3), shortened("abcd", 3)) == ("abc", "ab…")
    assert common_cause("GET https://host.example:8/a/b of a1 gave 500", "a1") == (
        "GET https://host.example:8 of TASK gave 500"
    )


def test_what_mending_brings_back() -> None:
    """Kinds that bring nothing, or cannot be mended because nothing ran, are not named."""
    kinds = [
        KindLoss(kind="wrong value", tests=2, points=12.34),
        KindLoss(kind="missing name", tests=1, points=0.05),
        KindLoss(kind="wrong text", tests=1, points=0.04),
    ]
    assert kinds_words(kinds) == "mending would bring back: wrong value 12.3 points, missing name 0.1 points"
    assert kinds_words(kinds[2:]) == kinds_words([]) == ""


def lost(name: str, message: str = "", **fields: Any) -> TestResult:
    """Return a lost test."""
    found = {"id": f"t.py::{name}", "outcome": "failed", "expected": True, "message": message, **fields}
    return TestResult.model_validate(found)


def test_what_is_lacking_is_told_at_once() -> None:
    """Names in one line, calls a line each, each once, without the sandbox's folder."""
    tests = [lost("a", lacks=("pkg.f", "call /workspace/a.py:3: f(1)")), lost("b", lacks=("pkg.f", "pkg.g"))]
    assert lacking_lines(tests) == [
        "names that the tests use and the submission lacks: pkg.f, pkg.g",
        "1 call that the submission's signatures do not take:",
        "  a.py:3: f(1)",
    ]
    assert lacking_lines([lost("a")]) == []


@pytest.mark.parametrize(
    ("one", "lines"),
    [
        (cause(), []),
        (cause(place="a.py:3"), ["a.py:3"]),
        (cause(place="a.py:3", code="x = 1"), ["a.py:3: x = 1"]),
        (cause(calls="a.py:9: def f():"), ["calls a.py:9: def f():"]),
        (
            cause(calls="a.py:9: def f():; or in what it calls: a.py:12"),
            ["calls a.py:9: def f():", "or in what it calls: a.py:12"],
        ),
        (
            cause(calls="a.py:9: def f():; or in what it calls: a.py:12", probably="a.py:4: y\nb.py:5: z"),
            ["calls a.py:9: def f():", "probably a.py:4: y", "else b.py:5: z"],
        ),
        (cause(place="a.py:3", probably="a.py:3: x"), ["a.py:3"]),
        (
            cause(place="a.py:3", probably=f"a.py:3: x{PASSES_WITH}y"),
            ["a.py:3", f"probably a.py:3: x{PASSES_WITH}y"],
        ),
    ],
)
def test_where_a_cause_lies(one: Cause, lines: list[str]) -> None:
    """A guess that says no more than the place is not told; helpers are named where there is no guess."""
    assert [*place_lines(one)] == lines
    assert guess_lines(["a", "b", "c"]) == ["probably a", "else b", "else c"]


def test_pages_for_others_have_no_text_of_a_test() -> None:
    """Neither in reasons, nor in causes, nor in parameters; an attempt without losses keeps its other reasons."""
    assert without_parameters("t.py::a[1-\n2]") == "t.py::a[...]"
    assert without_parameters("t.py::a") == "t.py::a"
    said = TEST.but(message="1 of 2 expected tests did not pass; first t.py::a: assert 'x' == 'y'")
    other = Reason(stage=Stage.START, message="3 of 4 expected tests did not pass; first a: b")
    told = "1 of 2 expected tests did not pass"
    bare = row_for_others(got(1, reasons=(said, other)))
    assert [one.message for one in bare.reasons] == [told, other.message]
    assert bare.losses is None
    whole = row_for_others(
        got(1, reasons=(said,), losses=Losses(tests=1, causes=(cause(first="t.py::a[7]"),), reasons=(said,)))
    )
    assert whole.losses is not None
    assert [one.message for one in (*whole.reasons, *whole.losses.reasons)] == [told, told]
    assert [(one.said, one.first) for one in whole.losses.causes] == [("KeyError", "t.py::a[...]")]


def test_noise_of_repeated_attempts() -> None:
    """Of tasks with two attempts or more, over all tasks; 1.96 deviations of a difference happen once in 20."""
    assert noise_of({"a": [1.0], "b": [0.0]}, {}) is None
    found = noise_of({"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [1.0]}, {"a": [1, 0], "b": [1, 1], "c": [1]})
    assert found is not None
    assert (found.tasks, found.flipping) == (2, ("a",))
    assert found.deviation == pytest.approx((0.25 / 3) ** 0.5)
    assert found.difference == pytest.approx((0.5 / 3) ** 0.5)
    assert found.needed == pytest.approx(1.96 * (0.5 / 3) ** 0.5)


@pytest.mark.parametrize(
    ("durations", "flagged"),
    [
        ([0.01] * 10, True),
        ([0.01] * 9, False),
        ([0.0005] * 10, False),
        ([0.0006] * 10, True),
        ([0.01] * 10 + [0.02], False),
    ],
)
def test_ten_equal_durations_are_a_sign(durations: list[float], flagged: bool) -> None:
    """Tests that take no time worth measuring are not; lost ones, and those without a duration, do not count."""
    tests = [lost(str(at), outcome="passed", duration_s=one) for at, one in enumerate(durations)]
    tests += [lost("lost", duration_s=0.5), lost("untimed", outcome="passed")]
    config, lines = run_of("r", {"a": [(1, 2)]})
    key = AttemptKey(task="a", index=0)
    found = review_of("r", config.configuration.submissions, lines, {key: tests})
    told = f"all 10 passed tests are said to have taken exactly {durations[0]:g} s"
    assert [flag.evidence for one in found.suspects for flag in one.flags] == ([told] if flagged else [])


def test_the_gravest_are_looked_at_first() -> None:
    """Tampered ones, suspect ones, then those with more flags, by task and number; the sentence counts them."""
    ended: dict[str, list[Word]] = {task: [(1, 2)] for task in "fedcb"}
    config, lines = run_of("r", {**ended, "a": ["tampered"], "g": [(1, 2), (1, 2)]})
    facts: dict[str, dict[str, str | int]] = {
        "f": {"integrity": "suspect", "integrity_why": "it differs"},
        "e": {"signs": "x", "not_seen_to_fail": 2},
        "d": {"signs": "x"},
        "c": {"signs": "none"},
        "g": {"signs": "x"},
    }
    changed = {}
    for key, line in lines.items():
        assert line.verdict is not None
        changed[key] = line.but(verdict=line.verdict.but(facts=facts.get(key.task, {})))
    found = review_of("r", config.configuration.submissions, changed, {})
    assert [(one.task, one.index) for one in found.suspects] == [
        ("a", 0),
        ("f", 0),
        ("e", 0),
        ("d", 0),
        ("g", 0),
        ("g", 1),
    ]
    assert (found.looked_at, found.not_looked_at) == (7, 1)
    assert found.conclusion == "verdicts with flags: 6 of 8"
    assert [(flag.kind, flag.evidence, flag.look) for one in found.suspects[:3] for flag in one.flags] == [
        ("tampered", "it wrote its own results", "attempts/a/0/tests.jsonl"),
        ("suspect", "it differs", "attempts/f/0/logs/check.txt"),
        ("sign", "x", "attempts/e/0/submission"),
        (
            "sign",
            "tests that were not seen to fail with false expectations: 2",
            "attempts/e/0/submission",
        ),
    ]


def test_what_an_attempt_took_stands_in_its_columns() -> None:
    """For people with units, for programs as numbers; what is not known is empty."""
    (run,) = report_of([run_of("r", {"a": [(1, 2)]})]).runs
    known = got(1, duration_s=2.34, effort=Effort(cost_usd=0.5, turns=3), cached=True)
    by_name = {column.name: column for column in COLUMNS}
    told = {name: by_name[name].told(run, known) for name in ("cost_usd", "seconds", "turns", "standing")}
    assert told == {"cost_usd": "$0.5000", "seconds": "2.3", "turns": "3", "standing": "partial (cached)"}
    bare = got(1, effort=Effort(cost_usd=None))
    for unknown in (bare, row(standing="pending", score=None)):
        assert [by_name[name].told(run, unknown) for name in ("cost_usd", "seconds")] == ["", ""]
    assert by_name["turns"].told(run, row()) == ""
    assert [by_name[name].value(run, known) for name in ("cost_usd", "seconds", "numerator")] == [0.5, 2.34, 1]
    (left,) = left_out_rows(run.but(left_out=("z",)), ("declared",))
    assert (left["task"], left["attempt"], left["standing"], left["scores.declared"]) == (
        "z",
        None,
        "left out",
        None,
    )


@pytest.mark.parametrize(
    ("demands", "told"),
    [
        ([], []),
        (["left 'a b c'\nright 'a b d'"], [""]),
        (["left  'a b 1'\nright 'a b 2'", "left  'c b 3'\nright 'c b 4'"], ["-# +#", "-# +#"]),
        (["left  'a b c d'\nright 'a b c'", "left  'x'\nright 'y'"], ["delete", ""]),
        (["line 3: 'a b c' != 'a b c d'", "line 4: 'e f g' != 'e f g d'"], ["- + d", "- + d"]),
        (["only the left one ends in a line break"] * 2, ["only the left one ends in a line break"] * 2),
        (["left  'a b c'\nright 3", "left  a\nright b"], ["", ""]),
    ],
)
def test_texts_that_differ_alike_have_one_cause(demands: list[str], told: list[str]) -> None:
    """By the edit that most of them share, numbers all alike; texts with little in common say nothing."""
    assert split_by_edits([lost(str(at), demand=one) for at, one in enumerate(demands)]) == told


def test_what_a_mend_brought() -> None:
    """Each part with its causes; what is lost for another reason says for which it was before."""
    old = [lost(name, f"{name.upper()}Error: x") for name in "abcd"]
    passed = [one.but(outcome="passed", message="") for one in old[:1]]
    new = [*passed, lost("b", "TypeError: y"), old[2], lost("e", "OSError: z"), old[3].but(outcome="passed")]
    assert [*mended_lines(mended(old, new), old, 80)] == [
        "2 came back; 1 newly lost; 1 still lost, for another reason than before; 1 lost as before",
        "",
        "2 tests came back:",
        "  1 test: AError: x",
        "  1 test: DError: x",
        "",
        "1 test newly lost:",
        "  1 test: OSError: z",
        "    t.py::e",
        "",
        "1 test still lost, for another reason than before:",
        "  1 test: TypeError: y",
        "    before: BError: x",
        "    t.py::b",
        "",
        "1 test lost as before:",
        "  1 test: CError: x",
        "    t.py::c",
    ]
    assert [*mended_lines(mended([], []), [], 80)] == ["nothing was lost in either"]
    same = [lost(str(at), "KeyError: 'k'") for at in range(3)]
    half = [one.but(outcome="passed") for one in same[:2]]
    assert [*mended_lines(mended(same, [*half, same[2]]), same, 80)][3] == "  2 of 3 tests: KeyError: 'k'"
