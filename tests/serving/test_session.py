"""One session by itself, over an episode made up here: answers, refusals, ends and lost calls, to the letter."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import JsonValue

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.limits import EpisodeLimits
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.episodes.driving import Observation
from groundup.serving.session import (
    Answer,
    CallRefusedError,
    EndedError,
    Rules,
    Session,
    SessionCall,
    StartingError,
    UnrewardedError,
)
from groundup.serving.staging import OpenedEpisode

TASK = Task(id="a", suite="toy", instruction="Write a.")
GRADER = GraderIdentity(name="strict", version="5")
HALF = Verdict(
    status=Status.GRADED,
    score=Score(numerator=1, denominator=2),
    reasons=(Reason(stage=Stage.TEST, message="one failed"),),
    grader=GRADER,
)
FOOLED = Verdict(status=Status.TAMPERED, score=None, grader=GRADER)


class Made:
    """An episode: notes what is asked of it, and answers what the test says."""

    def __init__(self) -> None:
        self.key = AttemptKey(task="a", index=3)
        self.prompt = "Write a."
        self.verdict: Verdict | Exception = HALF
        self.commands: list[tuple[str, float | None]] = []
        self.notes: list[tuple[str, dict[str, JsonValue]]] = []
        self.handed_in: list[bool] = []
        self.closed: list[tuple[str, bool]] = []
        self.has_ended = False
        self.held = asyncio.Event()
        self.driven = self

    async def run(self, command: str, timeout_s: float | None) -> Observation:
        self.commands.append((command, timeout_s))
        if command == "hold":
            await self.held.wait()
        if command == "break":
            raise InfrastructureError("the sandbox is gone")
        if command == "late":
            raise UsageError("the 3 turns are spent")
        return Observation(output=f"did {command}", exit_code=0, seconds=0.12345)

    def note(self, kind: str, **fields: JsonValue) -> None:
        self.notes.append((kind, fields))

    async def submit(self, *, ends: bool) -> Any:
        self.handed_in.append(ends)

        def settled() -> Verdict:
            if isinstance(self.verdict, Exception):
                raise self.verdict
            return self.verdict

        return SimpleNamespace(settled=settled)

    async def close(self, how: str, *, by_client: bool) -> None:
        self.closed.append((how, by_client))


class Heard:
    """Keeps what a session tells."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.verdicts: list[Verdict] = []
        self.opened_after: list[float] = []

    def called(self, session: Session, tool: str, how: str, seconds: float) -> None:
        self.calls.append((tool, how))

    def graded(self, session: Session, verdict: Verdict) -> None:
        self.verdicts.append(verdict)

    def opened(self, session: Session, seconds: float) -> None:
        self.opened_after.append(seconds)

    def ended(self, session: Session, how: str) -> None:
        raise AssertionError("who holds the sessions says that one has ended")


@asynccontextmanager
async def _slot() -> AsyncIterator[None]:
    yield


async def begun(rules: Rules | None = None, fails: Exception | None = None) -> tuple[Session, Made, Heard]:
    """Return a session whose episode is open, or has failed to open."""
    made, heard = Made(), Heard()

    @asynccontextmanager
    async def opening(task: Task) -> AsyncIterator[OpenedEpisode]:
        assert task is TASK
        if fails is not None:
            raise fails
        yield cast("OpenedEpisode", made)

    session = Session("mine", "me", TASK, rules or Rules(), heard)
    assert (session.key, session.is_open, session.is_over, session.is_busy) == (None, False, False, False)
    session.begin(_slot, opening)
    if fails is None:
        await session.ready(5)
    return session, made, heard


async def answer(session: Session, name: str, **given: JsonValue) -> Answer:
    """Make a call and return its answer."""
    call = session.call(name, given)
    call.begin()
    assert await call.wait()
    return call.answer()


