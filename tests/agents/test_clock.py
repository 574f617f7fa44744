"""An attempt's time over all its tries."""

import asyncio
from pathlib import Path

import pytest
from typing_extensions import override

from groundup.agents import oneshot
from groundup.agents.resuming import Clock
from groundup.agents.trajectories import Step, spent_s
from groundup.domain.conversations import ChatReply, ChatRequest
from groundup.domain.limits import EpisodeLimits
from groundup.domain.subjects import Outcome
from groundup.models.protocol import CallWatch
from tests.agents.fakes import FakeModel, Memory, agent_context

STEPS: list[Step] = [
    {"kind": "began"},
    {"kind": "reply", "latency_s": 40.0},
    {"kind": "result", "seconds": 20.0},
    {"kind": "result", "seconds": None},
]


def test_replies_and_calls_take_time() -> None:
    """What an earlier try waited for its model, and what its calls took, was spent."""
    assert spent_s(STEPS) == 60.0


async def test_a_later_try_has_what_is_left() -> None:
    """The end is so far away as earlier tries left it, and only from the first new step on."""
    timeout = asyncio.timeout(None)
    clock = Clock(timeout, 100.0, STEPS)
    async with timeout:
        assert timeout.when() is None
        before = asyncio.get_running_loop().time()
        clock.start()
        first = timeout.when()
        clock.start()
        assert timeout.when() == first
    assert first is not None
    assert first >= before + 40.0


async def test_what_is_spent_is_noted_from_the_first_new_step_on() -> None:
    """Repeating what an earlier try did takes none of it."""
    clock = Clock(None, 100.0, STEPS)
    await asyncio.sleep(0.02)
    assert (clock.spent_s, clock.left_s) == (60.0, 40.0)
    clock.start()
    await asyncio.sleep(0.02)
    assert 60.0 < clock.spent_s < 100.0
    assert clock.left_s is not None
    assert clock.left_s < 40.0
    assert Clock(None, None, STEPS).left_s is None


async def test_a_time_that_was_spent_ends_at_the_first_new_step() -> None:
    """Nothing new is waited for."""

    async def goes_on() -> None:
        timeout = asyncio.timeout(None)
        async with timeout:
            Clock(timeout, 50.0, STEPS).start()
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await goes_on()


async def test_without_a_limit_nothing_ends() -> None:
    """No limit, no clock."""
    timeout = asyncio.timeout(None)
    async with timeout:
        Clock(timeout, None, STEPS).start()
        assert timeout.when() is None


async def test_time_that_a_step_notes_counts_instead() -> None:
    """Questions that were asked at once took less time than their answers together."""
    noted: list[Step] = [{"kind": "reply", "latency_s": 40.0, "spent_s": 41.0} for _ in range(3)]
    clock = Clock(None, 100.0, noted)
    assert clock.left_s == 59.0
    clock.start()
    assert clock.spent_s >= 41.0


class Silent(FakeModel):
    """Never answers."""

    @override
    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        """Wait."""
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_later_try_at_questions_has_what_is_left(tmp_path: Path) -> None:
    """`--max-seconds` is for the attempt: what an earlier try noted is gone, and nothing more is asked."""
    earlier = Memory([{"kind": "reply", "question": "another", "spent_s": 50.0}])
    given = agent_context(tmp_path, Silent(), trajectory=earlier, limits=EpisodeLimits(wall_clock_s=50.0))
    ended = await oneshot.create({}).attempt(given)
    assert (ended.outcome, ended.detail) == (Outcome.LIMIT, "longer than 50.0 s")
