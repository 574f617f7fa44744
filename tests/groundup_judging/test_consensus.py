"""Tests of groundup_judging.questions: when judges agree, and what they accept."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from groundup.domain.subjects import AttemptKey
from groundup.store.judgements import Judgement, Matter, Opinion, read_judgements
from groundup_judging.questions import CRITERIA, agreement, by_matter


@pytest.mark.parametrize(
    ("scores", "mean", "agreed", "accepted"),
    [
        ((), None, False, False),
        ((8,), 8, True, True),
        ((6,), 6, True, False),
        ((4, 7), 5.5, True, True),
        ((3, 6), 4.5, True, False),
        ((4, 8), None, False, False),
        ((9, 10, 7), 8.67, True, True),
    ],
)
def test_the_rule(scores: tuple[float, ...], mean: float | None, agreed: bool, accepted: bool) -> None:
    """Scores at most 3 apart agree; what is agreed on is accepted from a highest score of 7."""
    found = agreement({f"judge-{number}": score for number, score in enumerate(scores)})
    assert (found.mean, found.agreed, found.accepted) == (mean, agreed, accepted)


def judgement(judge: str, score: int | None, task: str = "b", of: Matter = "readme") -> Judgement:
    """Return a judgement with the same score for all criteria, or a failed one."""
    return Judgement(
        attempt=AttemptKey(task=task),
        of=of,
        judge=judge,
        question="sha256:0",
        scores={} if score is None else {name: Opinion(score=score, reason="") for name in CRITERIA},
        failed="refused" if score is None else None,
        influenced=judge == "wary",
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_matters_are_distinguished() -> None:
    """Each matter of each attempt has its own opinions, in order; the last word of a judge counts."""
    found = by_matter(
        [
            judgement("x", 1),
            judgement("wary", 8),
            judgement("x", 6),
            judgement("x", 9, of="tests"),
            judgement("x", 2, task="a"),
        ]
    )
    assert [(one.attempt.task, one.of) for one in found] == [("a", "readme"), ("b", "readme"), ("b", "tests")]
    assert found[1].overall.scores == {"x": 6, "wary": 8}
    assert found[1].overall.accepted
    assert found[1].influenced == ("wary",)


def test_a_judge_without_scores_is_reported() -> None:
    """A judge that fails is no zero: it is named, and the others decide."""
    found = by_matter([judgement("x", None), judgement("y", 7)])[0]
    assert found.failed == {"x": "refused"}
    assert found.overall.scores == {"y": 7}


def test_further_votes_of_earlier_versions_do_not_count(tmp_path: Path) -> None:
    """They asked a judge several times; its first answer is its opinion, and the file is read."""
    given = [judgement("m", 3), judgement("m", 9).but(vote=1)]
    (tmp_path / "judgements.jsonl").write_text("".join(f"{one.model_dump_json()}\n" for one in given))
    assert list(read_judgements(tmp_path)) == given[:1]
