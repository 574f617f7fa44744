"""The Open Reward Standard, by hand: every endpoint, whole episodes, broken streams."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.subjects import Outcome
from groundup.domain.verdicts import Status
from tests.episodes.theatre import FOREVER
from tests.serving.house import Client, House, events, job_in, joined, opened, until


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A server."""
    async with opened(job_in(tmp_path)) as found:
        yield found


@pytest.fixture
async def client(house: House) -> AsyncIterator[Client]:
    """Its client."""
    async with Client(house.address) as found:
        yield found


@pytest.mark.parametrize("below", ["", "/toy"])
async def test_it_says_what_there_is(client: Client, below: str) -> None:
    """Splits, tasks and tools come without a session, bare and below the environment's name."""
    assert (await client.get(f"{below}/splits")).json() == [{"name": "test", "type": "test"}]
    assert (await client.post(f"{below}/num_tasks", {"split": "test"})).json() == {"num_tasks": 2}
    first, second = ({"task": f"task-000{n}", "suite": "toy", "data_version": "1"} for n in (0, 1))
    assert (await client.post(f"{below}/tasks", {"split": "test"})).json() == {
        "tasks": [first, second],
        "env_name": "toy",
    }
    assert (await client.post(f"{below}/task", {"split": "test", "index": 1})).json()["task"] == second
    ranged = await client.post(f"{below}/task_range", {"split": "test", "start": -1, "stop": None})
    assert ranged.json()["tasks"] == [second]
    tools = (await client.get(f"{below}/tools")).json()
    assert [tool["name"] for tool in tools["tools"]] == ["bash", "submit"]
    assert tools["terminal_tool"]["name"] == "finish"
    for body in ({"split": "none", "index": 0}, {"split": "test", "index": 2}, {"split": "test"}):
        assert (await client.post(f"{below}/task", body)).status_code == 400


async def test_what_names_no_task_is_refused_in_words(client: Client) -> None:
    """An index below 0 is a trainer's mistake, not the last task; a split that is left out is called so."""
    refused = await client.post("/task", {"split": "test", "index": -1})
    assert refused.json()["detail"] == "Invalid index: there is no -1; test has 2 tasks, counted from 0"
    for path, body in (("/tasks", {}), ("/task", {"index": 0}), ("/create", {"index": 0})):
        refused = await client.post(path, body, "mine")
        assert (refused.status_code, refused.json()["detail"]) == (
            400,
            "Invalid split: none is named; there is test",
        )


async def test_it_says_who_it_is(client: Client) -> None:
    """Health, version, environments and secrets are those of the standard."""
    assert (await client.get("/health")).json() == {"status": "ok"}
    assert set((await client.get("/version")).json()) == {"version", "build_sha"}
    assert (await client.get("/list_environments")).json() == ["toy"]
    assert (await client.get("/v1/environments/me/toy/required-secrets")).json() == {"secrets": []}


async def test_an_episode_is_played_to_its_reward(client: Client, house: House) -> None:
    """The reward is the grader's share, it is on the disk, and nothing follows it."""
    sid = await client.create()
    prompt = (await client.get("/prompt", sid)).json()
    assert prompt[0]["text"].startswith("Write task-0000.")
    assert (await client.post("/ping", sid=sid)).json() == {"status": "ok"}
    assert await client.bash(sid, "behave half") == "done\n[exit code 0]"
    done = await client.call(sid, "submit")
    assert done["output"]["reward"] == 0.5
    assert done["output"]["finished"] is True
    assert done["output"]["blocks"][0]["text"] == "Submitted. Score 0.5000: 1 of 2 passed."
    assert (done["output"]["metadata"]["passed"], done["output"]["metadata"]["total"]) == (1, 2)
    assert house.scores() == [0.5]
    again = await client.call(sid, "bash", command="ls")
    assert (again["ok"], again["reason"]) == (False, "episode_finished")
    for _ in range(2):
        assert (await client.post("/delete", sid=sid)).json() == {"sid": sid}
    assert (await client.post("/delete_session", sid=sid)).json() == {"sid": sid}
    assert (await client.post("/ping", sid=sid)).status_code == 410


