"""Plays episodes by the MCP SDK: address, then a command for each; prints their rewards as JSON."""

import asyncio
import json
import os
import sys

from mcp import Client


async def main(address: str, commands: list[str]) -> list[float | None]:
    """Return the rewards."""
    rewards = []
    for number, command in enumerate(commands):
        async with Client(f"{address}/mcp/{os.environ['TASK']}/{number}") as client:
            assert len(str((await client.get_prompt("task")).messages[0].content)) > 20
            await client.call_tool("bash", {"command": command})
            done = await client.call_tool("submit", {})
            assert done.meta
            assert done.meta["groundup/finished"]
            rewards.append(done.meta["groundup/reward"])
    return rewards


print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2:]))))
