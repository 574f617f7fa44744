"""One call of a tool in a session: begun once, joined where a client asks again, kept until the session ends."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal
from uuid import uuid4

from pydantic import JsonValue

from groundup.domain.errors import GroundupError
from groundup.domain.records import Record

Refusal = Literal["not_found", "input_validation", "episode_finished"]
_LOST_S = 60.0
"""How long an answer that did not reach its client waits for an equal call without an id."""


class CallRefusedError(GroundupError):
    """The call was not made, for a reason that is the caller's."""

    def __init__(self, reason: Refusal, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Answer(Record):
    """What a tool returns."""

    text: str
    reward: float | None = None
    """None: nothing was graded, or the reward is withheld for now."""
    finished: bool = False
    """Whether the episode ended with it."""
    counts: dict[str, JsonValue] = {}
    """Numbers for the trainer: passed, total, and what the verdict says in short."""


class SessionCall:
    """One call. It begins when `begin` is called: after its client knows its id."""

    def __init__(
        self, name: str, arguments: Mapping[str, JsonValue], work: Callable[[], Coroutine[Any, Any, Answer]]
    ) -> None:
        self.id = uuid4().hex
        self._asked = _digest(name, arguments)
        self._work: Callable[[], Coroutine[Any, Any, Answer]] | None = work
        self._task: asyncio.Task[Answer] | None = None
        self._lost_at: float | None = None

    def begin(self) -> None:
        """Start it, unless it was started before."""
        if self._work is not None:
            # Calls outlive their answers; what they were asked for may be large.
            work, self._work = self._work, None
            self._task = asyncio.create_task(work())
            self._task.add_done_callback(_seen)

    @property
    def is_running(self) -> bool:
        """Whether it has begun and not ended."""
        return self._task is not None and not self._task.done()

    @property
    def is_lost(self) -> bool:
        """Whether its client left and has not come back."""
        return self._lost_at is not None

    def lost(self) -> None:
        """Note that its client left before the answer was sent."""
        self._lost_at = time.monotonic()

    def is_wanted_by(self, name: str, arguments: Mapping[str, JsonValue]) -> bool:
        """Whether an equal call that names no id is this one again: its client left without the answer."""
        if self._lost_at is None or _digest(name, arguments) != self._asked:
            return False
        return self.is_running or time.monotonic() - self._lost_at < _LOST_S

    def found(self) -> None:
        """Note that a client waits for it again."""
        self._lost_at = None

    async def wait(self, timeout_s: float | None = None, leaving: "asyncio.Task[None] | None" = None) -> bool:
        """Wait for its end, at most *timeout_s* seconds, and until *leaving* is done; return whether it ended."""
        assert self._task is not None, "a call is waited for after it has begun"
        others = () if leaving is None else (leaving,)
        await asyncio.wait({self._task, *others}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        return self._task.done()

    def answer(self) -> Answer:
        """Return the answer of a call that has ended. Raises what it raised."""
        assert self._task is not None
        if self._task.cancelled():
            raise CallRefusedError("episode_finished", "the session was closed while the call ran")
        return self._task.result()

    async def cancel(self) -> None:
        """End it, and wait for that."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})


def _digest(name: str, arguments: Mapping[str, JsonValue]) -> bytes:
    # Not `digest_of`: a client may send NaN, or half of a surrogate pair, which that refuses.
    return hashlib.sha256(json.dumps([name, arguments], sort_keys=True).encode()).digest()


def _seen(task: "asyncio.Task[Answer]") -> None:
    """Take note of an error that no client will ask for."""
    if not task.cancelled():
        task.exception()
