"""How long work itself may take: the clock stands while somebody waits for a turn."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from groundup.domain.errors import SubmissionError


class OutOfTimeError(SubmissionError):
    """What a submission wants installed takes longer than it may."""


class WorkTime:
    """Seconds for one piece of work that may be done in several parts."""

    def __init__(self, limit_s: float | None = None, what: str = "work") -> None:
        self._limit_s = limit_s
        self._what = what
        self._spent_s = 0.0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let the clock run; raises `OutOfTimeError` where the limit is reached."""
        began = time.monotonic()
        left_s = None if self._limit_s is None else max(0.0, self._limit_s - self._spent_s)
        try:
            async with asyncio.timeout(left_s) as scope:
                yield
        except TimeoutError as error:
            if not scope.expired():
                raise
            raise OutOfTimeError(f"{self._what}: not done within {self._limit_s:.0f} s") from error
        finally:
            self._spent_s += time.monotonic() - began
