"""Turns: how much heavy work goes on at once in this process, however many attempts run beside each other.

Owns the queue only. A service that starts, or a build that keeps a processor busy, waits here for its turn, and
its clock begins when it has got one. So what time decides does not depend on how many attempts run at once.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar


class Turns:
    """At most *at_once* turns are taken at a time, in the order in which they were asked for."""

    def __init__(self, at_once: int | None = None) -> None:
        self.at_once = at_once or processors()
        self._free = asyncio.Semaphore(self.at_once)

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a turn and hold it. Parts of work that has one get in at once: it would wait for itself."""
        held = _HELD.get()
        if self in held:
            yield
            return
        async with self._free:
            mark = _HELD.set((*held, self))
            try:
                yield
            finally:
                _HELD.reset(mark)


_HELD: ContextVar[tuple[Turns, ...]] = ContextVar("held turns", default=())


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))
