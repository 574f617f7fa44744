"""Verdicts and scores."""

from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, TestResult, Verdict


def test_an_undefined_share_has_no_value() -> None:
    """0/0 is not zero: a score without a denominator has no value."""
    assert Score(numerator=0, denominator=0).value is None


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
