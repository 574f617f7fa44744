"""An agent plays an attempt without any run around it; records that pin other data are refused."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from groundup.domain.errors import (
    DiskFullError,
    MachineError,
    NetworkError,
    SubmissionError,
    TaskError,
    UsageError,
)
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Score, Stage, Status
from groundup.episodes.attempt import Grading, Phase, attempted
from groundup.episodes.episode import Playing
from groundup.episodes.loading import load_grading, suite_pins, task_pins
from groundup.episodes.records import EpisodeResult, MemorySink
from groundup.grading.context import GradingContext
from groundup.models.protocol import BudgetSpentError, RequestRejectedError, UnusableModelError
from groundup.settings import Settings
from groundup.suites.base import Grader
from groundup.suites.opening import open_suite
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


async def played(
    theatre: Theatre, sink: MemorySink, grading: Grading | None = None, **options: JsonValue
) -> EpisodeResult:
    """Return what an attempt of the toy agent came to."""
    spec = an_episode()
    grading = grading or theatre.grading(spec)
    playing = Playing(spec, grading, sink, ToyAgent(options))
    return await attempted(grading, playing.make, sink, theatre.scratch, phase=Phase.MAKING)


async def test_an_agent_plays_an_episode(tmp_path: Path) -> None:
    """The result holds submission and verdict; the sink has the steps and the agent's own logs."""
    sink = MemorySink(tmp_path / "tree")
    result = await played(Theatre(tmp_path), sink, first="pass", behaviour="half")
    assert result.graded is not None
    assert result.graded.verdict.score == Score(numerator=1, denominator=2)
    assert result.submission == sink.made()
    assert [step["kind"] for step in sink.steps] == ["began", "note", "told", "workspace", "ended"]
    assert sink.logs == {"agent.log": b"words"}


async def test_an_agent_begins_only_where_its_work_can_be_graded(tmp_path: Path) -> None:
    """A machine that lacks the task's interpreter says so before the agent asks or costs anything."""
    theatre, sink = Theatre(tmp_path), MemorySink(tmp_path / "tree")
    grading = theatre.grading(an_episode())
    lacking = cast(Grader, _Lacking(grading.grader))
    result = await played(theatre, sink, replace(grading, grader=lacking))
    assert result.graded is not None
    assert "Python 3.10 is not on this machine" in result.graded.verdict.reasons[0].message
    assert (result.outcome, result.repeatable, list(sink.steps)) == (Outcome.INFRASTRUCTURE, False, [])


async def test_a_failed_try_is_repeated_from_its_steps(tmp_path: Path) -> None:
    """The second try finds what the first recorded, and its verdict counts; the first is no zero."""
    theatre, sink = Theatre(tmp_path), MemorySink(tmp_path / "tree")
    first = await played(theatre, sink, fault="infrastructure")
    assert (first.outcome, first.submission, first.repeatable) == (Outcome.INFRASTRUCTURE, None, True)
    theatre.scratch = tmp_path / "another"
    theatre.scratch.mkdir()
    second = await played(theatre, sink, fault="infrastructure")
    assert second.outcome is Outcome.SUBMITTED
    assert [step["tries"] for step in sink.steps if step["kind"] == "note"] == [0, 1]


async def test_a_cancelled_agent_hands_nothing_in(tmp_path: Path) -> None:
    """Nothing counts as made, so the next try makes it."""
    sink = MemorySink(tmp_path / "tree")
    task = asyncio.create_task(played(Theatre(tmp_path), sink, fault="sleep"))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sink.made() is None
    assert not sink.submission.exists()


