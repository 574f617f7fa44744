"""What several judges agree on. Pure.

Judges agree when their scores differ by at most 3; what they agree on is accepted when the highest score is at
least 7. Where they disagree there is no score, and the disagreement is told.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.judging.answers import CRITERIA
from groundup.store.judgements import Criterion, Judgement, Matter

WIDEST = 3
ACCEPTED_FROM = 7


class Agreement(Record):
    """What judges say together of one thing."""

    scores: dict[str, float]
    """By judge."""
    mean: float | None
    """None: they disagree, or there is no judge."""
    agreed: bool
    accepted: bool


class Opinions(Record):
    """What is known of one matter of one attempt."""

    attempt: AttemptKey
    of: Matter
    criteria: dict[Criterion, Agreement]
    overall: Agreement
    """Of each judge's mean over the criteria."""
    influenced: tuple[str, ...]
    """Judges who say that the submission tried to sway them."""
    failed: dict[str, str]
    """Judges without scores, and why."""


def agreement(scores: Mapping[str, float]) -> Agreement:
    """Return what *scores* by judge come to."""
    if not scores:
        return Agreement(scores={}, mean=None, agreed=False, accepted=False)
    agreed = max(scores.values()) - min(scores.values()) <= WIDEST
    return Agreement(
        scores=dict(scores),
        mean=round(mean(scores.values()), 2) if agreed else None,
        agreed=agreed,
        accepted=agreed and max(scores.values()) >= ACCEPTED_FROM,
    )


def opinions(judgements: Sequence[Judgement]) -> Opinions:
    """Return what the *judgements* of one matter of one attempt, one for each judge, come to."""
    good = [judgement for judgement in judgements if judgement.scores]
    overall = {
        judgement.judge: round(mean(opinion.score for opinion in judgement.scores.values()), 2)
        for judgement in good
    }
    return Opinions(
        attempt=judgements[0].attempt,
        of=judgements[0].of,
        criteria={
            name: agreement({judgement.judge: judgement.scores[name].score for judgement in good})
            for name in CRITERIA
        },
        overall=agreement(overall),
        influenced=tuple(judgement.judge for judgement in good if judgement.influenced),
        failed={judgement.judge: judgement.failed for judgement in judgements if judgement.failed is not None},
    )


def by_matter(judgements: Iterable[Judgement]) -> list[Opinions]:
    """Return the opinions on each matter of each attempt, in order; the last judgement of a judge counts."""
    latest: dict[tuple[AttemptKey, Matter], dict[str, Judgement]] = {}
    for judgement in judgements:
        latest.setdefault((judgement.attempt, judgement.of), {})[judgement.judge] = judgement
    places = sorted(latest, key=lambda place: (place[0].task, place[0].index, place[1]))
    return [opinions(list(latest[place].values())) for place in places]
