"""An agent plays an attempt without any run around it; records that pin other data are refused."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from groundup.domain.errors import MachineError, UsageError
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Score
from groundup.episodes.attempt import AttemptTry
from groundup.episodes.episode import Playing
from groundup.episodes.loading import load_grading, suite_pins, task_pins
from groundup.episodes.records import MemorySink
from groundup.grading.context import GradingContext
from groundup.suites.base import Grader
from tests.episodes.theatre import Theatre, an_episode
from tests.runs.toy_agent import ToyAgent


class _Lacking:
    """A grader on a machine without what it needs."""

    def __init__(self, grader: Grader) -> None:
        self._grader = grader

    def __getattr__(self, name: str) -> object:
        return getattr(self._grader, name)

    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Say what is missing."""
        raise MachineError("Python 3.10 is not on this machine; install it")


def played(theatre: Theatre, sink: MemorySink, **options: JsonValue) -> AttemptTry:
    """Return an attempt of the toy agent."""
    spec = an_episode()
    grading = theatre.grading(spec)
    return AttemptTry(grading, Playing(spec, grading, sink, ToyAgent(options)), sink, theatre.scratch)


async def test_an_agent_plays_an_episode(tmp_path: Path) -> None:
    """The result holds submission and verdict; the sink has the steps and the agent's own logs."""
    sink = MemorySink(tmp_path / "tree")
    result = await played(Theatre(tmp_path), sink, first="pass", behaviour="half").settle()
    assert result.graded is not None
    assert result.graded.verdict.score == Score(numerator=1, denominator=2)
    assert result.submission == sink.made()
    assert [step["kind"] for step in sink.steps] == ["began", "note", "told", "workspace", "ended"]
    assert sink.logs == {"agent.log": b"words"}


async def test_an_agent_begins_only_where_its_work_can_be_graded(tmp_path: Path) -> None:
    """A machine that lacks the task's interpreter says so before the agent asks or costs anything."""
    theatre, sink = Theatre(tmp_path), MemorySink(tmp_path / "tree")
    attempt = played(theatre, sink)
    lacking = _Lacking(attempt.grading.grader)
    result = await replace(attempt, grading=replace(attempt.grading, grader=cast(Grader, lacking))).settle()
    assert result.graded is not None
    assert "Python 3.10 is not on this machine" in result.graded.verdict.reasons[0].message
    assert (result.outcome, result.repeatable, list(sink.steps)) == (Outcome.INFRASTRUCTURE, False, [])


async def test_a_failed_try_is_repeated_from_its_steps(tmp_path: Path) -> None:
    """The second try finds what the first recorded, and its verdict counts; the first is no zero."""
    theatre, sink = Theatre(tmp_path), MemorySink(tmp_path / "tree")
    first = await played(theatre, sink, fault="infrastructure").settle()
    assert (first.outcome, first.submission, first.repeatable) == (Outcome.INFRASTRUCTURE, None, True)
    theatre.scratch = tmp_path / "another"
    theatre.scratch.mkdir()
    second = await played(theatre, sink, fault="infrastructure").settle()
    assert second.outcome is Outcome.SUBMITTED
    assert [step["tries"] for step in sink.steps if step["kind"] == "note"] == [0, 1]


async def test_a_cancelled_agent_hands_nothing_in(tmp_path: Path) -> None:
    """Nothing counts as made, so the next try makes it."""
    sink = MemorySink(tmp_path / "tree")
    task = asyncio.create_task(played(Theatre(tmp_path), sink, fault="sleep").settle())
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sink.made() is None
    assert not sink.submission.exists()


def test_other_data_than_pinned_is_refused(tmp_path: Path) -> None:
    """A worker whose data differ says which, instead of giving a verdict on another task."""
    theatre = Theatre(tmp_path)
    grading = theatre.grading(an_episode())
    suite, grader, task = grading.suite, grading.grader, grading.task
    pins = {**suite_pins(suite, grader), **task_pins(suite, grader, task, is_read=True)}
    assert load_grading(an_episode(pinned=pins), grading.backends, theatre.settings).task == task
    with pytest.raises(UsageError, match="other data: task task-0000"):
        theatre.grading(an_episode(pinned={**pins, "task task-0000": "sha256:other"}))


@pytest.mark.parametrize(("field", "name"), [("task", "task-1000"), ("grader", "stern"), ("suite", "tays")])
def test_unknown_names_are_refused(tmp_path: Path, field: str, name: str) -> None:
    """With one sentence, before anything is opened."""
    with pytest.raises(UsageError, match=name):
        Theatre(tmp_path).grading(an_episode(**{field: name}))
