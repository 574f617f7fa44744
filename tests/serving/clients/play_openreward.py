"""Plays episodes by the SDK `openreward`: address, then a command for each; prints their rewards as JSON."""

import asyncio
import json
import os
import sys

SPACES = "printf '   begin'; printf ' %.0s' {1..9000}; echo end"


async def main(address: str, commands: list[str]) -> list[float | None]:
    """Return the rewards."""
    os.environ.update(OPENREWARD_API_URL=address, OPENREWARD_SESSION_URL=address, OPENREWARD_API_KEY="none")
    from openreward import AsyncOpenReward  # type: ignore[import-not-found] # of its own environment

    client, rewards = AsyncOpenReward(), []
    environment = client.environments.get(name=os.environ["ENVIRONMENT"])
    assert await environment.list_splits() == ["test"]
    task = (await environment.list_tasks("test"))[0]
    for command in commands:
        async with environment.session(task) as session:
            assert len((await session.get_prompt())[0].text) > 20
            assert [tool.name for tool in await session.list_tools()] == ["bash", "submit"]
            said = await session.call_tool("bash", {"command": SPACES})
            assert said.blocks[0].text.startswith(os.environ["BEGINS"]), said.blocks[0].text[:40]
            await session.call_tool("bash", {"command": command, "timeout_s": None})
            done = await session.call_tool("submit", {})
            assert done.finished
            rewards.append(done.reward)
    return rewards


print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2:]))))
