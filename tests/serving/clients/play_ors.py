"""Plays episodes by `ors-sdk`: address, then a command for each; prints their rewards as JSON."""

import asyncio
import json
import os
import sys

from ors.client import AsyncORS  # type: ignore[import-not-found] # runs in an environment of its own

SPACES = "printf '   begin'; printf ' %.0s' {1..9000}; echo end"


async def main(address: str, commands: list[str]) -> list[float | None]:
    """Return the rewards."""
    client, rewards = AsyncORS(base_url=address), []
    environment = client.environment(os.environ["ENVIRONMENT"])
    assert await environment.list_splits() == ["test"]
    assert await environment.num_tasks("test") >= 1
    for command in commands:
        async with environment.session(split="test", index=0) as session:
            assert len((await session.get_prompt())[0].text) > 20
            said = await session.call_tool("bash", {"command": SPACES})
            assert said.blocks[0].text.startswith(os.environ["BEGINS"]), said.blocks[0].text[:40]
            await session.call_tool("bash", {"command": command})
            done = await session.call_tool("submit", {})
            assert done.finished
            rewards.append(done.reward)
    return rewards


print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2:]))))
