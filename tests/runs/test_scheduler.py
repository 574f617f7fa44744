"""`runs.scheduler`: never too many, never too much memory, never one forgotten."""

import asyncio
from collections import Counter

import pytest

from groundup.domain.errors import DiskFullError
from groundup.domain.subjects import AttemptKey
from groundup.runs.scheduler import Admission, WorkStage, work_off

ROOMY = 1_000_000


def keys(count: int) -> list[AttemptKey]:
    """Return so many keys."""
    return [AttemptKey(task="a", index=index) for index in range(count)]


class Floor:
    """Attempts that count how many of them go on, and how much they hold together."""

    def __init__(self, sizes_mb: list[int] | None = None) -> None:
        self.sizes_mb = sizes_mb or []
        self.inside: list[int] = []
        self.most = 0
        self.most_mb = 0
        self.crowds: list[list[int]] = []
        self.done: Counter[AttemptKey] = Counter()

    def size_mb(self, key: AttemptKey) -> int:
        """Return the reservation of *key*."""
        return self.sizes_mb[key.index] if self.sizes_mb else 1

    async def attempt(self, key: AttemptKey) -> float | None:
        """Stay for some turns of the loop."""
        self.inside.append(self.size_mb(key))
        self.crowds.append(list(self.inside))
        self.most = max(self.most, len(self.inside))
        self.most_mb = max(self.most_mb, sum(self.inside))
        for _ in range(3 + key.index % 5):
            await asyncio.sleep(0)
        self.inside.remove(self.size_mb(key))
        self.done[key] += 1
        return None


@pytest.mark.parametrize("jobs", [1, 3, 100])
async def test_all_are_done_once_by_so_many_at_a_time(jobs: int) -> None:
    """Every attempt is done exactly once, and `--jobs` is used in full and never exceeded."""
    floor = Floor()
    await work_off(keys(40), floor.attempt, jobs=jobs, admission=Admission(ROOMY), reservation_mb=floor.size_mb)
    assert floor.done == Counter(keys(40))
    assert floor.most == min(jobs, 40)


async def test_reservations_stay_within_the_budget() -> None:
    """However many jobs are allowed, the sum of reservations is never above the budget."""
    floor = Floor([300, 200, 700, 500, 400, 100, 100, 1000, 50] * 3)
    await work_off(keys(27), floor.attempt, jobs=8, admission=Admission(1000), reservation_mb=floor.size_mb)
    assert sum(floor.done.values()) == 27
    assert floor.most_mb <= 1000
    assert floor.most > 1


async def test_a_giant_runs_alone() -> None:
    """An attempt that is larger than the whole budget is done, with nothing beside it."""
    floor = Floor([100, 5000, 100, 5000])
    await work_off(keys(4), floor.attempt, jobs=4, admission=Admission(1000), reservation_mb=floor.size_mb)
    assert sum(floor.done.values()) == 4
    assert all(crowd == [5000] for crowd in floor.crowds if 5000 in crowd)


async def test_what_wants_to_be_done_again_is() -> None:
    """A retry comes after the others, also when nothing else is left to wait for."""
    order: list[int] = []

    async def attempt(key: AttemptKey) -> float | None:
        order.append(key.index)
        await asyncio.sleep(0)
        return 0.001 if order.count(key.index) < 3 and key.index == 0 else None

    await work_off(keys(3), attempt, jobs=2, admission=Admission(ROOMY), reservation_mb=lambda key: 1)
    assert sorted(order) == [0, 0, 0, 1, 2]
    assert order[-1] == 0


async def test_an_error_stops_the_others_and_is_reported_as_it_is() -> None:
    """A full disk ends the run as a `DiskFullError`; what else was going on is cancelled."""
    cancelled: list[AttemptKey] = []

    async def attempt(key: AttemptKey) -> float | None:
        if key.index == 1:
            raise DiskFullError("no room")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(key)
            raise
        return None

    with pytest.raises(DiskFullError, match="no room"):
        await work_off(keys(9), attempt, jobs=3, admission=Admission(ROOMY), reservation_mb=lambda key: 1)
    assert sorted(key.index for key in cancelled) == [0, 2]


async def test_nothing_to_do_is_done_at_once() -> None:
    """A finished run can be resumed."""
    await work_off([], Floor().attempt, jobs=4, admission=Admission(1), reservation_mb=lambda key: 1)


async def test_a_stage_is_bounded_by_number_and_by_memory() -> None:
    """So many at once, and never more than its own share of the memory."""
    stage = WorkStage(3, 100)
    inside: list[int] = []
    most = [0, 0]

    async def one(size_mb: int) -> None:
        async with stage.entered(size_mb):
            inside.append(size_mb)
            most[:] = max(most[0], len(inside)), max(most[1], sum(inside))
            await asyncio.sleep(0)
            inside.remove(size_mb)

    await asyncio.gather(*(one(size) for size in [10] * 10 + [60] * 10))
    assert most[0] == 3
    assert most[1] <= 100
