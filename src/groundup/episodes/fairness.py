"""Whether a busy machine, and not the submission, may have decided a verdict; then it is graded once more.

Limits leave out what the machine kept from a guest, but tests have limits of their own, by the clock on the wall.
"""

import re
from collections.abc import Awaitable, Callable, Mapping

from groundup.domain.errors import InfrastructureError
from groundup.domain.verdicts import Status, Verdict
from groundup.sandbox.deadlines import starvation_noted
from groundup.suites.base import Graded

_NOTICED = 0.1
"""Of what ran in sandboxes, the share that was waiting for processors; less is no reason to doubt a limit."""
_HEAVY = 2 / 3
"""Everything took three times as long as it would alone: tests' own limits may have been passed."""
_OF_TIME = re.compile(r"time[sd]?[ _-]?out|deadline|too (?:slow|long)|longer than|within \d", re.IGNORECASE)


async def fairly_graded(grade: Callable[[str], Awaitable[Graded]]) -> Graded:
    """Return what *grade* makes of a submission, in a place of the given name; asked twice where load may decide.

    Raises `InfrastructureError` when the second time was no quieter and had another result, or one of time.
    """
    first, starved = await _noted(grade, "grading")
    if not _is_doubtful(first.verdict, starved):
        return first
    again, starved = await _noted(grade, "grading-again")
    if not _is_doubtful(again.verdict, starved):
        return again
    is_fair = (first.verdict.by_time and again.verdict.by_time) or not _mentions_time(again)
    if is_fair and _lost(first) == _lost(again):
        return again.model_copy(update={"verdict": again.verdict.model_copy(update={"cacheable": False})})
    raise InfrastructureError(
        f"the machine was too busy to tell: {_in_figures(first.verdict)}, then {_in_figures(again.verdict)}; "
        "resume the run when it is quieter, or with fewer `--jobs`"
    )


async def _noted(grade: Callable[[str], Awaitable[Graded]], place: str) -> tuple[Graded, float]:
    with starvation_noted() as noted:
        graded = await grade(place)
    share = round(noted.share, 3)
    if share < _NOTICED:
        return graded, share
    verdict = graded.verdict.model_copy(update={"facts": {**graded.verdict.facts, "starved": share}})
    return graded.model_copy(update={"verdict": verdict}), share


def _is_doubtful(verdict: Verdict, starved: float) -> bool:
    if verdict.status is not Status.GRADED or verdict.score is None or verdict.score.value is None:
        return False
    if verdict.by_time:
        return starved >= _NOTICED
    return verdict.score.value < 1 and starved >= _HEAVY


def _lost(graded: Graded) -> Mapping[str, object]:
    """Return what was lost, in a form that can be compared."""
    missed = sorted(test.id for test in graded.tests if test.expected and test.outcome != "passed")
    return {"score": graded.verdict.score, "tests": missed}


def _mentions_time(graded: Graded) -> bool:
    messages = [test.message for test in graded.tests if test.expected and test.outcome != "passed"]
    messages += [reason.message for reason in graded.verdict.reasons]
    return any(_OF_TIME.search(message) for message in messages)


def _in_figures(verdict: Verdict) -> str:
    score = verdict.score
    return f"{score.numerator:g} of {score.denominator:g}" if score else verdict.status.value
