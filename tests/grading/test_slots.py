"""Slots: so many at once, in order, and none is ever lost."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from groundup.grading.context import Slots, processors
from tests.patience import patient


async def test_no_more_than_so_many_hold_a_turn_at_once() -> None:
    """However many attempts run beside each other, heavy work goes on only as often as was said."""
    slots, held, most = Slots(2), 0, 0

    async def work() -> None:
        nonlocal held, most
        async with slots.taken():
            held += 1
            most = max(most, held)
            await asyncio.sleep(0)
            held -= 1

    await asyncio.gather(*(work() for _ in range(8)))
    assert (held, most) == (0, 2)


async def test_turns_come_in_the_order_of_asking() -> None:
    """No one waits for ever while others come later and go first."""
    slots, order = Slots(1), []

    async def work(number: int) -> None:
        async with slots.taken():
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(number) for number in range(5)))
    assert order == [0, 1, 2, 3, 4]


async def test_a_part_of_work_that_has_a_turn_waits_for_no_other() -> None:
    """A build inside an install cannot wait for the slot that its own install holds, also in a task of its own."""
    slots = Slots(1)

    async def part() -> str:
        async with slots.taken():
            return "done"

    async with asyncio.timeout(patient(30)), slots.taken():
        assert await part() == "done"
        assert await asyncio.create_task(part()) == "done"
    assert await part() == "done"


async def test_turns_of_another_queue_are_others() -> None:
    """Who has a slot of one run still waits for one of another run."""
    mine, other = Slots(1), Slots(1)
    busy, done = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with other.taken():
            busy.set()
            await done.wait()

    async def take_both() -> None:
        async with mine.taken(), other.taken():
            assert done.is_set()

    tasks = [asyncio.create_task(hold())]
    await busy.wait()
    tasks.append(asyncio.create_task(take_both()))
    await asyncio.sleep(0)
    done.set()
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("moment", ["waiting", "holding"])
async def test_who_is_cancelled_leaves_the_turn_to_others(moment: str) -> None:
    """An attempt that is interrupted, in the queue or at work, takes no slot with it."""
    slots = Slots(1)
    entered = asyncio.Event()

    async def work() -> None:
        async with slots.taken():
            entered.set()
            await asyncio.Event().wait()

    first = asyncio.create_task(work())
    await entered.wait()
    second = asyncio.create_task(work())
    await asyncio.sleep(0)
    for task in (first, second) if moment == "holding" else (second, first):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with asyncio.timeout(patient(30)), slots.taken():
        pass


async def test_work_that_fails_gives_its_turn_back() -> None:
    """An error is no lost slot."""
    slots = Slots(1)
    with pytest.raises(ValueError, match="broken"):
        async with slots.taken():
            raise ValueError("broken")
    async with asyncio.timeout(patient(30)), slots.taken():
        pass


def test_there_are_as_many_turns_as_processors() -> None:
    """Unless somebody says otherwise, one piece of heavy work goes on per processor that may be used."""
    assert Slots().at_once == processors() >= 1


async def test_who_is_alone_waits_for_all_turns_and_keeps_them() -> None:
    """Two that want to be alone and others that want a slot never meet, and none waits for ever."""
    slots, held, seen = Slots(2), 0, []

    async def work(context: AbstractAsyncContextManager[object]) -> None:
        nonlocal held
        async with context:
            held += 1
            await asyncio.sleep(0)
            seen.append(held)
            held -= 1

    async with asyncio.timeout(patient(30)):
        await asyncio.gather(*map(work, (slots.taken(), slots.alone(), slots.alone(), slots.taken())))
    assert seen == [1, 1, 1, 1]
    async with slots.alone() as lent:
        assert lent.at_once == 1
