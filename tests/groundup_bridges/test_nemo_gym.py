"""NeMo Gym's three calls, by hand."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from groundup.serving.http import Gate
from groundup_bridges.nemo_gym import NemoGym
from tests.serving.house import Client, Hold, House, job_in, opened, until


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A server."""
    async with opened(job_in(tmp_path)) as found:
        yield found


async def test_a_row_gets_its_reward(house: House) -> None:
    """Seed, tools, verify, by the cookie; the row comes back with reward and counts."""
    async with httpx.AsyncClient(base_url=house.address, trust_env=False) as http:
        rows = [json.loads(line) for line in (await http.get("/rows")).text.splitlines()]
        assert [row["task"] for row in rows] == ["task-0000", "task-0001"]
        assert [tool["name"] for tool in rows[0]["responses_create_params"]["tools"]] == ["bash", "submit"]
        assert (await http.post("/bash", json={"command": "ls"})).status_code == 400
        assert (await http.post("/seed_session", json=rows[0])).json() == {}
        assert (await http.post("/bash", json={"command": "behave half"})).json() == {
            "output": "done\n[exit code 0]"
        }
        assert "bash takes" in (await http.post("/bash", json={})).json()["output"]
        verified = (await http.post("/verify", json={**rows[0], "response": {"id": "1"}})).json()
        assert verified == {**rows[0], "response": {"id": "1"}, "reward": 0.5, "passed": 1.0, "total": 2.0}
    assert house.scores() == [0.5]


async def test_a_submitted_row_is_not_graded_again(house: House) -> None:
    """The reward is that of the submit."""
    async with httpx.AsyncClient(base_url=house.address, trust_env=False) as http:
        await http.post("/seed_session", json={"task": "task-0001"})
        await http.post("/bash", json={"command": "behave pass"})
        assert "Score 1.0000" in (await http.post("/submit", json={})).json()["output"]
        assert (await http.post("/verify", json={})).json()["reward"] == 1.0
    assert house.scores() == [1.0]


async def test_a_row_may_hold_what_is_no_strict_json(house: House) -> None:
    """Log-probabilities of -Infinity and half a pair of surrogates come back, and the reward with them."""
    async with httpx.AsyncClient(base_url=house.address, trust_env=False) as http:
        await http.post("/seed_session", json={"task": "task-0001"})
        await http.post("/bash", json={"command": "behave pass"})
        answer = await http.post("/verify", content=b'{"logprob": -Infinity, "said": "\\ud83d"}')
        assert json.loads(answer.text) == {
            "logprob": float("-inf"),
            "said": "\ud83d",
            "reward": 1.0,
            "passed": 2.0,
            "total": 2.0,
        }


async def test_a_failed_grading_has_no_reward(house: House) -> None:
    """The caller gets an error."""
    async with httpx.AsyncClient(base_url=house.address, trust_env=False) as http:
        await http.post("/seed_session", json={"task": "task-0001"})
        await http.post("/bash", json={"command": "behave infrastructure"})
        answer = await http.post("/verify", json={})
        assert answer.status_code == 500
        assert "reward" not in answer.json()


async def test_what_opens_slowly_is_asked_for_again(tmp_path: Path) -> None:
    """The answer 503 has the cookie of the session that waits; asking again with it makes no second one."""
    async with opened(job_in(tmp_path, slots=1)) as house:
        app = Gate(Starlette(routes=NemoGym(house.service, open_s=0.0).routes()))
        transport = httpx.ASGITransport(app)
        async with Client(house.address) as other:
            sid = await other.create()
            await other.get("/prompt", sid)
            async with httpx.AsyncClient(base_url="http://localhost", transport=transport) as http:
                asked = [await http.post("/seed_session", json={"task": "task-0001"}) for _ in range(3)]
                assert [answer.status_code for answer in asked] == [503, 503, 503]
                assert asked[0].headers["x-backend-state"] == "starting"
                assert house.service.sessions.waiting == 1
                await other.post("/delete", sid=sid)

                async def is_open() -> bool:
                    return (await http.post("/seed_session", json={"task": "task-0001"})).status_code == 200

                await until(is_open)
                assert (await http.post("/verify", json={})).json()["reward"] == 0.0
    assert house.scores() == [None, 0.0]