async def test_a_task_is_named_by_its_record(client: Client) -> None:
    """What `/tasks` gave opens an episode; nulls are as good as absent; another version of the data is refused."""
    record = (await client.post("/tasks", {"split": "test"})).json()["tasks"][1]
    body = {"env_name": "toy", "task_spec": record, "split": None, "index": None}
    assert (await client.post("/create", body, "mine")).status_code == 200
    assert (await client.get("/prompt", "mine")).json()[0]["text"].startswith("Write task-0001.")
    assert (await client.post("/create", body, "mine")).status_code == 200  # as if the first answer was lost
    other = {**body, "task_spec": {**record, "data_version": "2"}}
    assert "data_version is '1' here" in (await client.post("/create", other, "other")).json()["detail"]
    assert (await client.call("mine", "bash", command="ls", timeout_s=None))["ok"] is True
    assert (await client.post("/create", body, "mine")).status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/create", 404),  # of another environment
        ("POST", "/toy/call", 400),  # without a session
        ("GET", "/nothing", 404),
        ("GET", "/create", 405),
        ("POST", "/toy/prompt", 405),
        ("GET", "/v1/environments/us/toy/required-secrets", 200),
    ],
)
async def test_errors_have_a_detail(client: Client, method: str, path: str, status: int) -> None:
    """SDKs show `detail` of every error, whichever way it came about."""
    sid = {"X-Session-ID": "mine"} if path == "/create" else {}
    seen = await client.http.request(method, path, json={"env_name": "other"}, headers=sid)
    assert seen.status_code == status
    assert status == 200 or seen.json()["detail"]


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("python", {}, "not_found"),
        ("bash", {}, "input_validation"),
        ("bash", {"command": 3}, "input_validation"),
        ("bash", {"command": "ls", "timeout_s": 0}, "input_validation"),
        ("bash", {"command": "ls", "cwd": "/"}, "input_validation"),
        ("submit", {"answer": "x"}, "input_validation"),
    ],
)
async def test_a_wrong_call_is_answered(client: Client, name: str, given: dict[str, object], reason: str) -> None:
    """The agent learns what was wrong; the episode goes on."""
    sid = await client.create()
    answer = await client.call(sid, name, None, **given)
    assert (answer["ok"], answer["reason"]) == (False, reason)
    assert await client.bash(sid, "ls") == "done\n[exit code 0]"


async def test_no_length_of_time_is_too_large(client: Client) -> None:
    """A number that no float holds is the longest time; as a failure it would let a model void its episode."""
    sid = await client.create()
    answer = await client.call(sid, "bash", None, command="ls", timeout_s=10**400)
    assert answer["output"]["blocks"][0]["text"] == "done\n[exit code 0]"


@pytest.mark.parametrize("fault", ["infrastructure", "crash", "task"])
async def test_a_failed_grading_is_no_reward(client: Client, house: House, fault: str) -> None:
    """The call ends with an error event, and the record has no score."""
    sid = await client.create()
    await client.bash(sid, f"behave {fault}")
    assert "could not be graded" in (await client.call(sid, "submit"))["error event"]
    await client.post("/delete", sid=sid)
    assert house.scores() == [None]
    verdict = house.lines()[0].verdict
    assert verdict is not None
    assert verdict.status is Status.INFRASTRUCTURE


async def test_leaving_without_a_submit_is_recorded(client: Client, house: House) -> None:
    """It counts as not attempted; one that only waited for a slot is no attempt at all."""
    sid = await client.create()
    await client.bash(sid, "ls")
    await client.post("/delete", sid=sid)
    assert [line.outcome for line in house.lines()] == [Outcome.NOT_ATTEMPTED]


async def _broken(client: Client, sid: str, body: dict[str, object], after: int) -> str | None:
    """Begin a call, drop its stream after so many lines, and return its id if it came."""
    lines: list[str] = []
    headers = {"X-Session-ID": sid}
    async with client.http.stream("POST", "/call", json=body, headers=headers) as response:
        if after:
            async for line in response.aiter_lines():
                lines.append(line)
                if len(lines) >= after:
                    break
    return lines[1].partition(": ")[2] if len(lines) > 1 else None


async def test_a_broken_stream_is_joined(client: Client, house: House) -> None:
    """With its id or without, the command that still runs is waited for and not run twice."""
    sid = await client.create()
    await client.bash(sid, "behave sleep 0.5")
    call: dict[str, object] = {"name": "submit", "input": {}}
    task_id = await _broken(client, sid, call, after=3)
    assert task_id
    for given in ({}, {"task_id": task_id}):
        answer = joined((await client.post("/call", {**call, **given}, sid)).text)
        assert answer["output"]["finished"] is True
    assert len(house.lines()) == 1
    assert len((house.job.settings.cache_dir.parent / "gradings" / "task-0000").read_text().splitlines()) == 1


