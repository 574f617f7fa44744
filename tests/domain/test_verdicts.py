"""Verdicts and scores."""

from groundup.domain.verdicts import Score


def test_an_undefined_share_has_no_value() -> None:
    """0/0 is not zero: a score without a denominator has no value."""
    assert Score(numerator=0, denominator=0).value is None


def test_a_score_survives_its_own_json() -> None:
    """The computed value in the JSON does not stop it from being read back."""
    score = Score(numerator=3, denominator=4)
    assert Score.model_validate_json(score.model_dump_json()) == score
    assert '"value":0.75' in score.model_dump_json()
