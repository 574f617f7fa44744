"""Resuming an interrupted attempt: its time over all tries, and recorded replies, never paid for twice.

A try that goes on with an earlier one has what that left: the time that its model took to answer, and its calls.
Replaying recorded replies and repeating recorded calls does not count, so an attempt never ends half way through
what it had done before.

Owns which reply comes next and whether what happens now is what happened then. The agent runs its commands again,
in a fresh workspace; where one does something else than it did, the first such step is recorded.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from pydantic import JsonValue

from groundup.agents.base import Trajectory
from groundup.agents.trajectories import Step, lost_by, reply_fields, reply_of, spent_s
from groundup.domain.conversations import ChatReply


class Clock:
    """An attempt's time over all its tries. Ends what runs under *timeout*, if any, when it is over."""

    def __init__(self, timeout: asyncio.Timeout | None, limit_s: float | None, recorded: Sequence[Step]) -> None:
        self._timeout = timeout
        self._before_s = spent_s(recorded)
        self._limit_s = limit_s
        self._began: float | None = None

    @property
    def left_s(self) -> float | None:
        """What is left; None: there is no limit."""
        return None if self._limit_s is None else self._limit_s - self.spent_s

    @property
    def spent_s(self) -> float:
        """What is spent, for a step's field `spent_s`."""
        here = 0.0 if self._began is None else asyncio.get_running_loop().time() - self._began
        return round(self._before_s + here, 3)

    def start(self) -> None:
        """Let time run, from the first step that no earlier try did; called again, it does nothing."""
        if self._began is None:
            self._began = asyncio.get_running_loop().time()
            if self._limit_s is not None and self._timeout is not None:
                self._timeout.reschedule(self._began + self._limit_s - self._before_s)


_SHOWN = 2000


class Replay:
    """Hands out an attempt's replies in turn: first those on record, then new ones, which it records."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        recorded = trajectory.recorded()
        self.paid = lost_by(recorded)
        self._replies = deque((reply, step) for step in recorded if (reply := reply_of(step)) is not None)
        self._results = {
            (step.get("turn"), step.get("call")): step for step in recorded if step.get("kind") == "result"
        }
        self._condensed = [step for step in recorded if step.get("kind") == "condensed"]
        self._diverged = any(step.get("kind") == "diverged" for step in recorded)
        self.resumed = bool(self._replies)
        """Whether there was an earlier try that came as far as a reply."""

    @property
    def turn(self) -> int:
        """How many replies there were so far."""
        return self.paid.turns

    @property
    def replaying(self) -> bool:
        """Whether the next reply is on record."""
        return bool(self._replies)

    async def reply(self, ask: Callable[[], Awaitable[ChatReply]], **about: JsonValue) -> ChatReply:
        """Return the next reply; *ask* is called when it is not on record, and *about* is recorded with it."""
        if self._replies:
            reply, _ = self._replies.popleft()
            self.paid = self.paid.plus(reply)
            return reply
        reply = await ask()
        self.paid = self.paid.plus(reply)
        self._trajectory.append("reply", **reply_fields(reply, self.turn), **about)
        return reply

    def recorded_summary(self) -> int | None:
        """Return the mark of the summary that the next recorded reply is; None: it is none, or none is left."""
        mark = self._replies[0][1].get("summary_until") if self._replies else None
        return mark if isinstance(mark, int) else None

    def recorded_result(self, call: int) -> Step | None:
        """Return what the call of this turn with that number did then."""
        return self._results.get((self.turn, call))

    def recorded_condensing(self) -> list[Step]:
        """Return how the conversation was condensed before the next reply."""
        return [step for step in self._condensed if step.get("turn") == self.turn]

    def result(self, call: int, content: str, **fields: JsonValue) -> str:
        """Record what a call did; return what the model sees: the recorded result, if there is one."""
        then = self.recorded_result(call)
        if then is None:
            self._trajectory.append("result", turn=self.turn, call=call, content=content, **fields)
            return content
        was = str(then.get("content"))
        if was != content and not self._diverged:
            self._diverged = True
            self._trajectory.append("diverged", turn=self.turn, call=call, was=was[:_SHOWN], now=content[:_SHOWN])
        return was
