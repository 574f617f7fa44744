"""Which jobs of a repository are executed one after another, and when one cause is enough."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.grading.context import GradingContext
from groundup.suites.base import Validation
from groundup.suites.dibench.execution_validity import Standing, TryRecord, Validity, keep_validity
from groundup.suites.dibench.suite import DiBench
from groundup_factory.instances.trials import FailedJob, InstanceTrial, JobsFailedError, first_that_stands
from tests.agents.fakes import a_task

TESTS = "invalid: the original fails (try 1): failing tests: FAILED t::a - took 3 s (step 'Test on {}' failed)"
HIDDEN = "not executed: the original wants what the cut-off hides"


def _ended(number: int, why: str, *, shared: bool = False) -> FailedJob:
    return FailedJob(title=f"leg {number}", cause="original: x", why=why, shared=shared)


async def _tried(ends: list[FailedJob | None]) -> tuple[int | None, list[str]]:
    """Return which job stood, if one did, and what was said."""
    said: list[str] = []

    async def execute(number: int) -> FailedJob | None:
        return ends[number]

    async def runner_up(failed: tuple[FailedJob, ...]) -> int:
        return len(failed)

    try:
        return await first_that_stands(0, (), execute, runner_up, said.append), said
    except JobsFailedError:
        return None, said


@pytest.mark.parametrize(
    ("ends", "stands", "tried"),
    [
        ([_ended(0, "a"), None], 1, 1),
        ([_ended(0, "a"), _ended(1, "b"), _ended(2, "c"), None], None, 3),
        ([_ended(0, HIDDEN, shared=True), None], None, 1),
        ([_ended(0, TESTS.format("8")), _ended(1, TESTS.format("9").replace("3 s", "4 s")), None], None, 2),
    ],
)
async def test_one_cause_is_not_tried_again(ends: list[FailedJob | None], stands: int | None, tried: int) -> None:
    """What all jobs share ends after the first, what ends alike after the second, and any after the third."""
    found, said = await _tried(ends)
    assert found == stands
    assert len(said) == tried


def _trial(tmp_path: Path, standing: Standing, *tries: TryRecord) -> InstanceTrial:
    """Return a trial whose executions end so."""
    task = a_task()
    found = Validity(
        task=task.id, instance="i", language="python", standing=standing, why="for a reason", tries=tries
    )

    async def validate(*_: object, **__: object) -> Validation:
        keep_validity(tmp_path / "validity", found)
        return found.as_validation()

    suite = SimpleNamespace(tasks=lambda: (task,), validator=lambda _: SimpleNamespace(validate=validate))
    return InstanceTrial(cast(DiBench, suite), tmp_path / "validity", lambda: cast(GradingContext, None))


PASSED = TryRecord(subject="oracle", passed=True)


@pytest.mark.parametrize(
    ("tries", "cause"),
    [
        ((PASSED, TryRecord(subject="nop", passed=True)), "passes without its dependencies"),
        ((PASSED, TryRecord(subject="nop", passed=None)), "the test job cannot be run here"),
        ((TryRecord(subject="oracle", passed=None),), "the test job cannot be run here"),
        ((TryRecord(subject="oracle", passed=False),), "original: fails"),
        ((PASSED, TryRecord(subject="oracle", passed=False, failure="no tests")), "original: no tests"),
        ((), "invalid"),
    ],
)
async def test_jobs_that_show_nothing_are_counted_by_their_cause(
    tmp_path: Path, tries: tuple[TryRecord, ...], cause: str
) -> None:
    """As the last of its executions ended, which is what a set's report adds up."""
    found = await _trial(tmp_path, "invalid", *tries).execute("leg 1", 3)
    assert found == FailedJob(title="leg 1", cause=cause, why="invalid: for a reason")


async def test_a_fault_of_the_machine_is_no_job_s_end(tmp_path: Path) -> None:
    """Nor is an instance that stands."""
    with pytest.raises(InfrastructureError, match="for a reason"):
        await _trial(tmp_path, "infrastructure").execute("leg 1", 3)
    assert await _trial(tmp_path, "valid", PASSED).execute("leg 1", 3) is None
