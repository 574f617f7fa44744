"""What the relay of a job's commands does when the job is interrupted."""

import asyncio
import json
import socket
from typing import Any

from groundup.grading.ci.records import ACT_CACHE
from groundup.grading.ci.relay import Relay, StepPlace


async def test_a_command_that_is_interrupted_says_nothing() -> None:
    """Closing ends commands that wait for their sandbox, and what opens it, without a traceback on the console."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    opening, ended = asyncio.Event(), asyncio.Event()

    async def never(job: str) -> StepPlace:
        opening.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()
        raise AssertionError(job)

    relay = Relay("owner/name", never, lambda patterns: "")
    listening = socket.create_server(("127.0.0.1", 0))
    await relay.serve(listening, 60)
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    asked = {"argv": ["true"], "cwd": f"{ACT_CACHE}/{'0' * 16}/hostexecutor", "environment": {}, "files": {}}
    writer.write(json.dumps(asked).encode() + b"\n")
    await opening.wait()
    await relay.close()
    assert ended.is_set()
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    assert not complaints
