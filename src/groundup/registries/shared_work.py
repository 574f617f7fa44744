"""Doing a piece of work once, however many ask for it at the same time within this process."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Work(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SharedWork(Generic[T]):
    """Work by key. A failure reaches everybody who waits; the next to ask after the end starts anew."""

    def __init__(self) -> None:
        self._running: dict[Hashable, _Work[T]] = {}

    async def get(self, key: Hashable, start: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work under *key*, started by whoever asks first.

        Somebody who is cancelled does not disturb the others; the work itself ends when nobody waits any more.
        """
        work = self._running.get(key)
        if work is None:
            work = _Work(asyncio.ensure_future(_run(start)))
            self._running[key] = work
        work.waiting += 1
        try:
            return await asyncio.shield(work.task)
        finally:
            work.waiting -= 1
            if work.waiting == 0:
                if self._running.get(key) is work:
                    del self._running[key]
                if not work.task.done():
                    work.task.cancel()
                    await asyncio.wait([work.task])


async def _run(start: Callable[[], Awaitable[T]]) -> T:
    return await start()
