"""Slots, queues, silence, strangers, stops: what holds for every protocol."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import httpx
import pytest

from groundup.cli.listening import listening
from groundup.domain.errors import UsageError
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.runs import api
from groundup.runs.plan import RunOptions
from groundup.serving.session import EndedError, Rules, Session, StartingError
from groundup.serving.sessions import ExistsError, FullError, Room, Sessions, UnknownSessionError
from groundup.serving.staging import OpenedEpisode
from groundup.store.folder import RunFolder
from tests.episodes.theatre import FOREVER
from tests.serving.house import Client, job_in, opened, until
from tests.serving.test_session import TASK, Made


async def rewards(client: Client, sid: str, *words: str) -> list[tuple[float | None, bool]]:
    """Hand in several behaviours; return reward and end of each submit."""
    found = []
    for word in words:
        await client.bash(sid, f"behave {word}")
        output = (await client.call(sid, "submit"))["output"]
        found.append((output["reward"], output["finished"]))
    return found


async def open_soon(client: Client, sid: str) -> None:
    """Wait until the episode is open, however busy the machine is."""

    async def is_open() -> bool:
        return (await client.get("/prompt", sid)).status_code == 200

    await until(is_open)


async def test_every_submit_has_a_reward(tmp_path: Path) -> None:
    """As many as the server allows; each is a line of the run, and the last one counts."""
    async with opened(job_in(tmp_path, submits=3)) as house, Client(house.address) as client:
        sid = await client.create()
        assert await rewards(client, sid, "half", "pass", "half") == [(0.5, False), (1.0, False), (0.5, True)]
        assert house.scores() == [0.5, 1.0, 0.5]
        assert [line.try_number for line in house.lines()] == [1, 2, 3]


async def test_a_reward_may_come_at_the_end_only(tmp_path: Path) -> None:
    """Earlier submits are acknowledged and not graded; a model that stops is graded by the hidden tool."""
    async with opened(job_in(tmp_path, submits=0, reward_at_end=True)) as house, Client(house.address) as client:
        sid = await client.create()
        assert await rewards(client, sid, "pass", "half") == [(None, False), (None, False)]
        done = (await client.call(sid, "finish"))["output"]
        assert (done["reward"], done["finished"]) == (0.5, True)
        assert house.scores() == [0.5]


async def test_a_hidden_score_is_a_reward_all_the_same(tmp_path: Path) -> None:
    """The model's text says nothing of it."""
    async with opened(job_in(tmp_path, hide_scores=True)) as house, Client(house.address) as client:
        sid = await client.create()
        output = (await client.call(sid, "submit"))["output"]
        assert (output["reward"], output["blocks"][0]["text"]) == (0.0, "Submitted.")


async def test_beyond_its_turns_an_episode_is_only_submitted(tmp_path: Path) -> None:
    """The model reads that; what lies there is graded."""
    async with opened(job_in(tmp_path, max_turns=1)) as house, Client(house.address) as client:
        sid = await client.create()
        await client.bash(sid, "behave half")
        assert "turns of the episode" in await client.bash(sid, "behave pass")
        assert (await client.call(sid, "submit"))["output"]["reward"] == 0.5
        assert house.lines()[0].outcome is Outcome.LIMIT


async def test_sessions_wait_for_a_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are begun at once, told that they start, and open when another ends; beyond that all is refused."""
    monkeypatch.setattr("groundup.serving.ors.READY_S", 0.05)
    async with opened(job_in(tmp_path, slots=1, waiting=1)) as house, Client(house.address) as client:
        first = await client.create()
        await open_soon(client, first)
        second = await client.create(1)
        waiting = await client.get("/prompt", second)
        assert (waiting.status_code, waiting.headers["x-backend-state"]) == (503, "starting")
        full = await client.post("/create", {"split": "test", "index": 0}, "third")
        assert (full.status_code, full.headers["retry-after"]) == (503, "2")
        await client.call(first, "submit")  # a finished episode holds no slot
        await open_soon(client, second)
        assert len(house.service.sessions.all) == 2


async def test_a_client_has_its_own_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fills it does not keep others from opening episodes; their sessions are their own."""
    monkeypatch.setattr("groundup.serving.ors.READY_S", 0.05)
    job = job_in(tmp_path, client_slots=1, token="secret-one,secret-two")
    async with (
        opened(job) as house,
        Client(house.address, "secret-one") as one,
        Client(house.address, "secret-two") as two,
        Client(house.address) as stranger,
    ):
        first = await one.create()
        await open_soon(one, first)
        assert (await one.get("/prompt", await one.create())).status_code == 503
        await open_soon(two, await two.create())
        assert (await two.get("/prompt", first)).status_code == 404
        assert (await two.post("/delete", sid=first)).status_code == 200
        assert (await one.get("/prompt", first)).status_code == 200
        assert (await stranger.get("/splits")).status_code == 401
        assert (await stranger.get("/metrics")).status_code == 401
        assert (await stranger.get("/health")).status_code == 200
        told = str(house.events)
        assert "secret" not in told
        assert "token-" in told


