"""How long work itself may take: the clock stands during waits for a turn, a package or a processor."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from groundup.domain.errors import SubmissionError
from groundup.sandbox.deadlines import limited
from groundup.sandbox.protocol import Sandbox

BUILDS_AT_ONCE = max(2, os.cpu_count() or 1)
"""How many builds of a kind work; further ones wait for a turn."""


class OutOfTimeError(SubmissionError):
    """What a submission wants installed takes longer than it may."""


class WorkTime:
    """Seconds for one piece of work that may be done in several parts."""

    def __init__(self, limit_s: float | None = None, what: str = "work") -> None:
        self._limit_s = limit_s
        self._what = what
        self._spent_s = 0.0

    def restart(self) -> None:
        """Give the work its whole time again: what it has done is lost through no fault of its own."""
        self._spent_s = 0.0

    @asynccontextmanager
    async def running(self, sandbox: Sandbox) -> AsyncIterator[None]:
        """Let the clock of *sandbox* run, where it is done; raises `OutOfTimeError` where the limit is reached."""
        stopwatch = sandbox.stopwatch()
        left_s = None if self._limit_s is None else max(0.0, self._limit_s - self._spent_s)
        try:
            async with limited(stopwatch, left_s) as scope:
                yield
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise OutOfTimeError(f"{self._what}: not done within {self._limit_s:.0f} s") from error
        finally:
            self._spent_s += stopwatch.passed_s()
