"""Waiting until something is done or its time is up, by a stopwatch; and whose stopwatches there are."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

from groundup.inside.stopwatch import PATIENCE, PERIOD_S, Reading, RunQueue, Stopwatch, idle_s
from groundup.sandbox.launcher.limits import Quota, cpu_quota
from groundup.sandbox.pipes import Drain
from groundup.sandbox.protocol import Command

_T = TypeVar("_T")


class Silence:
    """Notices that a stream has not moved for some time of a stopwatch."""

    def __init__(self, received: Callable[[], int], stopwatch: Stopwatch, limit_s: float) -> None:
        self._received = received
        self._stopwatch = stopwatch
        self._limit_s = limit_s
        self._seen = 0
        self._since_s = 0.0

    def is_too_long(self) -> bool:
        """Look; return whether nothing came for longer than the limit."""
        passed_s, received = self._stopwatch.passed_s(), self._received()
        if received != self._seen:
            self._seen, self._since_s = received, passed_s
        return passed_s - self._since_s >= self._limit_s


async def is_done_within(
    done: "asyncio.Future[_T]", stopwatch: Stopwatch, limit_s: float, silence: Silence | None = None
) -> bool:
    """Wait until *done* is, *limit_s* is over, or *silence* lasts too long; return whether it is done."""
    while not done.done() and (left_s := stopwatch.left_s(limit_s)) > 0:
        if silence is not None and silence.is_too_long():
            break
        await asyncio.wait([done], timeout=min(left_s, PERIOD_S))
    return done.done()


@asynccontextmanager
async def limited(stopwatch: Stopwatch, limit_s: float | None) -> AsyncIterator[asyncio.Timeout]:
    """Raise `TimeoutError` in the context when *limit_s* of the stopwatch is over; None: never."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as scope:
        if limit_s is None:
            yield scope
            return

        later: list[asyncio.Handle] = []

        def look() -> None:
            left_s = stopwatch.left_s(limit_s)
            if left_s > 0:
                later[:] = [loop.call_later(min(left_s, PERIOD_S), look)]
            else:
                scope.reschedule(loop.time())

        look()
        try:
            yield scope
        finally:
            for handle in later:
                handle.cancel()


def silence_of(command: Command, drains: Sequence[tuple[Drain, int]], stopwatch: Stopwatch) -> Silence | None:
    """Return what watches the report of *command*; None where it may be silent for ever."""
    if command.silence_s is None or len(drains) < 3:
        return None
    capture = drains[2][0].capture
    return Silence(lambda: capture.received, stopwatch, command.silence_s)


class Meter:
    """Tells the stopwatches of one guest how things stand with it and the machine."""

    def __init__(
        self,
        own_s: Callable[[], float | None] = lambda: None,
        processors: Callable[[], float] = lambda: 1.0,
        threads: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._own_s = own_s
        self._processors = processors
        self._threads = threads
        self._queue = RunQueue()
        self._excuses: list[Callable[[], float]] = []

    def excuse(self, owed_s: Callable[[], float]) -> None:
        """Have the seconds that *owed_s* returns, in which groundup owed the guest an answer, not count."""
        self._excuses.append(owed_s)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Count nothing as waited for while groundup itself runs something beside the guest."""
        self._queued_s(self._own_s())
        self._queue.is_ours = True
        try:
            yield
            self._queued_s(self._own_s())
        finally:
            self._queue.is_ours = False

    def stopwatch(self) -> Stopwatch:
        """Return a stopwatch that starts now."""
        quota = cpu_quota()
        wanted = min(self._processors(), len(os.sched_getaffinity(0)))
        return Stopwatch(lambda: self._reading(quota), wanted, quota.processors if quota else None)

    def _reading(self, quota: Quota | None) -> Reading:
        own_s = self._own_s()
        return Reading(
            moment_s=time.monotonic(),
            idle_s=idle_s(),
            own_s=own_s,
            owed_s=sum(owed_s() for owed_s in self._excuses),
            metered_s=quota.used_s() if quota else 0.0,
            queued_s=self._queued_s(own_s),
        )

    def _queued_s(self, own_s: float | None) -> float | None:
        return self._queue.waited_s(own_s, tuple(self._threads()))


class Debt:
    """How long an answer was owed: the time in which at least one question was open."""

    def __init__(self) -> None:
        self._open = 0
        self._since = 0.0
        self._settled_s = 0.0

    @contextmanager
    def owing(self) -> Iterator[None]:
        """Have a question open."""
        if not self._open:
            self._since = time.monotonic()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            if not self._open:
                self._settled_s += time.monotonic() - self._since

    def owed_s(self) -> float:
        return self._settled_s + (time.monotonic() - self._since if self._open else 0.0)


class Starvation:
    """How long guests ran, and how much of it the machine kept them waiting; what they were owed is in neither."""

    def __init__(self) -> None:
        self.asked_s = 0.0
        self.starved_s = 0.0
        self.gave_up = False
        """Whether one was stopped before it had its time, because it had waited for processors for too long."""

    @property
    def share(self) -> float:
        """The part of the time that the guests did not have."""
        return self.starved_s / self.asked_s if self.asked_s else 0.0

    def add(self, stopwatch: Stopwatch, limit_s: float | None = None) -> None:
        """Count what *stopwatch* has measured, of a guest that was stopped at *limit_s* where that is not None."""
        wall_s = stopwatch.wall_s()
        self.gave_up |= limit_s is not None and wall_s - stopwatch.uncounted_s() < limit_s <= wall_s / PATIENCE
        self.asked_s += stopwatch.asked_s()
        self.starved_s += stopwatch.starved_s()


_NOTED: ContextVar[Starvation | None] = ContextVar("noted starvation", default=None)


@contextmanager
def starvation_noted() -> Iterator[Starvation]:
    """Yield a sum of what is given to `note` inside, in tasks that are started there, too."""
    noted = Starvation()
    mark = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(mark)


def note(stopwatch: Stopwatch, limit_s: float | None = None) -> None:
    """Look at a stopwatch for the last time, and count it for the meters that are open.

    *limit_s* is given where the guest was stopped when that was over, or the machine's patience.
    """
    stopwatch.passed_s()
    noted = _NOTED.get()
    if noted is not None:
        noted.add(stopwatch, limit_s)