async def test_pages_in_browsers_are_refused(tmp_path: Path) -> None:
    """A server without a token answers no page, which a user of this machine may have open."""
    async with opened(job_in(tmp_path)) as house, httpx.AsyncClient(trust_env=False) as browser:
        page = {"Origin": "http://example.org"}
        assert (await browser.post(f"{house.address}/create_session", headers=page)).status_code == 403


def test_strangers_need_a_token() -> None:
    """Without one only this machine is served."""
    with pytest.raises(UsageError, match="lets other machines in"):
        listening("0.0.0.0", 0, has_token=False)
    listening("0.0.0.0", 0, has_token=True).close()


async def test_a_silent_client_is_given_up(tmp_path: Path) -> None:
    """Its slot is free again and its episode is recorded without a score; a call in flight is no silence."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        silent, busy = await client.create(), await client.create(1)
        await client.bash(silent, "ls")
        running = asyncio.create_task(client.call(busy, "bash", command=FOREVER))

        async def is_busy() -> bool:
            return any(session.is_busy for session in house.service.sessions.all)

        await until(is_busy)
        for session in house.service.sessions.all:
            session.seen_at -= 2 * house.service.sessions.room.idle_s
        await house.service.sessions.give_up_silent()
        assert house.service.sessions.all[0].name == busy
        assert (await client.post("/ping", sid=silent)).status_code == 410
        assert [(line.outcome, line.attempt.task) for line in house.lines()] == [
            (Outcome.INFRASTRUCTURE, "task-0000")
        ]
        await client.post("/delete", sid=busy)
        await running


async def test_a_client_that_waits_for_a_slot_is_not_silent(tmp_path: Path) -> None:
    """However long it waits for one answer, it keeps its place; when the answer has come, its silence begins."""
    async with opened(job_in(tmp_path, slots=1)) as house, Client(house.address) as client:
        sessions, first = house.service.sessions, await client.create()
        await open_soon(client, first)
        second = await client.create(1)
        asking = asyncio.create_task(client.get("/prompt", second))
        (waits,) = (session for session in sessions.all if session.name == second)

        async def is_waiting() -> bool:
            return waits.is_busy

        await until(is_waiting)
        waits.seen_at -= 2 * sessions.room.idle_s
        await sessions.give_up_silent()
        await client.post("/delete", sid=first)
        assert (await asking).status_code == 200
        await sessions.give_up_silent()
        assert [session.name for session in sessions.all] == [second]


async def test_a_stopped_server_has_recorded_everything(tmp_path: Path) -> None:
    """Open episodes are interrupted, finished ones have their score; another start goes on with the folder."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        done, left = await client.create(), await client.create()
        await client.bash(done, "behave pass")
        await client.call(done, "submit")
        await client.bash(left, "ls")
    report = RunFolder(house.job.path)
    assert sorted((line.attempt.index, str(line.outcome)) for line in report.lines()) == [
        (0, "submitted"),
        (1, "infrastructure"),
    ]
    assert (report.path / "report.json").exists()
    assert not any(report.path.glob("scratch/*"))
    async with opened(job_in(tmp_path)) as again, Client(again.address) as client:
        await client.call(await client.create(), "submit")
        assert [line.attempt.index for line in again.lines()][-1] == 2
    assert report.config().planned.attempts == 3
    assert len(report.config().planned) == 3


