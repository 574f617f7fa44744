"""MCP by the official SDK's client."""

from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from tests.serving.house import job_in, opened

Client = pytest.importorskip("mcp").Client


async def test_an_episode_is_played(tmp_path: Path) -> None:
    """The address names task and episode; tools do the work, and the reward comes beside the text."""
    async with opened(job_in(tmp_path)) as house:
        async with Client(f"{house.address}/mcp/task-0001/mine") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["bash", "submit"]
            asked = (await client.get_prompt("task")).messages[0].content
            assert asked.text.startswith("Write task-0001.")
            seen = await client.call_tool("bash", {"command": "behave half"})
            assert (seen.content[0].text, seen.is_error) == ("done\n[exit code 0]", False)
            assert (await client.call_tool("bash", {})).is_error
        async with Client(f"{house.address}/mcp/task-0001/mine") as client:  # the same episode, another connection
            done = await client.call_tool("submit", {})
            assert done.content[0].text == "Submitted. Score 0.5000: 1 of 2 passed."
            assert (done.meta["groundup/reward"], done.meta["groundup/finished"]) == (0.5, True)
            assert done.structured_content is None
            assert "has ended" in (await client.call_tool("bash", {"command": "ls"})).content[0].text
        assert house.scores() == [0.5]


async def test_an_episode_can_be_given_back(tmp_path: Path) -> None:
    """By DELETE; an unknown task is refused."""
    async with opened(job_in(tmp_path)) as house, httpx.AsyncClient(trust_env=False) as http:
        address = f"{house.address}/mcp/task-0000/mine"
        async with Client(address) as client:
            await client.call_tool("bash", {"command": "ls"})
        assert (await http.delete(address)).status_code == 204
        assert house.service.sessions.all == ()
        assert (await http.post(f"{house.address}/mcp/none/mine", json={})).status_code == 400


async def test_no_two_addresses_mean_one_episode(tmp_path: Path) -> None:
    """However names of tasks and episodes are cut."""
    async with opened(job_in(tmp_path)) as house, AsyncExitStack() as stack:
        for address in ("task-0000/1-mine", "task-0000/mine", "task-0001/mine"):
            client = await stack.enter_async_context(Client(f"{house.address}/mcp/{address}"))
            await client.call_tool("bash", {"command": "ls"})
        names = [session.name for session in house.service.sessions.all]
        assert names == ["mcp/task-0000/1-mine", "mcp/task-0000/mine", "mcp/task-0001/mine"]
