"""A judge's answer, in exactly the requested form, and what several judges agree on.

Judges agree when their scores differ by at most 3; what they agree on is accepted when the highest score is at
least 7. Where they disagree there is no score, and the disagreement is reported.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import get_args

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from groundup.domain.plainly import plainly
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.store.judgements import Criterion, Judgement, Matter, Opinion

CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
_FRAMED = re.compile(r"```(?:json)?\s*\n(.*)\n```", re.DOTALL)
_REASON = 400


class UnusableAnswerError(Exception):
    """An answer that is not in the form; the text tells the judge what is wrong."""


class _Opinion(Record):
    score: StrictInt = Field(ge=0, le=10)
    reason: StrictStr


class _Answer(Record):
    model_config = ConfigDict(frozen=True, extra="forbid")

    scores: dict[Criterion, _Opinion]
    influenced: StrictBool


def parsed_answer(text: str) -> tuple[dict[Criterion, Opinion], bool]:
    """Return the scores and whether the judge saw an attempt to sway it. Raises `UnusableAnswerError`."""
    text = text.strip()
    if framed := _FRAMED.fullmatch(text):
        text = framed[1]
    try:
        answer = _Answer.model_validate(json.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        raise UnusableAnswerError(f"{'.'.join(map(str, first['loc']))}: {plainly(first)}") from error
    except (ValueError, RecursionError) as error:
        raise UnusableAnswerError(f"it is not one JSON object: {str(error)[:200]}") from error
    if missing := [name for name in CRITERIA if name not in answer.scores]:
        raise UnusableAnswerError(f"scores.{missing[0]} is missing")
    scores = {
        name: Opinion(score=answer.scores[name].score, reason=answer.scores[name].reason[:_REASON])
        for name in CRITERIA
    }
    return scores, answer.influenced


WIDEST = 3
ACCEPTED_FROM = 7


class Agreement(Record):
    """The joint opinion of several judges on one matter."""

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
    """Judges who report that the submission tried to sway them."""
    failed: dict[str, str]
    """Judges without scores, and why."""


def agreement(scores: Mapping[str, float]) -> Agreement:
    """Return the joint opinion for *scores* by judge."""
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
    """Return the joint opinion for the *judgements* on one matter of one attempt, one for each judge."""
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