async def test_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    """What it left open is recorded as interrupted by the next one."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        await client.bash(await client.create(), "ls")
        lines = house.job.path / "verdicts.jsonl"
    lines.write_bytes(b"")  # as if the process had been killed before it could write
    async with opened(job_in(tmp_path)) as again:
        assert [(line.attempt.index, line.outcome) for line in again.lines()] == [(0, Outcome.INFRASTRUCTURE)]


async def test_other_options_do_not_go_on_with_a_run(tmp_path: Path) -> None:
    """Results of one folder are made in one way; and `resume` says what to do instead."""
    async with opened(job_in(tmp_path)) as house:
        pass
    with pytest.raises(UsageError, match="submissions"):
        async with opened(job_in(tmp_path, submits=2)):
            pass
    with pytest.raises(UsageError, match="groundup serve"):
        api.Resumption(house.job.path, RunOptions(), house.job.settings).work()


async def test_numbers_and_events(tmp_path: Path) -> None:
    """Prometheus reads what happened; events name sessions and attempts and hold nobody's words."""
    async with opened(job_in(tmp_path)) as house, Client(house.address) as client:
        sid = await client.create()
        await client.bash(sid, "echo hidden-word")
        await client.call(sid, "submit")
        await client.post("/delete", sid=sid)
        text = (await client.get("/metrics")).text
    for line in (
        "groundup_slots 8",
        "groundup_sessions_open 0",
        'groundup_calls_total{how="answered",tool="bash"} 1',
        'groundup_call_seconds_count{tool="submit"} 1',
        "groundup_reward_count 1",
        'groundup_sessions_total{how="finished"} 1',
    ):
        assert f"{line}\n" in text
    assert [event["event"] for event in house.events] == ["opened", "called", "graded", "called", "ended"]
    assert {event.get("attempt") for event in house.events} == {"task-0000/0"}
    assert "hidden-word" not in str(house.events)


async def test_a_failed_opening_is_no_zero(tmp_path: Path) -> None:
    """The client learns of it, and the attempt is recorded without a score."""
    job = job_in(tmp_path)
    async with opened(job) as house, Client(house.address) as client:
        (house.job.path / "scratch").rmdir()
        (house.job.path / "scratch").write_text("in the way of every episode")
        sid = await client.create()
        assert (await client.get("/prompt", sid)).status_code == 500


async def test_no_reason_of_a_verdict_is_served(tmp_path: Path) -> None:
    """Reasons quote hidden tests: they are in the run, and in no answer, event, metric or trajectory."""
    async with opened(job_in(tmp_path, submits=2)) as house, Client(house.address) as client:
        sid = await client.create()
        heard = [(await client.get("/prompt", sid)).text]
        for word in ("half", "half"):
            heard.append(await client.bash(sid, f"behave {word}"))
            heard.append(str(await client.call(sid, "submit")))
        heard += [str(await client.call(sid, "bash")), (await client.get("/metrics")).text, str(house.events)]
    assert "one failed" in str(house.lines())
    trajectories = [path.read_text() for path in house.job.path.rglob("*trajectory*") if path.is_file()]
    assert trajectories
    assert not any("one failed" in text for text in [*heard, *trajectories])


# --- the sessions by themselves, over episodes made up in test_session


class Ends:
    """Hears how sessions end."""

    def __init__(self) -> None:
        self.how: list[tuple[str, str]] = []

    def called(self, session: Session, tool: str, how: str, seconds: float) -> None:
        """Hear of a call."""

    def graded(self, session: Session, verdict: Verdict) -> None:
        """Hear of a verdict."""

    def opened(self, session: Session, seconds: float) -> None:
        """Hear of an opening."""

    def ended(self, session: Session, how: str) -> None:
        """Keep it."""
        self.how.append((session.name, how))


def sessions_in(room: Room, clients: int = 1) -> tuple[Sessions, Ends, list[Made]]:
    """Return sessions whose episodes open at once, who hears of their ends, and the episodes."""
    made: list[Made] = []

    @asynccontextmanager
    async def opening(task: Task) -> AsyncIterator[OpenedEpisode]:
        made.append(Made())
        yield cast("OpenedEpisode", made[-1])

    ends = Ends()
    return Sessions(room, Rules(), opening, ends, clients=clients), ends, made