async def test_results_are_kept(client: Client) -> None:
    """The same id gives the same answer until the session ends; an unknown one is an error."""
    sid = await client.create()
    stream = (await client.post("/call", {"name": "bash", "input": {"command": "ls"}}, sid)).text
    task_id = dict(events(stream))["task_id"]
    assert await client.call(sid, "anything", task_id=task_id) == joined(stream)
    assert "no call of that id" in (await client.call(sid, "bash", task_id="none"))["error event"]


async def test_equal_calls_are_made_twice(client: Client, house: House) -> None:
    """Only an answer that was lost is given to an equal call."""
    sid = await client.create()
    for _ in range(2):
        await client.bash(sid, "ls")
    assert (await client.call(sid, "submit"))["ok"]
    kept = house.job.path / "attempts" / "task-0000" / "0" / "submission" / "commands"
    assert len(kept.read_text().splitlines()) == 2


@pytest.mark.parametrize("text", ["   " * 7000, "x " * 8000, "日本 \U0001f600 \u2028 \r\n\t" * 500, " " * 16000])
def test_no_text_is_damaged_on_the_way(text: str) -> None:
    """White space at a chunk's start, long texts and other alphabets arrive as they were; lines stay short."""
    from groundup.serving.ors import answer_events

    stream = b"".join(answer_events({"text": text}))
    assert max(map(len, stream.splitlines())) < 64 * 1024
    assert joined(f"event: task_id\ndata: 1\n\n{stream.decode('ascii')}") == {"text": text}


async def test_a_waiting_call_is_not_silent(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments come while a call runs."""
    monkeypatch.setattr("groundup.serving.ors.COMMENT_S", 0.05)
    sid = await client.create()
    await client.bash(sid, "behave sleep 0.3")
    assert ": working\n\n" in (await client.post("/call", {"name": "submit", "input": {}}, sid)).text


async def test_a_closed_session_ends_its_call(client: Client, house: House) -> None:
    """A call in flight ends at once; the episode is recorded as left by its client."""
    sid = await client.create()
    running = asyncio.create_task(client.call(sid, "bash", command=FOREVER))

    async def runs() -> bool:
        call = house.service.sessions.all[0].last_call
        return call is not None and call.is_running

    await until(runs)
    await client.post("/delete", sid=sid)
    assert (await running)["reason"] == "episode_finished"
    assert house.service.sessions.all == ()


@pytest.mark.parametrize(("sid", "status"), [("", 400), ("x" * 201, 400), ("x" * 200, 404), ("x", 404)])
async def test_a_session_has_a_name_of_some_length(client: Client, sid: str, status: int) -> None:
    """In its header."""
    refused = await client.post("/ping", sid=sid)
    assert refused.status_code == status
    assert refused.json()["detail"] == (
        "the header X-Session-ID names a session" if status == 400 else "there is no such session; create it first"
    )


async def test_the_prompt_is_a_block_and_a_message(client: Client) -> None:
    """The same text; and the tools of a session are those of all."""
    sid = await client.create()
    (block,) = (await client.get("/prompt", sid)).json()
    assert (block["type"], block["detail"]) == ("text", None)
    assert block["text"].startswith("Write task-0000.")
    assert (await client.get("/messages", sid)).json() == [{"role": "user", "blocks": [block], "detail": None}]
    assert (await client.get("/task_tools", sid)).json() == (await client.get("/tools")).json()
    assert (await client.get("/task_tools", "other")).status_code == 404
    secrets = await client.get("/v1/environments/me/toy/required-secrets")
    assert secrets.json() == {"secrets": []}
    assert (await client.post("/ping", sid=sid)).json() == {"status": "ok"}
    assert (await client.post("/delete_session", sid=sid)).json() == {"sid": sid}
    call = await client.post("/call", {"name": "bash", "input": {"command": "ls"}, "task_id": "x"}, sid)
    assert call.status_code == 410


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"input": {}}, "a call has `name`, a text, and `input`, an object"),
        ({"name": "bash", "input": []}, "a call has `name`, a text, and `input`, an object"),
        ({"name": 3}, "name is a text"),
        ({"name": "bash", "task_id": 3}, "task_id is a text"),
    ],
)
async def test_a_call_that_is_none_is_refused_in_words(client: Client, body: dict[str, object], says: str) -> None:
    """Before anything is done."""
    refused = await client.post("/call", body, await client.create())
    assert (refused.status_code, refused.json()["detail"]) == (400, says)