async def test_a_session_from_beginning_to_end() -> None:
    """Commands, one submission that ends it, and a close that changes nothing any more."""
    session, made, heard = await begun()
    assert (session.key, session.is_open, session.is_used, session.last_call) == ("a/3", True, False, None)
    said = await answer(session, "bash", command="ls", timeout_s=None)
    assert said == Answer(text="did ls", counts={"exit_code": 0, "seconds": 0.123})
    assert (session.is_used, session.finished, session.submitted) == (True, False, 0)
    done = await answer(session, "submit")
    assert done == Answer(
        text="Submitted. Score 0.5000: 1 of 2 passed.",
        reward=0.5,
        finished=True,
        counts={
            "status": "graded",
            "passed": 1,
            "total": 2,
            "grader": "strict 5",
            "tampered": False,
            "lost_at": ["test"],
        },
    )
    assert session.graded is done
    await session.over()
    assert (session.finished, session.submitted, session.is_over, session.is_open) == (True, 1, True, False)
    await session.close("the client ended it", by_client=True)
    assert made.commands == [("ls", 180.0)]
    assert made.handed_in == [True]
    assert made.notes == [
        ("graded", {"message": done.text, "status": "graded", "score": 0.5, "passed": 1, "total": 2})
    ]
    assert made.closed == [("the server was stopped before the episode had ended", False)]
    assert heard.calls == [("bash", "answered"), ("submit", "answered")]
    assert (heard.verdicts, len(heard.opened_after)) == ([HALF], 1)
    assert 0 <= heard.opened_after[0] < 60
    with pytest.raises(CallRefusedError, match=r"^the episode has ended; open another session$"):
        await answer(session, "bash", command="ls")
    assert heard.calls[-1] == ("bash", "episode_finished")


REFUSED: list[tuple[str, Mapping[str, JsonValue], str, str]] = [
    ("bash", {}, "input_validation", "bash takes `command`, a text"),
    ("bash", {"command": 3}, "input_validation", "bash takes `command`, a text"),
    ("bash", {"command": "ls", "cwd": "/"}, "input_validation", "bash takes `command` and `timeout_s`, not 'cwd'"),
    ("submit", {"now": True}, "input_validation", "submit takes nothing, not 'now'"),
    ("nano", {}, "not_found", "there is no tool 'nano'; call bash or submit"),
    ("n" * 101, {}, "not_found", f"there is no tool '{'n' * 100}'; call bash or submit"),
]  # fmt: skip


NO_TIME = "bash takes `timeout_s`, a number of seconds above 0"
BAD_TIMES: list[JsonValue] = [0, -1, True, "3", [3]]
REFUSED += [("bash", {"command": "ls", "timeout_s": bad}, "input_validation", NO_TIME) for bad in BAD_TIMES]


@pytest.mark.parametrize(("name", "given", "reason", "message"), REFUSED)
async def test_a_wrong_call_is_refused(
    name: str, given: Mapping[str, JsonValue], reason: str, message: str
) -> None:
    """With what would be right; nothing is done, and it is nobody's failure."""
    session, made, heard = await begun()
    with pytest.raises(CallRefusedError) as refused:
        await answer(session, name, **given)
    assert (refused.value.reason, str(refused.value)) == (reason, message)
    assert heard.calls == [(name if name in ("bash", "submit") else "other", reason)]
    assert (made.commands, made.handed_in) == ([], [])
    await session.close("the client ended it", by_client=True)
    assert made.closed == [("the client ended it", True)]


@pytest.mark.parametrize(("asked", "given"), [(None, 180.0), (7, 7.0), (0.5, 0.5), (1800, 1800.0), (9999, 1800.0)])
async def test_a_command_names_its_time(asked: float | None, given: float) -> None:
    """Up to what the server allows."""
    session, made, _ = await begun()
    await answer(session, "bash", command="make", timeout_s=asked)
    assert made.commands == [("make", given)]
    await session.close("over", by_client=False)


@pytest.mark.parametrize(
    ("rules", "texts", "ends"),
    [
        (Rules(submits=3), ["Score 0.5000: 1 of 2 passed. You may submit 2 more times.",
                            "Score 0.5000: 1 of 2 passed. You may submit once more.",
                            "Score 0.5000: 1 of 2 passed."], [False, False, True]),
        (Rules(submits=2, shows_scores=False), ["You may submit once more.", ""], [False, True]),
        (Rules(submits=None), ["Score 0.5000: 1 of 2 passed. You may go on."] * 2, [False, False]),
        (Rules(submits=None, reward="end"), ["You may go on."] * 2, [None, None]),
        (Rules(submits=2, reward="end"),
         ["You may submit once more.", "Score 0.5000: 1 of 2 passed."], [None, True]),
    ],
)  # fmt: skip
async def test_submissions_say_how_many_are_left(rules: Rules, texts: list[str], ends: list[bool | None]) -> None:
    """And what was passed, where scores are shown; without a reward nothing is graded."""
    session, made, heard = await begun(rules)
    said = [await answer(session, "submit") for _ in texts]
    assert [one.text for one in said] == [f"Submitted. {text}".rstrip() for text in texts]
    assert [one.reward for one in said] == [None if end is None else 0.5 for end in ends]
    assert made.handed_in == [end for end in ends if end is not None]
    assert (session.submitted, len(heard.verdicts)) == (len(texts), len(made.handed_in))
    kinds = [(kind, fields.get("number")) for kind, fields in made.notes]
    assert kinds == [("submitted", at) if end is None else ("graded", None) for at, end in enumerate(ends, 1)]
    await session.close("over", by_client=False)