async def test_a_session_is_begun_once_and_ended_for_good() -> None:
    """Asked for again it is the same one while nothing was done in it; each end has its sentence."""
    sessions, ends, made = sessions_in(Room())
    first = sessions.create("a", "me", TASK)
    assert sessions.create("a", "me", TASK) is first
    with pytest.raises(ExistsError, match=r"\Athe session exists; ask for a new one\Z"):
        sessions.create("a", "me", TASK.but(id="b"))
    await first.ready(5)
    first.call("bash", {"command": "ls"})
    with pytest.raises(ExistsError):
        sessions.create("a", "me", TASK)
    theirs = sessions.create("a", "you", TASK)
    assert sessions.all == (first, theirs)
    assert sessions.find("a", "you") is theirs
    for name, client in (("b", "me"), ("a", "they")):
        with pytest.raises(UnknownSessionError, match=r"\Athere is no such session; create it first\Z"):
            sessions.find(name, client)
    await sessions.end("b", "me")
    assert ends.how == []
    await sessions.end("a", "me")
    await sessions.end("a", "me")
    assert (ends.how, made[0].closed) == ([("a", "the client ended it")], [("the client ended it", True)])
    with pytest.raises(EndedError, match=r"\Athe session a has ended\Z"):
        sessions.find("a", "me")
    with pytest.raises(EndedError, match=r"\Athe session a has ended; ask for a new one\Z"):
        sessions.create("a", "me", TASK)
    await theirs.ready(5)
    await sessions.close()
    stopped = "the server was stopped before the episode had ended"
    assert (ends.how[1:], made[1].closed) == ([("a", stopped)], [(stopped, False)])
    with pytest.raises(FullError, match=r"\Athe server is stopping\Z"):
        sessions.create("c", "me", TASK)


async def test_how_many_may_wait() -> None:
    """So many beside the open ones, of each client its share, rounded up; slots that are free count as room."""
    sessions, _, made = sessions_in(Room(slots=1, waiting=3), clients=2)
    first = sessions.create("0", "me", TASK)
    await first.ready(5)
    assert (sessions.open, sessions.waiting) == (1, 0)
    for name in ("1", "2"):
        sessions.create(name, "me", TASK)
    with pytest.raises(FullError) as caught:
        sessions.create("3", "me", TASK)
    assert str(caught.value) == "2 of your sessions wait; the other places are for other clients"
    sessions.create("1", "you", TASK)
    with pytest.raises(FullError) as caught:
        sessions.create("2", "you", TASK)
    assert str(caught.value) == "1 session may be open at once, and 3 wait"
    assert (sessions.open, sessions.waiting, len(made)) == (1, 3, 1)
    await sessions.end("0", "me")
    await sessions.find("1", "me").ready(5)
    assert (sessions.open, sessions.waiting, len(made)) == (1, 2, 2)
    await sessions.close()
    empty, _, _ = sessions_in(Room(slots=2, waiting=0))
    for name in ("0", "1"):
        empty.create(name, "me", TASK)
    with pytest.raises(FullError) as caught:
        empty.create("2", "me", TASK)
    assert str(caught.value) == "2 sessions may be open at once, and 2 wait", "those that wait are about to begin"
    await empty.close()


async def test_silence_has_a_length() -> None:
    """Who was heard within it stays, and so does who waits for an answer."""
    sessions, ends, made = sessions_in(Room(idle_s=90.0))
    for name in ("silent", "heard", "busy"):
        await sessions.create(name, "me", TASK).ready(5)
    silent, heard, busy = sessions.all
    busy.call("bash", {"command": "hold"}).begin()
    silent.seen_at -= 91.0
    busy.seen_at -= 91.0
    heard.seen_at -= 60.0
    await sessions.give_up_silent()
    assert ends.how == [("silent", "its client was silent for 90 s")]
    assert made[0].closed == [("its client was silent for 90 s", False)]
    assert sessions.all == (heard, busy)
    heard.seen_at -= 60.0
    assert sessions.find("heard", "me") is heard
    await sessions.give_up_silent()
    assert sessions.all == (heard, busy), "being asked for is being heard"
    made[2].held.set()
    sessions.drain()
    await sessions.close()
    await sessions.drained()


async def test_a_client_of_few_slots_waits_apart() -> None:
    """Others go on."""
    sessions, _, made = sessions_in(Room(slots=3, client_slots=1))
    first, second = (sessions.create(name, "me", TASK) for name in "ab")
    other = sessions.create("a", "you", TASK)
    await first.ready(5)
    await other.ready(5)
    with pytest.raises(StartingError):
        await second.ready(0.01)
    assert len(made) == 2
    await sessions.end("a", "me")
    await second.ready(5)
    await sessions.close()
