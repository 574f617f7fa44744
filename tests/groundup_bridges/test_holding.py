"""Episodes that harnesses hold open: opened and closed in one task, graded once, nothing left."""

from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.subjects import Subject
from groundup.domain.verdicts import GraderIdentity, Score, Status, Verdict
from groundup.episodes.records import EpisodeSpec
from groundup.settings import Settings
from groundup_bridges.runtime import numbers_of, opened_episode, written_tasks
from tests.runs.toy import create, create_written

SUITE = "tests.runs.toy:create_written"


def settings_in(root: Path) -> Settings:
    """Return fake sandboxes and environments in which nothing is."""
    return Settings(
        cache_dir=root / "cache",
        sandbox="tests.serving.house:create_provider",
        builder="tests.serving.house:create_builder",
    )


def a_spec(task: str = "task-0000") -> EpisodeSpec:
    """Return an attempt at a toy task."""
    return EpisodeSpec(suite=SUITE, task=task, subject=Subject(agent="harness"))


async def test_an_episode_is_played_from_other_tasks(tmp_path: Path) -> None:
    """What runs in its sandbox counts, and closing it twice is harmless."""
    held = await opened_episode(a_spec(), settings_in(tmp_path))
    await held.episode.run("behave pass")
    assert numbers_of(await held.graded()) == {"reward": 1.0, "passed": 2, "total": 2}
    await held.close()
    await held.close()


async def test_what_the_infrastructure_fails_to_grade_raises(tmp_path: Path) -> None:
    """So a harness has an error, and no zero."""
    held = await opened_episode(a_spec(), settings_in(tmp_path))
    await held.episode.run("behave infrastructure")
    with pytest.raises(InfrastructureError, match="could not be graded"):
        await held.graded()
    await held.close()


async def test_what_cannot_be_opened_raises(tmp_path: Path) -> None:
    """At once, where it is asked for."""
    with pytest.raises(UsageError, match="task-9"):
        await opened_episode(a_spec("task-9"), settings_in(tmp_path))


def test_tasks_without_a_specification_are_not_offered(tmp_path: Path) -> None:
    """Nor unknown ones."""
    settings = settings_in(tmp_path)
    assert [task.id for task in written_tasks(create_written(settings), None)] == ["task-0000", "task-0001"]
    assert written_tasks(create(settings), None) == []
    with pytest.raises(UsageError, match="task-9"):
        written_tasks(create_written(settings), "task-0000,task-9")


def test_numbers_are_those_of_trainers() -> None:
    """What was tampered with is worth 0; a verdict without a score is none."""
    grader = GraderIdentity(name="strict", version="1")
    half = Verdict(status=Status.GRADED, score=Score(numerator=1, denominator=2), grader=grader)
    assert numbers_of(half) == {"reward": 0.5, "passed": 1, "total": 2}
    assert numbers_of(Verdict(status=Status.TAMPERED, score=None, grader=grader)) == {"reward": 0.0}
    with pytest.raises(InfrastructureError):
        numbers_of(Verdict(status=Status.INFRASTRUCTURE, score=None, grader=grader))
