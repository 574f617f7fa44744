"""What many ask for at the same time within this process: work done once, things opened once, places for work."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Work(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SharedWork(Generic[T]):
    """Work by key. A failure reaches all who wait; the next to ask after the end starts anew."""

    def __init__(self) -> None:
        self._running: dict[Hashable, _Work[T]] = {}

    async def get(self, key: Hashable, start: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work under *key*, started by the first to ask.

        One who is cancelled does not disturb the others; the work ends when none is waiting any more.
        """
        work = self._running.get(key)
        if work is None:
            work = _Work(asyncio.ensure_future(_run(start)))
            self._running[key] = work
        work.waiting += 1
        try:
            # One who is cancelled leaves; the work goes on for the others.
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


class OpenWhileUsed(Generic[T]):
    """Something that is opened for its first user and closed after its last; the next one opens another."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._opening = opening
        self._open: tuple[T, AsyncExitStack] | None = None
        self._turn = asyncio.Lock()
        self._users = 0

    @asynccontextmanager
    async def use(self) -> AsyncIterator[T]:
        """Yield the one thing that all users of a time share."""
        self._users += 1
        try:
            async with self._turn:
                if self._open is None:
                    stack = AsyncExitStack()
                    self._open = (await stack.enter_async_context(self._opening()), stack)
                shared = self._open[0]
            yield shared
        finally:
            self._users -= 1
            if self._users == 0 and self._open is not None:
                (_, stack), self._open = self._open, None
                await stack.aclose()


class Places:
    """So many places for work. Of what waits for one, the largest is next: begun last, it would end alone."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    @asynccontextmanager
    async def place(self, size: int = 0) -> AsyncIterator[None]:
        """Hold a place for work of *size*, by any measure that all who ask share."""
        self._free -= 1
        if self._free < 0:
            turn = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (-size, next(self._numbers), turn))
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # its turn came in the same moment
                    self._leave()
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        self._free += 1
        while self._waiting:
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
            self._free += 1  # it left the line
