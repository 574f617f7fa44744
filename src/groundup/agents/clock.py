"""An attempt's time over all its tries.

A try that goes on with an earlier one has what that left: the time that its model took to answer, and its calls.
Saying recorded replies again and repeating recorded calls is nobody's time, so an attempt never ends half way
through what it had done before.
"""

import asyncio
from collections.abc import Iterable

from groundup.agents.steps import Step, spent_s


class Clock:
    """Ends what runs under *timeout* when the attempt's time is over; used inside it."""

    def __init__(self, timeout: asyncio.Timeout, limit_s: float | None, recorded: Iterable[Step]) -> None:
        self._timeout = timeout
        self._left_s = None if limit_s is None else limit_s - spent_s(recorded)

    def start(self) -> None:
        """Let time run, from the first step that no earlier try did; called again, it does nothing."""
        if self._left_s is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left_s)
            self._left_s = None
