"""Small shipped recipes with the real registry, real layers and real sandboxes."""

from pathlib import Path
from typing import Literal

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.environments.local import LocalBuilder
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.base import Graded
from groundup.suites.nl2repobench.suite import create
from tests.needs import lack
from tests.suites.nl2repobench.trials import Trial, passed

pytestmark = [pytest.mark.end_to_end, pytest.mark.registry]

SMALL = ("ftfy", "justext")
"""For the interpreter that groundup itself needs at least, so that it is there."""


@pytest.fixture
def builder(trial: Trial, tmp_path: Path) -> LocalBuilder:
    """Return a builder with an empty cache."""
    return LocalBuilder(Settings(cache_dir=tmp_path / "cache"), trial.provider)


async def _grade(name: str, kind: Literal["oracle", "nop"], trial: Trial, builder: LocalBuilder) -> Graded:
    suite = create(Settings(cache_dir=trial.folder / "no-data"))
    task = next(task for task in suite.tasks() if task.id == name)
    scratch, submission = trial.folder / "scratch", trial.folder / kind
    scratch.mkdir(exist_ok=True)
    submission.mkdir()
    context = GradingContext(provider=trial.provider, builder=builder, scratch=scratch)
    try:
        await suite.reference(task, kind, submission, context)
        return await suite.graders()["strict"].grade(task, submission, context)
    except InfrastructureError as error:
        lack("environments of recipes", f"none for {name}: {error}")


@pytest.mark.parametrize("name", SMALL)
async def test_the_oracle_of_a_real_recipe_passes_every_expected_test(
    name: str, trial: Trial, builder: LocalBuilder
) -> None:
    """From an empty cache, the original gets a full score and an empty submission gets nothing."""
    oracle = await _grade(name, "oracle", trial, builder)
    nothing = await _grade(name, "nop", trial, builder)

    assert oracle.verdict.score is not None
    assert oracle.verdict.score.value == 1
    assert oracle.verdict.scores["of_declared"].value == 1
    assert passed(nothing) == 0
    assert nothing.verdict.facts["extra_passed"] == 0
