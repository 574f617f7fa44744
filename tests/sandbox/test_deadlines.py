"""Tests of groundup.sandbox.deadlines: waits by a stopwatch, with readings made by hand."""

import asyncio
import itertools
from collections.abc import Iterator

import pytest

from groundup.inside.stopwatch import Reading, Stopwatch
from groundup.sandbox.deadlines import (
    Debt,
    Meter,
    Silence,
    Starvation,
    is_done_within,
    limited,
    note,
    starvation_noted,
)


def stepping(step_s: float) -> Stopwatch:
    """Return a stopwatch on which so much passes from look to look."""
    moments: Iterator[float] = itertools.count(0.0, step_s)
    return Stopwatch(lambda: Reading(next(moments)))


async def test_a_wait_ends_with_its_limit() -> None:
    """By the stopwatch, however little passes on the wall; what is done by then is done."""
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    assert not await is_done_within(never, stepping(100.0), 150.0)
    never.set_result(None)
    assert await is_done_within(never, stepping(100.0), 150.0)


async def test_a_context_ends_with_its_limit() -> None:
    """With a `TimeoutError`; without a limit never, and what raises by itself goes through."""
    with pytest.raises(TimeoutError):
        async with limited(stepping(100.0), 50.0):
            await asyncio.Event().wait()
    async with limited(stepping(100.0), None) as scope:
        await asyncio.sleep(0)
    assert not scope.expired()
    with pytest.raises(ValueError, match="own"):
        async with limited(stepping(0.0), 50.0):
            raise ValueError("own")


async def test_silence_is_counted_from_the_last_sound() -> None:
    """A stream that moves is not silent, however long the whole takes."""
    received = 0
    silence = Silence(lambda: received, stepping(40.0), 100.0)
    for received in range(10):  # noqa: B007 - read by the lambda
        assert not silence.is_too_long()
    assert [silence.is_too_long() for _ in range(3)] == [False, False, True]


def test_time_with_an_open_question_is_owed_once() -> None:
    """Questions that are open at the same time are one debt, which ends with the last of them."""
    debt = Debt()
    assert debt.owed_s() == 0
    with debt.owing():
        with debt.owing():
            before = debt.owed_s()
        while debt.owed_s() <= before:
            pass
    settled = debt.owed_s()
    assert settled > before >= 0
    assert debt.owed_s() == settled


def test_what_somebody_owes_the_guest_is_left_out() -> None:
    """All excuses of a meter count, also for a stopwatch that runs already."""
    meter = Meter()
    stopwatch = meter.stopwatch()
    meter.excuse(lambda: 1e9)
    assert stopwatch.passed_s() == 0
    assert stopwatch.starved_s() == 0, "nobody kept it from a processor"
    assert stopwatch.uncounted_s() == pytest.approx(stopwatch.wall_s())


async def test_starvation_is_noted_also_of_tasks() -> None:
    """What is started inside the context is counted for it, and for no one afterwards."""

    async def work() -> None:
        at = [Reading(0.0, 0.0, 0.0), Reading(10.0, 0.0, 2.5)]
        stopwatch = Stopwatch(lambda: at[0])
        at.pop(0)
        note(stopwatch)

    with starvation_noted() as noted:
        await asyncio.gather(work(), asyncio.create_task(work()))
    await work()
    assert (noted.asked_s, noted.share) == (20.0, 0.75)


@pytest.mark.parametrize(("idle_s", "share"), [(4.0, 0.0), (0.0, 0.5)])
def test_of_two_guests_of_which_one_waits_for_the_other_each_moment_counts_once(
    idle_s: float, share: float
) -> None:
    """A CI job's driver waits for its steps: what it is owed is no starvation, and thins out none."""
    noted = Starvation()
    for owed_s, own_s in ((8.0, 0.0), (0.0, 4.0)):
        readings = iter([Reading(0.0, 0.0, 3.0), Reading(8.0, idle_s, 3.0 + own_s, owed_s)])
        stopwatch = Stopwatch(readings.__next__)
        stopwatch.passed_s()
        noted.add(stopwatch)
    assert noted.share == share