async def test_finish_ends_an_episode_with_any_number_of_submissions() -> None:
    """It takes whatever a harness sends."""
    session, made, heard = await begun(Rules(submits=None, reward="end"))
    said = await answer(session, "finish", why="the model stopped")
    assert (said.finished, said.reward, made.handed_in) == (True, 0.5, [True])
    assert heard.calls == [("finish", "answered")]


async def test_what_ended_by_itself_is_submitted_for_good() -> None:
    """Such as an episode whose turns are spent: its command is answered, and is no failure."""
    session, made, heard = await begun(Rules(submits=3))
    assert (await answer(session, "bash", command="late")).text == "[not run: the 3 turns are spent]"
    made.has_ended = True
    assert (await answer(session, "submit")).finished
    assert heard.calls == [("bash", "answered"), ("submit", "answered")]


async def test_after_its_time_an_episode_is_only_submitted() -> None:
    """Nothing is run, and the first submission ends it."""
    session, made, _ = await begun(Rules(submits=3, limits=EpisodeLimits(wall_clock_s=1e-9)))
    said = await answer(session, "bash", command="ls")
    assert said.text == "[not run: the episode's time is over; call submit]"
    assert (await answer(session, "submit")).finished
    assert made.commands == []


async def test_a_cheat_has_a_reward_of_nothing() -> None:
    """And counts say that it was one."""
    session, made, _ = await begun()
    made.verdict = FOOLED
    said = await answer(session, "submit")
    assert said.reward == 0
    assert (said.counts["tampered"], said.counts["passed"], said.counts["total"]) == (True, None, None)


async def test_a_failure_of_the_machine_is_no_reward() -> None:
    """The session can go on, and its end says what broke, whoever ends it."""
    session, made, heard = await begun()
    with pytest.raises(InfrastructureError, match=r"^the sandbox is gone$"):
        await answer(session, "bash", command="break")
    made.verdict = InfrastructureError("the disk is full")
    with pytest.raises(UnrewardedError, match=r"^the disk is full$"):
        await answer(session, "submit")
    assert (session.finished, session.submitted) == (False, 0)
    await session.close("the client ended it", by_client=True)
    assert made.closed == [("the infrastructure failed: the disk is full", False)]
    assert heard.calls == [("bash", "failed"), ("submit", "failed")]


async def test_an_episode_that_does_not_open_says_why() -> None:
    """To whoever asks; the session is over."""
    session, _, heard = await begun(fails=InfrastructureError("no space"))
    with pytest.raises(UnrewardedError, match=r"^no space$"):
        await session.ready(5)
    assert (session.is_over, session.is_open, session.key, heard.opened_after) == (True, False, None, [])
    await session.close("over", by_client=False)


async def test_who_waits_for_an_episode_is_told_that_it_starts() -> None:
    """Waiting counts as being busy; a session that is closed meanwhile has ended."""
    session = Session("mine", "me", TASK, Rules(), Heard())
    never = asyncio.Event()

    @asynccontextmanager
    async def taken() -> AsyncIterator[None]:
        await never.wait()
        yield

    @asynccontextmanager
    async def opening(task: Task) -> AsyncIterator[OpenedEpisode]:
        yield cast("OpenedEpisode", Made())

    session.begin(taken, opening)
    before = session.seen_at = time.monotonic() - 100
    with pytest.raises(StartingError, match=r"^the episode waits for a slot, or for its environment; ask again$"):
        await session.ready(0.01)
    assert session.seen_at > before + 50
    waiting = asyncio.create_task(session.ready(60))
    await asyncio.sleep(0)
    assert session.is_busy
    await session.close("over", by_client=False)
    with pytest.raises(EndedError, match=r"^the session mine has ended$"):
        await waiting
    assert (session.is_busy, session.is_over) == (False, True)


