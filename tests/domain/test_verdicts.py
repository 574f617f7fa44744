"""Verdicts and scores."""

import pytest
from pydantic import TypeAdapter

from groundup.domain.verdicts import (
    GraderIdentity,
    Reason,
    Said,
    Score,
    Stage,
    Status,
    TestResult,
    Verdict,
    counted,
    got,
    share,
    share_alone,
    told_in_counts,
)


@pytest.mark.parametrize(
    ("status", "score", "counts"),
    [
        (Status.GRADED, Score(numerator=3, denominator=4), 0.75),
        (Status.GRADED, Score(numerator=12, denominator=10), 1.0),
        (Status.GRADED, Score(numerator=-1, denominator=10), 0.0),
        (Status.GRADED, Score(numerator=0, denominator=0), None),
        (Status.GRADED, None, None),
        (Status.TAMPERED, None, 0.0),
        (Status.INFRASTRUCTURE, None, None),
        (Status.INFRASTRUCTURE, Score(numerator=1, denominator=1), None),
    ],
)
def test_an_attempt_counts_the_same_wherever_it_counts(
    status: Status, score: Score | None, counts: float | None
) -> None:
    """A share of 1; 0 for who tampered; nothing without a score. Further scores count by the same rule."""
    verdict = Verdict(
        status=status,
        score=score,
        scores={"deployed": score} if score else {},
        grader=GraderIdentity(name="strict", version="1"),
    )
    assert counted(verdict) == counted(verdict, "deployed") == counts
    assert counted(verdict, "no such score") == (0.0 if status is Status.TAMPERED else None)


def test_what_was_not_attempted_counts_nothing() -> None:
    """It is no less than any other attempt: 0 in each mean, by each score."""
    assert counted(None) == counted(None, "deployed") == 0.0


def test_an_undefined_share_has_no_value() -> None:
    """0/0 is not zero: a score without a denominator has no value."""
    assert Score(numerator=0, denominator=0).value is None


@pytest.mark.parametrize(
    ("numerator", "denominator", "holds"),
    [
        (0, 1, True), (1, 1, True), (3, 4, True), (0, 0, True), (5, 4, False), (-1, 4, False), (1, 0, False),
        (0, -1, False), (float("nan"), 1, False), (1, float("inf"), False), (0.1 + 0.2, 0.3, True),
    ],
)  # fmt: skip
def test_a_share_is_no_more_than_could_be_got(numerator: float, denominator: float, *, holds: bool) -> None:
    """Finite numbers between nothing and all, as far as sums of fractions can be exact."""
    assert Score(numerator=numerator, denominator=denominator).is_share is holds


def test_a_score_survives_its_own_json() -> None:
    """The computed value in the JSON does not stop it from being read back."""
    score = Score(numerator=3, denominator=4)
    assert Score.model_validate_json(score.model_dump_json()) == score
    assert '"value":0.75' in score.model_dump_json()


def test_a_verdict_holds_nothing_that_cannot_be_written() -> None:
    """A file's name may have bytes that are no text; quoting it must not cost the run its line."""
    hostile = "start\udcff.sh"
    verdict = Verdict(
        status=Status.GRADED,
        score=None,
        facts={"start": hostile, "passed": 1, "late": True, "share": 0.5, "answer": None},
        reasons=(Reason(stage=Stage.START, message="\ud800é" * 200),),
        grader=GraderIdentity(name="strict", version="1"),
    )

    read = Verdict.model_validate_json(verdict.model_dump_json())
    assert read == verdict
    assert read.facts == {"start": "start?.sh", "passed": 1, "late": True, "share": 0.5, "answer": None}
    assert read.facts["late"] is True
    assert read.reasons[0].message == "?é" * 200
    assert TestResult(id=hostile, outcome="passed", expected=True, message=hostile).model_dump_json()


