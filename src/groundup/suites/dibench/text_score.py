"""What stands beside the outcome of a CI job: how what is declared compares with the original."""

import asyncio
from collections import Counter
from typing import NamedTuple

from groundup.domain.errors import reading_submission
from groundup.domain.verdicts import TestResult
from groundup.registries.names import Names
from groundup.suites.dibench.answers import Edited, answer, new_dependencies
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.metrics import InstanceScore, score_instance
from groundup.suites.dibench.missed import compared
from groundup.suites.dibench.registry_check import EditedRepository, Existence, check, tally
from groundup.suites.dibench.sizes import sized


class TextScore(NamedTuple):
    """Counts of declarations; what looking up added ones found, None where nobody looked; each name's result."""

    counts: InstanceScore
    existence: Counter[Existence] | None
    results: tuple[TestResult, ...]


async def text_score(problem: InstanceProblem, edited: Edited, names: Names | None) -> TextScore:
    """Compare what *edited* declares with the original. Raises `SubmissionError`."""
    with reading_submission("the submission"):
        found = await asyncio.to_thread(lambda: answer(problem, edited)[0])
        counts = await asyncio.to_thread(lambda: score_instance(sized(found, problem)))
    if names is None:
        return TextScore(counts, None, compared(found))
    async with names.asking() as asking:
        checked = await check(new_dependencies(found), EditedRepository(problem, edited.read), asking)
    return TextScore(counts, tally(checked), compared(found, checked))


def nothing_declared(problem: InstanceProblem) -> TextScore:
    """Return the score of what could not be taken in."""
    found = answer(problem, None)[0]
    return TextScore(score_instance(found), None, compared(found))
