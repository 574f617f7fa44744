"""Doing many things at once on one machine, within its memory: first come, first served.

Knows attempts only as keys. Strictly first come, first served, so that a large one is never overtaken for ever.
"""

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from groundup.domain.subjects import AttemptKey
from groundup.sandbox.launcher.limits import memory_limits_bytes

Attempt = Callable[[AttemptKey], Awaitable[float | None]]
"""Does one attempt; returns None when it is finished, or after how many seconds it wants to be done again."""


class Admits(Protocol):
    """Where attempts wait until there is room for them."""

    def admitted(self, reservation_mb: int) -> AbstractAsyncContextManager[None]:
        """Wait for room, then hold it."""
        ...


class Admission:
    """Lets attempts in while their reservations fit the budget; one that is larger than the budget runs alone."""

    def __init__(self, budget_mb: int) -> None:
        self._budget_mb = budget_mb
        self._reserved_mb = 0
        self._inside = 0
        self._turn = asyncio.Lock()
        self._left = asyncio.Event()

    @asynccontextmanager
    async def admitted(self, reservation_mb: int) -> AsyncIterator[None]:
        """Wait for room, then hold it."""
        async with self._turn:
            # An attempt larger than the whole budget gets in when nothing else is inside.
            while self._inside and self._reserved_mb + reservation_mb > self._budget_mb:
                self._left.clear()
                await self._left.wait()
            self._inside += 1
            self._reserved_mb += reservation_mb
        try:
            yield
        finally:
            self._inside -= 1
            self._reserved_mb -= reservation_mb
            self._left.set()


class WorkStage:
    """A part of an attempt's work: so many at once, within a memory budget of its own."""

    def __init__(self, at_once: int, budget_mb: int) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._admission = Admission(budget_mb)

    @asynccontextmanager
    async def entered(self, reservation_mb: int) -> AsyncIterator[None]:
        """Wait for a slot and for room, then hold both."""
        async with self._slots, self._admission.admitted(reservation_mb):
            yield


class _PendingQueue:
    """What is still to do, in order; what wants to be done again goes to the end."""

    def __init__(self, keys: Iterable[AttemptKey]) -> None:
        self._waiting = deque((0.0, key) for key in keys)
        self._out = 0
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    async def take(self) -> AttemptKey | None:
        """Return the next one; None when nothing is left and nothing can come back."""
        # What is out may come back, so the last worker to wait must not leave.
        while not self._waiting:
            if not self._out:
                return None
            self._changed.clear()
            await self._changed.wait()
        self._out += 1
        not_before, key = self._waiting.popleft()
        if (delay := not_before - time.monotonic()) > 0:
            await asyncio.sleep(delay)
        return key

    def give_back(self, key: AttemptKey, again_in_s: float | None) -> None:
        """Say that a taken one is finished, or wants to be done again."""
        self._out -= 1
        if again_in_s is not None:
            self._waiting.append((time.monotonic() + again_in_s, key))
        self._changed.set()


async def work_off(
    keys: Iterable[AttemptKey],
    attempt: Attempt,
    *,
    jobs: int,
    admission: Admits,
    reservation_mb: Callable[[AttemptKey], int],
) -> None:
    """Do all *keys*, at most *jobs* at once. An error of *attempt* cancels the others and is raised."""
    pending = _PendingQueue(keys)

    async def worker() -> None:
        while (key := await pending.take()) is not None:
            async with admission.admitted(reservation_mb(key)):
                again_in_s = await attempt(key)
            pending.give_back(key, again_in_s)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(jobs, len(pending))):
                group.create_task(worker())
    except BaseExceptionGroup as errors:
        raise _first(errors) from errors


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that came first; the others are of workers that were stopped because of it."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def machine_memory_mb(proc: Path = Path("/proc")) -> int:
    """Return the memory in MiB that this process and its children can have at most."""
    return min([_total_bytes(proc), *memory_limits_bytes(proc)]) // (1024 * 1024)


def _total_bytes(proc: Path) -> int:
    try:
        for line in (proc / "meminfo").read_text().splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass  # not Linux: ask the C library
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