async def test_every_answer_brings_the_cookie(tmp_path: Path) -> None:
    """NeMo Gym's agents send what the latest answer brought, and nothing else."""
    async with opened(job_in(tmp_path)) as house:
        row, cookies = {"task": "task-0001"}, dict[str, str]()
        for path, body in (("seed_session", row), ("bash", {"command": "ls"}), ("bash", {}), ("submit", {})):
            async with httpx.AsyncClient(base_url=house.address, trust_env=False, cookies=cookies) as http:
                answer = await http.post(f"/{path}", json=body)
                assert answer.status_code == 200
                cookies = dict(answer.cookies)


async def test_a_lost_call_is_not_made_again(tmp_path: Path) -> None:
    """NeMo Gym's client repeats a request whose connection broke; the command runs once."""
    Hold.over = asyncio.Event()
    async with opened(job_in(tmp_path)) as house:
        seeded = await asyncio.to_thread(
            httpx.post, f"{house.address}/seed_session", json={"task": "task-0001"}, trust_env=False
        )
        async with httpx.AsyncClient(base_url=house.address, trust_env=False, cookies=seeded.cookies) as http:
            first = asyncio.create_task(http.post("/bash", json={"command": "held"}))

            async def runs() -> bool:
                call = house.service.sessions.all[0].last_call
                return call is not None and call.is_running

            await until(runs)
            first.cancel()

            async def is_noticed() -> bool:
                call = house.service.sessions.all[0].last_call
                return call is not None and call.is_lost

            await until(is_noticed)
            again = asyncio.create_task(http.post("/bash", json={"command": "held"}))
            await asyncio.sleep(0)
            Hold.over.set()
            assert (await again).json() == {"output": "done\n[exit code 0]"}
            await http.post("/verify", json={})
        commands = house.job.path / "attempts" / "task-0001" / "0" / "submission" / "commands"
        assert len(commands.read_text().splitlines()) == 1


async def test_figures_are_those_of_nemo_gyms_own_servers(house: House) -> None:
    """Mean, max, min, median and deviation of each figure, by task and of all; other bodies are refused."""
    rows = [
        {"_ng_task_index": task, "reward": reward, "passed": reward * 2, "total": 2}
        for task, reward in ((0, 1.0), (0, 0.5), (1, 0.0))
    ]
    async with httpx.AsyncClient(base_url=house.address, trust_env=False) as http:
        found = (await http.post("/aggregate_metrics", json={"verify_responses": rows})).json()
        assert found["key_metrics"] == {"mean/reward": 0.5, "mean/passed": 1.0, "mean/total": 2.0}
        overall = {name: found["agent_metrics"][f"{name}/reward"] for name in ("max", "min", "median", "std")}
        assert overall == {"max": 1.0, "min": 0.0, "median": 0.5, "std": 0.5}
        first, second = found["group_level_metrics"]
        assert (first["_ng_task_index"], first["mean/reward"], second["std/reward"]) == (0, 0.75, 0.0)
        nothing = (await http.post("/aggregate_metrics", json={"verify_responses": []})).json()
        assert nothing == {"group_level_metrics": [], "agent_metrics": {}, "key_metrics": {}}
        assert (await http.post("/aggregate_metrics", json={"verify_responses": [1]})).status_code == 400


async def test_rows_name_the_agent_of_the_configuration(house: House) -> None:
    """Which names this server by the address that it was asked by."""
    async with httpx.AsyncClient(base_url=house.address, trust_env=False) as http:
        row = json.loads((await http.get("/rows")).text.splitlines()[0])
        text = (await http.get("/nemo_gym.yaml")).text
        assert f"\n{row['agent_ref']['name']}:\n  responses_api_agents:" in text
        port = house.address.rpartition(":")[2]
        assert f'groundup: {{host: "127.0.0.1", port: {port}, domain: coding, entrypoint: app.py}}' in text
