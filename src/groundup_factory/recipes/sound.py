"""Auditing a recipe that was just made: by the grader of runs its original gets every test, and nothing none."""

from pathlib import Path

from groundup.domain.errors import InfrastructureError, TaskError
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Status
from groundup.grading.context import GradingContext
from groundup.suites.base import Graded
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.suites.nl2repobench.strict import NL2RepoStrictGrader
from groundup.suites.nl2repobench.suite import NAME

_TRIES = 2
"""Of the original: a machine with others on it may cost one of them a test."""


async def refuse_unsound(recipe: Recipe, original: Path, context: GradingContext) -> None:
    """Grade the *original* of *recipe*, and nothing, as a run would. Raises `TaskError` for a surprise.

    Raises `InfrastructureError` where there is no verdict.
    """
    grader = NL2RepoStrictGrader({recipe.task: recipe})
    task = Task(id=recipe.task, suite=NAME, instruction=None, data_version="being made")
    for number in range(_TRIES):
        whole = await grader.grade(task, original, context)
        lost = _lost(whole, recipe)
        if not lost and whole.verdict.status is Status.GRADED:
            break
        if number + 1 == _TRIES:
            said = f"loses {', '.join(lost[:3])}" if lost else f"is {whole.verdict.status.value}"
            raise TaskError(f"graded as a submission, the original {said}; its tests are no measure")
    empty = context.scratch / "nothing"
    empty.mkdir(exist_ok=True)
    nothing = await grader.grade(task, empty, context)
    _refuse_unjudged(nothing)
    if nothing.verdict.score is None or nothing.verdict.score.numerator:
        raise TaskError("graded as a submission, an empty folder passes tests; they are no measure")


def _refuse_unjudged(graded: Graded) -> None:
    if graded.verdict.status is Status.INFRASTRUCTURE:
        raise InfrastructureError("; ".join(reason.message for reason in graded.verdict.reasons))


def _lost(graded: Graded, recipe: Recipe) -> list[str]:
    _refuse_unjudged(graded)
    passed = {one.id for one in graded.tests if one.outcome == "passed" or one.flaky}
    return sorted(str(test) for test in recipe.expected if str(test) not in passed)
