"""An attempt's time over all its tries."""

import asyncio

import pytest

from groundup.agents.resuming import Clock
from groundup.agents.trajectories import Step, spent_s

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