async def test_a_closed_session_ends_the_call_that_runs() -> None:
    """Its client is told; a session that never began has nothing to end."""
    session, made, heard = await begun()
    call = session.call("bash", {"command": "hold"})
    call.begin()
    while not made.commands:  # noqa: ASYNC110 - the call runs in a task of its own
        await asyncio.sleep(0)
    assert session.is_busy
    await session.close("its client was silent", by_client=False)
    with pytest.raises(CallRefusedError, match=r"^the session was closed while the call ran$") as refused:
        call.answer()
    assert refused.value.reason == "episode_finished"
    assert made.closed == [("its client was silent", False)]
    assert heard.calls == [("bash", "failed")]
    other = Session("other", "me", TASK, Rules(), heard)
    await other.close("over", by_client=False)
    await other.over()
    assert not other.is_over


async def test_calls_are_done_one_after_the_other() -> None:
    """In the order in which they came."""
    session, made, _ = await begun()
    calls = [session.call("bash", {"command": word}) for word in ("hold", "b", "c")]
    for call in calls:
        call.begin()
    while not made.commands:  # noqa: ASYNC110 - the call runs in a task of its own
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [command for command, _ in made.commands] == ["hold"]
    made.held.set()
    for call in calls:
        assert await call.wait()
    assert [command for command, _ in made.commands] == ["hold", "b", "c"]
    await session.close("over", by_client=False)


async def test_a_lost_answer_is_given_to_who_asks_again() -> None:
    """The same call, by its id or its words, within a minute; it is not made twice."""
    session, made, _ = await begun()
    call = session.call("bash", {"command": "ls"})
    call.begin()
    call.begin()
    await call.wait()
    assert session.last_call is call
    assert session.call("bash", {"command": "ls"}) is not call  # its answer was not lost
    call = session.call("bash", {"command": "make"})
    assert (call.is_running, call.is_lost) == (False, False)
    call.begin()
    call.lost()
    assert (call.is_running, call.is_lost) == (True, True)
    assert session.call("bash", {"command": "make"}) is call
    assert (call.is_running, call.is_lost) == (True, False)
    await call.wait()
    call.lost()
    assert session.call("bash", {"command": "make", "timeout_s": 3}) is not call
    assert session.call("nothing", {}, call.id) is call
    with pytest.raises(KeyError):
        session.call("bash", {}, "0" * 32)
    assert made.commands == [("ls", 180.0), ("make", 180.0)]
    await session.close("over", by_client=False)


async def test_what_was_lost_for_long_is_not_meant_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """An equal call after a minute is another one, unless the first still runs."""

    async def work() -> Answer:
        await running.wait()
        return Answer(text="done")

    running = asyncio.Event()
    call = SessionCall("bash", {"b": 1, "a": [2]}, work)
    call.begin()
    call.lost()
    now = time.monotonic()
    monkeypatch.setattr("groundup.serving.session.time.monotonic", lambda: now + 59.0)
    assert call.is_wanted_by("bash", {"a": [2], "b": 1})
    monkeypatch.setattr("groundup.serving.session.time.monotonic", lambda: now + 61.0)
    assert call.is_wanted_by("bash", {"a": [2], "b": 1})
    assert not call.is_wanted_by("submit", {"a": [2], "b": 1})
    running.set()
    await call.wait()
    assert not call.is_wanted_by("bash", {"a": [2], "b": 1})
    monkeypatch.setattr("groundup.serving.session.time.monotonic", lambda: now + 59.0)
    assert call.is_wanted_by("bash", {"a": [2], "b": 1})


async def test_waiting_ends_with_who_waits() -> None:
    """Or after a time; the call goes on."""
    never = asyncio.Event()

    async def work() -> Answer:
        await never.wait()
        return Answer(text="done")

    call = SessionCall("bash", {}, work)
    await call.cancel()  # it has not begun: nothing to end
    call.begin()
    assert not await call.wait(0.01)
    leaving = asyncio.create_task(asyncio.sleep(0))
    assert not await call.wait(60, leaving)
    never.set()
    assert await call.wait(60)
    assert call.answer().text == "done"
