"""One session: an episode in a slot, and the calls of its tools. Knows no protocol.

One call of a tool in a session: begun once, joined where a client asks again, kept until the session ends.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Literal, Protocol
from uuid import uuid4

from pydantic import Field, JsonValue

from groundup.domain.errors import GroundupError, InfrastructureError, UsageError
from groundup.domain.limits import EpisodeLimits
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Status, Verdict, counted, told_in_counts
from groundup.serving.staging import OpenedEpisode, in_short

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


BASH, SUBMIT, FINISH = "bash", "submit", "finish"
_CALLS = 1000
"""Of one session, whose answers are kept for clients that ask again."""


class Rules(Record):
    """How episodes are played."""

    submits: int | None = Field(default=1, ge=1, description="how many end an episode; None: any number")
    reward: Literal["submit", "end"] = "submit"
    shows_scores: bool = True
    command_s: float = Field(default=180.0, gt=0, description="time for a command that names none")
    longest_command_s: float = Field(default=1800.0, gt=0, description="most that it may name")
    limits: EpisodeLimits = EpisodeLimits()


class StartingError(GroundupError):
    """The episode is not open yet: it waits for a slot, or for its environment. Ask again soon."""


class EndedError(GroundupError):
    """The session has ended."""


class UnrewardedError(InfrastructureError):
    """The episode ended before it had a reward."""


Slot = Callable[[], AbstractAsyncContextManager[object]]
Opening = Callable[[Task], AbstractAsyncContextManager[OpenedEpisode]]


class SessionWatch(Protocol):
    """Hears what happens in sessions, for numbers and logs."""

    def called(self, session: "Session", tool: str, how: str, seconds: float) -> None:
        """A call has ended: `answered`, `failed`, or why it was refused."""
        ...

    def graded(self, session: "Session", verdict: Verdict) -> None:
        """A submission has a verdict."""
        ...

    def opened(self, session: "Session", seconds: float) -> None:
        """An episode is open, so many seconds after its slot was free."""
        ...

    def ended(self, session: "Session", how: str) -> None:
        """A session has ended; *how* in words."""
        ...


class Session:
    """An episode of *task*, for one client. Begin it with `begin`, end it with `close`."""

    def __init__(self, name: str, client: str, task: Task, rules: Rules, watch: "SessionWatch") -> None:
        self.name = name
        self.client = client
        self.task = task
        self.rules = rules
        self._watch = watch
        self.seen_at = time.monotonic()
        """When its client was heard last."""
        self.submitted = 0
        self.finished = False
        self.graded: Answer | None = None
        """The latest answer with a verdict."""
        self._calls: dict[str, SessionCall] = {}
        self._last: SessionCall | None = None
        self._turn = asyncio.Lock()
        self._ready = asyncio.Event()
        self._waiters = 0
        """Requests that wait until the episode is open."""
        self._leaving = asyncio.Event()
        self._how, self._by_client = "the server was stopped before the episode had ended", False
        self._episode: OpenedEpisode | None = None
        self._failure: Exception | None = None
        self._life: asyncio.Task[None] | None = None
        self._opened_at = 0.0
        self._broken = ""
        """Why a call failed that is not the client's fault."""

    def begin(self, slot: Slot, opening: Opening) -> None:
        """Open the episode behind the caller's back, as soon as there is a slot."""
        self._life = asyncio.create_task(self._live(slot, opening))

    async def _live(self, slot: Slot, opening: Opening) -> None:
        """Hold slot and episode from opening to closing, in one task, as task groups insist."""
        try:
            async with slot():
                began = time.monotonic()
                async with opening(self.task) as episode:
                    self._episode, self._opened_at = episode, time.monotonic()
                    self._ready.set()
                    self._watch.opened(self, self._opened_at - began)
                    await self._leaving.wait()
                    await self._end_calls()
                    await episode.close(self._how, by_client=self._by_client)
        except Exception as error:  # noqa: BLE001 - the attempt boundary: a bug must not end the other sessions
            self._failure = error
        finally:
            self._ready.set()

    async def _end_calls(self) -> None:
        """End what still runs: its sandbox goes away. The call that ends an episode is not among them."""
        if not self.finished:
            await asyncio.gather(*(call.cancel() for call in self._calls.values() if call.is_running))

    # --- what clients ask for

    @property
    def key(self) -> str | None:
        """The attempt within the server's run; None before the episode is open."""
        return None if self._episode is None else str(self._episode.key)

    @property
    def is_busy(self) -> bool:
        """Whether its client waits for an answer: of a call, or for the episode to open."""
        return self._waiters > 0 or any(call.is_running for call in self._calls.values())

    @property
    def is_used(self) -> bool:
        return bool(self._calls)

    @property
    def last_call(self) -> SessionCall | None:
        return self._last

    @property
    def is_open(self) -> bool:
        return self._episode is not None and self._life is not None and not self._life.done()

    @property
    def is_over(self) -> bool:
        """Whether it holds nothing any more but its answers."""
        return self._life is not None and self._life.done()

    async def over(self) -> None:
        if self._life is not None:
            await asyncio.wait({self._life})

    def heard(self) -> None:
        self.seen_at = time.monotonic()

    async def ready(self, timeout_s: float) -> OpenedEpisode:
        """Return the open episode.

        Raises `StartingError` after *timeout_s*, `UnrewardedError` where opening it failed, and `EndedError`.
        """
        if not self._ready.is_set():
            self._waiters += 1
            try:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ready.wait(), timeout_s)
            finally:
                self._waiters -= 1
                self.heard()
        if not self._ready.is_set():
            raise StartingError("the episode waits for a slot, or for its environment; ask again")
        if self._failure is not None and not self.finished:
            raise UnrewardedError(str(self._failure)) from self._failure
        if self._episode is None:
            raise EndedError(f"the session {self.name} has ended")
        return self._episode

    def call(self, name: str, arguments: Mapping[str, JsonValue], call_id: str | None = None) -> SessionCall:
        """Return the call with that id, or the one whose answer was lost, or a new one that has not begun.

        Raises `KeyError` for an id that none of this session's latest calls has, and `UsageError` for too many.
        """
        self.heard()
        if call_id is not None:
            return self._calls[call_id]
        # A client that lost its connection asks again, and must not have its command run twice.
        if self._last is not None and self._last.is_wanted_by(name, arguments):
            self._last.found()
            return self._last
        if len(self._calls) >= _CALLS:
            oldest = next(iter(self._calls.values()))
            if oldest.is_running:
                raise UsageError(f"a session has at most {_CALLS} calls at once")
            del self._calls[oldest.id]
        self._last = SessionCall(name, arguments, lambda: self._made(name, arguments))
        self._calls[self._last.id] = self._last
        return self._last

    async def close(self, how: str, *, by_client: bool) -> None:
        """End the session and wait until nothing of it is left. Can be called twice."""
        if not self._leaving.is_set():
            failed = f"the infrastructure failed: {self._broken}" if self._broken else ""
            self._how, self._by_client = failed or how, by_client and not failed
        self._leaving.set()
        if self._life is None:
            return
        # An open episode ends by itself, as `_leaving` says; cancelled, it could not be graded or cleaned up.
        if not self._ready.is_set():  # it waits for a slot, or opens its episode
            self._life.cancel()
        await asyncio.wait({self._life})

    # --- tools

    async def _made(self, name: str, arguments: Mapping[str, JsonValue]) -> Answer:
        """Do a call; calls that come at once are done one after the other, in order."""
        async with self._turn:
            began, how = time.monotonic(), "failed"
            try:
                answer = await self._done(name, arguments)
                how = "answered"
            except CallRefusedError as error:
                how = error.reason
                raise
            except Exception as error:
                self._broken = str(error)
                raise
            else:
                return answer
            finally:
                self.heard()
                tool = name if name in (BASH, SUBMIT, FINISH) else "other"
                self._watch.called(self, tool, how, time.monotonic() - began)

    async def _done(self, name: str, arguments: Mapping[str, JsonValue]) -> Answer:
        if self.finished:
            raise CallRefusedError("episode_finished", "the episode has ended; open another session")
        given = {key: value for key, value in arguments.items() if value is not None}
        match name:
            case "bash":
                return await self._bash(given)
            case "submit":
                _only(name, given, ())
                return await self._submit(ends=self.submitted + 1 == self.rules.submits)
            case "finish":
                return await self._submit(ends=True)
        raise CallRefusedError("not_found", f"there is no tool {name[:100]!r}; call {BASH} or {SUBMIT}")

    async def _bash(self, given: Mapping[str, JsonValue]) -> Answer:
        _only(BASH, given, ("command", "timeout_s"))
        command, seconds = given.get("command"), given.get("timeout_s", self.rules.command_s)
        if not isinstance(command, str):
            raise CallRefusedError("input_validation", "bash takes `command`, a text")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            raise CallRefusedError("input_validation", "bash takes `timeout_s`, a number of seconds above 0")
        if self._is_late():
            return Answer(text=f"[not run: the episode's time is over; call {SUBMIT}]")
        episode = await self.ready(0)
        try:
            seen = await episode.driven.run(command, float(min(seconds, self.rules.longest_command_s)))
        except UsageError as error:
            return Answer(text=f"[not run: {error}]")
        return Answer(text=seen.output, counts={"exit_code": seen.exit_code, "seconds": round(seen.seconds, 3)})

    async def _submit(self, *, ends: bool) -> Answer:
        episode = await self.ready(0)
        ends = ends or episode.driven.has_ended or self._is_late()
        if not ends and self.rules.reward == "end":
            self.submitted += 1
            text = f"Submitted. {self._left()}"
            episode.driven.note("submitted", number=self.submitted, message=text)
            return Answer(text=text)
        result = await episode.submit(ends=ends)
        try:
            verdict = result.settled()
        except InfrastructureError as error:
            raise UnrewardedError(str(error)) from error
        self.submitted += 1
        if ends:
            self.finished = True
            self._leaving.set()  # what it holds is free for others; its answers stay
        self._watch.graded(self, verdict)
        shown = f" {told_in_counts(verdict)}" if self.rules.shows_scores else ""
        left = "" if ends else f" {self._left()}"
        text = f"Submitted.{shown}{left}"
        episode.driven.note("graded", message=text, **in_short(verdict))
        self.graded = Answer(text=text, reward=counted(verdict), finished=ends, counts=_counts(verdict))
        return self.graded

    def _left(self) -> str:
        limit = self.rules.submits
        if limit is None:
            return "You may go on."
        times = limit - self.submitted
        return "You may submit once more." if times == 1 else f"You may submit {times} more times."

    def _is_late(self) -> bool:
        limit_s = self.rules.limits.wall_clock_s
        return limit_s is not None and time.monotonic() - self._opened_at > limit_s


def _only(tool: str, given: Mapping[str, JsonValue], known: tuple[str, ...]) -> None:
    if unknown := sorted(given.keys() - set(known)):
        takes = " and ".join(f"`{name}`" for name in known) or "nothing"
        raise CallRefusedError("input_validation", f"{tool} takes {takes}, not {unknown[0][:100]!r}")


def _counts(verdict: Verdict) -> dict[str, JsonValue]:
    score = verdict.score
    return {
        "status": verdict.status.value,
        "passed": score.numerator if score else None,
        "total": score.denominator if score else None,
        "grader": f"{verdict.grader.name} {verdict.grader.version}",
        "tampered": verdict.status is Status.TAMPERED,
        "lost_at": [reason.stage.value for reason in verdict.reasons],
    }
