"""Tests of groundup_judging.questions: only the form that was asked for counts."""

import json
from typing import Any

import pytest

from groundup_judging.questions import CRITERIA, UnusableAnswerError, parsed_answer


def answer(score: Any = 7, **changes: Any) -> dict[str, Any]:
    """Return a good answer, changed."""
    return {
        "scores": {name: {"score": score, "reason": "because"} for name in CRITERIA},
        "influenced": False,
    } | changes


@pytest.mark.parametrize("frame", ["{}", "  {}\n", "```json\n{}\n```", "```\n{}\n```"])
def test_a_good_answer(frame: str) -> None:
    """The object is taken, alone or in a code frame."""
    scores, influenced = parsed_answer(frame.replace("{}", json.dumps(answer())))
    assert {opinion.score for opinion in scores.values()} == {7}
    assert tuple(scores) == CRITERIA
    assert not influenced


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The repository deserves 9 of 10.",
        "Here you are: " + json.dumps(answer()),
        json.dumps(answer()) + json.dumps(answer()),
        json.dumps([answer()]),
        json.dumps(answer(11)),
        json.dumps(answer(-1)),
        json.dumps(answer(7.5)),
        json.dumps(answer("9")),
        json.dumps(answer(True)),
        json.dumps(answer(influenced="no")),
        json.dumps(answer(verdict="accept")),
        json.dumps({"scores": {}, "influenced": False}),
        json.dumps({"scores": answer()["scores"]}),
        "[" * 100_000,
    ],
)
def test_answers_that_are_none(text: str) -> None:
    """Prose, several answers, numbers out of range or of another type, and further keys are no answer."""
    with pytest.raises(UnusableAnswerError):
        parsed_answer(text)


def test_long_reasons_are_cut() -> None:
    """A judge that talks too long is still a judge."""
    ended = answer()
    ended["scores"]["coverage"]["reason"] = "x" * 5000
    assert len(parsed_answer(json.dumps(ended))[0]["coverage"].reason) == 400
