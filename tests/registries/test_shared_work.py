"""Tests of groundup.registries.cache."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from groundup.registries.cache import PrioritySemaphore, SharedResource, SingleFlight


async def test_a_hundred_askers_share_one_piece_of_work() -> None:
    """Work under one key runs once; the next to ask after its end starts anew."""
    shared: SingleFlight[int] = SingleFlight()
    runs = 0

    async def work() -> int:
        nonlocal runs
        runs += 1
        await asyncio.sleep(0.01)
        return runs

    assert await asyncio.gather(*(shared.get("key", work) for _ in range(100))) == [1] * 100
    assert await shared.get("key", work) == 2


async def test_one_who_gives_up_does_not_disturb_the_others() -> None:
    """Cancelling the first asker leaves the work to those who still wait."""
    shared: SingleFlight[str] = SingleFlight()
    go = asyncio.Event()

    async def work() -> str:
        await go.wait()
        return "done"

    first, second = (asyncio.ensure_future(shared.get(1, work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    go.set()
    assert await second == "done"


async def test_work_ends_when_no_one_waits() -> None:
    """When all askers are cancelled the work is cancelled too, and has ended when they return."""
    shared: SingleFlight[None] = SingleFlight()
    ended = False

    async def work() -> None:
        nonlocal ended
        try:
            await asyncio.sleep(60)
        finally:
            ended = True

    asker = asyncio.ensure_future(shared.get(1, work))
    await asyncio.sleep(0.01)
    asker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asker
    assert ended


async def test_a_failure_reaches_everybody() -> None:
    """All who wait see the error, and the key is free afterwards."""
    shared: SingleFlight[None] = SingleFlight()

    async def work() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    results = await asyncio.gather(*(shared.get(1, work) for _ in range(3)), return_exceptions=True)
    assert [str(result) for result in results] == ["no"] * 3


async def test_something_is_open_while_it_is_used() -> None:
    """Opened for the first user, closed after the last, opened anew for the next, also after a failure."""
    events: list[str] = []
    fails = [False]

    @asynccontextmanager
    async def opening() -> AsyncIterator[int]:
        if fails.pop():
            raise ValueError("cannot open")
        events.append("opened")
        try:
            yield len(events)
        finally:
            events.append("closed")

    shared = SharedResource(opening)
    async with shared.use() as first, shared.use() as second:
        assert first == second == 1
        assert events == ["opened"]
    assert events == ["opened", "closed"]
    fails.extend([False, True])
    with pytest.raises(ValueError, match="cannot open"):
        async with shared.use():
            pass
    async with shared.use() as third:
        assert third == 3
    assert events == ["opened", "closed"] * 2


async def test_the_largest_piece_of_work_that_waits_is_next() -> None:
    """Places are given by size, else in turn, and no place is lost when one who waits or holds is cancelled."""
    places = PrioritySemaphore(1)
    order: list[str] = []

    async def work(name: str, size: int) -> None:
        async with places.place(size):
            order.append(name)
            await asyncio.sleep(0)

    async with places.place():
        waiting = [asyncio.create_task(work(*one)) for one in (("a", 1), ("big", 9), ("b", 1), ("gone", 5))]
        await asyncio.sleep(0)
        waiting[3].cancel()
    await asyncio.wait(waiting)
    assert order == ["big", "a", "b"]

    async with places.place():
        late = asyncio.create_task(work("late", 1))
        await asyncio.sleep(0)
    late.cancel()  # in the moment in which its turn came
    await asyncio.wait([late])
    await asyncio.wait_for(work("next", 1), 60)
    assert order[-1] == "next"