def test_what_a_submission_said_can_be_stored() -> None:
    """Bytes of its files that are no UTF-8 become question marks, one each; all else stays."""
    said = TypeAdapter(Said)
    assert said.validate_python("caf\udce9 é ok") == "caf? é ok"
    assert said.validate_python("plain") == "plain"


@pytest.mark.parametrize(
    ("numerator", "denominator", "is_share"),
    [
        (0, 0, True),
        (1, 0, False),
        (1, 1, True),
        (0.5, 1, True),
        (0.1 + 0.2, 0.3, True),
        (1.01, 1, False),
        (-1, 10, False),
        (0, -1, False),
    ],
)
def test_no_more_can_be_had_than_there_is(numerator: float, denominator: float, is_share: bool) -> None:
    """What floats add too much is forgiven."""
    assert Score(numerator=numerator, denominator=denominator).is_share is is_share


@pytest.mark.parametrize(
    ("outcome", "expected", "kind", "lost"),
    [
        ("passed", True, "test", False),
        ("failed", True, "test", True),
        ("missing", True, "test", True),
        ("failed", False, "test", False),
        ("failed", False, "dependency", True),
        ("passed", False, "dependency", False),
    ],
)
def test_who_asks_why_is_shown_what_was_lost(outcome: str, expected: bool, kind: str, lost: bool) -> None:
    """Expected tests, and every dependency."""
    found = TestResult.model_validate({"id": "a", "outcome": outcome, "expected": expected, "kind": kind})
    assert found.lost == lost


def test_a_verdict_settles_an_attempt_unless_the_machine_failed() -> None:
    """Then there will be another."""
    grader = GraderIdentity(name="strict", version="1")
    found = {status: Verdict(status=status, score=None, grader=grader).settles for status in Status}
    assert {status for status, settles in found.items() if settles} == {Status.GRADED, Status.TAMPERED}


@pytest.mark.parametrize(
    ("numerator", "denominator", "told"),
    [
        (0, 4, "Score 0.0000: 0 of 4 passed."),
        (4, 4, "Score 1.0000: 4 of 4 passed."),
        (99999, 100000, "Score 0.9999: 99999 of 100000 passed."),
        (1, 100000, "Score 0.0001: 1 of 100000 passed."),
        (1, 3, "Score 0.3333: 1 of 3 passed."),
        (5, 4, "Score 1.0000: 5 of 4 passed."),
        (0, 0, "There is no score."),
    ],
)
def test_an_agent_is_told_all_or_nothing_only_where_it_is(numerator: float, denominator: float, told: str) -> None:
    """And nothing of a reason."""
    score = Score(numerator=numerator, denominator=denominator)
    verdict = Verdict(status=Status.GRADED, score=score, grader=GraderIdentity(name="strict", version="1"))
    assert told_in_counts(verdict) == told
    cheat = Verdict(status=Status.TAMPERED, score=None, grader=verdict.grader)
    assert told_in_counts(cheat) == "There is no score."


def test_what_an_attempt_got_fits_a_cell() -> None:
    """Its score, or how it stands."""
    grader = GraderIdentity(name="strict", version="1")
    half = Verdict(status=Status.GRADED, score=Score(numerator=1, denominator=2), grader=grader)
    nothing = half.but(score=Score(numerator=0, denominator=0))
    assert [got(one) for one in (half, nothing, None)] == [
        "50.0 % (1/2)",
        "with nothing to count (0/0)",
        "not attempted",
    ]
    assert [got(half, is_pending=True), got(None, is_pending=True)] == ["pending", "pending"]
    assert got(Verdict(status=Status.INFRASTRUCTURE, score=None, grader=grader)) == "infrastructure"
    assert [share(None), share(half.score), share(nothing.score)] == ["-", "50.0 % (1/2)", "-"]
    assert [share_alone(None), share_alone(half.score), share_alone(nothing.score)] == ["-", "50.0", "-"]
    further = half.but(scores={"more": Score(numerator=1, denominator=4)})
    assert [counted(further, "more"), counted(further, "none"), counted(None, "more")] == [0.25, None, 0.0]
