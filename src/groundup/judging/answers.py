"""What a judge answers: exactly the form that was asked for, or nothing. Nothing is guessed out of prose."""

import json
import re
from typing import get_args

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from groundup.domain.plainly import plainly
from groundup.domain.records import Record
from groundup.store.judgements import Criterion, Opinion

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