GIVEN_UP = (DiskFullError("full"), BudgetSpentError("spent"), UnusableModelError("no such model"))
FAILED: list[tuple[Exception, Phase, tuple[Status, Stage | None, str, bool]]] = [
    (SubmissionError("a bomb"), Phase.MAKING, (Status.GRADED, Stage.INTAKE, "a bomb", True)),
    (SubmissionError("a\n  b"), Phase.GRADING, (Status.GRADED, Stage.INSTALL, "a b", True)),
    (SubmissionError("x" * 400), Phase.GRADING, (Status.GRADED, Stage.INSTALL, "x" * 400, True)),
    (SubmissionError("x" * 401), Phase.GRADING, (Status.GRADED, Stage.INSTALL, "x" * 397 + "...", True)),
    (TaskError("no recipe"), Phase.GRADING,
     (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "the task is at fault: no recipe", False)),
    (NetworkError("no route"), Phase.GRADING, (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "no route", True)),
    (MachineError("no Python"), Phase.MAKING, (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "no Python", False)),
    (RequestRejectedError("400"), Phase.MAKING, (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "400", False)),
    (UsageError("wrong"), Phase.GRADING,
     (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "the grader crashed: UsageError: wrong", False)),
    (KeyError("k\udcff"), Phase.MAKING,
     (Status.INFRASTRUCTURE, Stage.ENVIRONMENT, "the agent crashed: KeyError: 'k\\udcff'", False)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "phase", "ended"), FAILED)
def test_how_an_attempt_ends_by_an_error(
    tmp_path: Path, error: Exception, phase: Phase, ended: tuple[Status, Stage | None, str, bool]
) -> None:
    """A zero for what a submission did, no score for all else, and whether another try may help."""
    graded, again = Theatre(tmp_path).grading(an_episode()).failed(error, phase)
    verdict = graded.verdict
    (reason,) = verdict.reasons
    assert (verdict.status, reason.stage, reason.message, again) == ended
    if verdict.status is Status.INFRASTRUCTURE:
        assert (verdict.score, verdict.cacheable, verdict.grader.environment) == (None, False, "none")
        assert type(error).__name__.encode() in graded.logs["infrastructure.log"]
    else:
        assert verdict.score == Score(numerator=0, denominator=2)


@pytest.mark.parametrize(
    ("error", "phase"),
    [*((one, phase) for one in GIVEN_UP for phase in Phase), (UsageError("unknown agent"), Phase.MAKING)],
)
def test_what_stops_more_than_one_attempt_is_raised(tmp_path: Path, error: Exception, phase: Phase) -> None:
    """It is no verdict."""
    with pytest.raises(type(error)):
        Theatre(tmp_path).grading(an_episode()).failed(error, phase)


def test_other_data_than_pinned_is_refused(tmp_path: Path) -> None:
    """A worker whose data differ says which, instead of giving a verdict on another task."""
    theatre = Theatre(tmp_path)
    grading = theatre.grading(an_episode())
    suite, grader, task = grading.suite, grading.grader, grading.task
    pins = {**suite_pins(suite, grader), **task_pins(suite, grader, task, is_read=True)}
    assert load_grading(an_episode(pinned=pins), grading.backends, theatre.settings).task == task
    with pytest.raises(UsageError, match="other data: task task-0000"):
        theatre.grading(an_episode(pinned={**pins, "task task-0000": "sha256:other"}))


def test_what_agents_are_told_and_lack_is_pinned_for_them_alone() -> None:
    """A submission that somebody brings is graded alike, whatever agents are told today."""
    suite = open_suite("nl2repobench", Settings())
    grader, task = suite.graders()["strict"], next(one for one in suite.tasks() if one.id == "jsonlines")
    read, brought = (task_pins(suite, grader, task, is_read=is_read) for is_read in (True, False))
    assert brought == {"task jsonlines": task.graded_digest, "grader of jsonlines": read["grader of jsonlines"]}
    assert "jsonlines" in read["withheld from jsonlines"]
    assert read["task jsonlines"] == task.digest


@pytest.mark.parametrize(("field", "name"), [("task", "task-1000"), ("grader", "stern"), ("suite", "tays")])
def test_unknown_names_are_refused(tmp_path: Path, field: str, name: str) -> None:
    """With one sentence, before anything is opened."""
    with pytest.raises(UsageError, match=name):
        Theatre(tmp_path).grading(an_episode(**{field: name}))
