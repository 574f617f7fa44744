"""OpenEnv over a WebSocket, by hand."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedOK

from groundup.domain.subjects import Outcome
from tests.serving.house import House, job_in, opened, until


@asynccontextmanager
async def player(house: House, **options: Any) -> AsyncIterator["Player"]:
    """Connect."""
    async with connect(house.address.replace("http", "ws") + "/ws", proxy=None, **options) as socket:
        yield Player(socket)


class Player:
    """Sends messages and reads what answers them."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, kind: str, **data: object) -> dict[str, Any]:
        """Return the answer's data, or its error."""
        await self.socket.send(json.dumps({"type": kind, "data": data}))
        answer = json.loads(await self.socket.recv())
        return answer["data"] if answer["type"] != "error" else {"error": answer["data"]["code"]}

    async def step(self, **action: object) -> tuple[str, float | None, bool]:
        """Return output, reward and end."""
        data = await self.send("step", **action)
        return data["observation"]["output"], data["reward"], data["done"]


async def test_an_episode_is_played(tmp_path: Path) -> None:
    """From reset to the reward, which is told once; a second reset begins another."""
    async with opened(job_in(tmp_path)) as house, player(house) as env:
        seen = await env.send("reset", split="test", index=1, seed=None)
        assert seen["observation"]["prompt"].startswith("Write task-0001.")
        assert (seen["reward"], seen["done"]) == (None, False)
        assert await env.step(tool="bash", command="behave half", timeout_s=None) == (
            "done\n[exit code 0]",
            None,
            False,
        )
        assert await env.step(tool="submit") == ("Submitted. Score 0.5000: 1 of 2 passed.", 0.5, True)
        output, reward, done = await env.step(tool="bash", command="ls")
        assert ("has ended" in output, reward, done) == (True, None, True)
        assert (await env.send("state"))["step_count"] == 3
        assert (await env.send("reset", task="task-0000"))["done"] is False
        assert (await env.send("close"))["task"] == "task-0000"
    assert sorted((str(line.attempt), str(line.outcome)) for line in house.lines()) == [
        ("task-0000/0", "not_attempted"),
        ("task-0001/0", "submitted"),
    ]


async def test_no_step_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes longer is waited for with another action, also a submit; nothing else is begun meanwhile."""
    async with opened(job_in(tmp_path)) as house, player(house) as env:
        await env.send("reset")
        await env.step(tool="bash", command="behave sleep 0.3")
        monkeypatch.setattr("groundup_bridges.openenv.STEP_S", 0.01)
        output, reward, done = await env.step(tool="submit")
        assert ("still running" in output, reward, done) == (True, None, False)
        assert "was not called" in (await env.step(tool="submit"))[0]
        monkeypatch.setattr("groundup_bridges.openenv.STEP_S", 45.0)
        assert (await env.step(tool="wait"))[1:] == (1.0, True)
        assert await env.send("step", tool="wait") == {"error": "VALIDATION_ERROR"}
        assert house.scores() == [1.0]


async def test_a_new_connection_has_no_episode(tmp_path: Path) -> None:
    """A step without reset is an error, not an empty session; the lost episode is recorded as interrupted."""
    async with opened(job_in(tmp_path)) as house:
        async with player(house) as env:
            await env.send("reset")
            env.socket.transport.abort()
        async with player(house) as env:
            assert await env.send("step", tool="bash", command="ls") == {"error": "SESSION_ERROR"}

            async def is_recorded() -> bool:
                return bool(house.lines())

            await until(is_recorded)
        assert [line.outcome for line in house.lines()] == [Outcome.INFRASTRUCTURE]


async def test_wrong_messages_are_answered(tmp_path: Path) -> None:
    """Each by its code; the connection stays."""
    async with opened(job_in(tmp_path, slots=1, waiting=0)) as house, player(house) as env, player(house) as late:
        await env.socket.send("{")
        assert json.loads(await env.socket.recv())["data"]["code"] == "INVALID_JSON"
        assert await env.send("dance") == {"error": "UNKNOWN_TYPE"}
        assert await env.send("reset", split="none") == {"error": "VALIDATION_ERROR"}
        assert "observation" in await env.send("reset")
        assert await env.send("step", command="ls") == {"error": "VALIDATION_ERROR"}
        assert await late.send("reset") == {"error": "CAPACITY_REACHED"}


async def test_it_describes_itself(tmp_path: Path) -> None:
    """Schema and metadata, and a health of its own below its prefix; a token is asked for on sockets, too."""
    job = job_in(tmp_path, token="secret")
    async with opened(job) as house, httpx.AsyncClient(base_url=house.address, trust_env=False) as http:
        assert (await http.get("/openenv/health")).json() == {"status": "healthy"}
        token = {"Authorization": "Bearer secret"}
        assert set((await http.get("/schema", headers=token)).json()) == {"action", "observation", "state"}
        assert (await http.get("/metadata", headers=token)).json()["name"] == "toy"
        with pytest.raises(Exception, match="403"):
            async with player(house):
                pass
        async with player(house, additional_headers=token) as env:
            assert "observation" in await env.send("reset")


async def test_a_message_of_bytes_ends_the_connection(tmp_path: Path) -> None:
    """And the episode with it; nothing crashes."""
    async with opened(job_in(tmp_path)) as house:
        async with player(house) as one:
            await one.send("reset", index=0)
            await one.socket.send(b"bytes")
            with pytest.raises(ConnectionClosedOK):
                await one.socket.recv()

        async def is_over() -> bool:
            return house.service.sessions.all == ()

        await until(is_over)
