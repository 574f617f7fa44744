"""What asking a model costs on this machine: many conversations at once with a scripted model in another process.

    python benchmarks/models.py [CONVERSATIONS] [TURNS] [LATENCY_S]

Prints, for each turn, the processor time of the asking side and of the scripted endpoint, and how long turns took
beyond the endpoint's latency.
"""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from groundup.domain.conversations import ChatRequest, Message
from groundup.models.opening import open_model
from groundup.models.protocol import ChatModel
from groundup.models.settings import ModelSettings

REPLY = "I will look at the files first. " * 20
RESULT = "drwxr-xr-x 2 user user 4096 Jan  1 00:00 package\n" * 60
TASK = "Write a library that parses and formats queries. " * 200


async def conversation(model: ChatModel, number: int, turns: int) -> list[float]:
    """Hold one conversation; return how long each turn took."""
    messages = [Message(role="user", content=f"{number} {TASK}")]
    took: list[float] = []
    for _ in range(turns):
        began = time.perf_counter()
        reply = await model.complete(ChatRequest(messages=tuple(messages)))
        took.append(time.perf_counter() - began)
        messages += [reply.message, Message(role="user", content=RESULT)]
    return took


async def measured(url: str, conversations: int, turns: int, latency_s: float) -> None:
    """Print the figures."""
    settings = ModelSettings(base_url=url, concurrency=conversations)
    async with open_model("compatible/scripted", settings) as model:
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        found = await asyncio.gather(*(conversation(model, number, turns) for number in range(conversations)))
        wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    calls = conversations * turns
    over = sorted(1000 * (seconds - latency_s) for took in found for seconds in took)
    async with httpx.AsyncClient(trust_env=False) as client:
        counted = (await client.get(f"{url.removesuffix('/v1')}/calls")).json()
    print(f"{conversations} conversations of {turns} turns, latency {latency_s:g} s: {wall:.1f} s")
    print(f"asking: {1000 * own / calls:.1f} ms of processor time a call, {calls / wall:.0f} calls/s")
    print(f"beyond the latency: median {over[len(over) // 2]:.0f} ms, longest {over[-1]:.0f} ms")
    print(f"at the endpoint: {json.dumps(counted)}")


def main(conversations: int, turns: int, latency_s: float) -> None:
    """Serve a script in another process and ask it."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.toml"
        script.write_text(f'latency_s = {latency_s}\nthen = "repeat"\n[[turn]]\ncontent = "{REPLY}"\n')
        server = subprocess.Popen(
            [sys.executable, "-m", "groundup.models.scripted", str(script)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            asyncio.run(measured(server.stdout.readline().strip(), conversations, turns, latency_s))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    given = [float(text) for text in sys.argv[1:]]
    conversations, turns, latency_s = (*given, *(200.0, 10.0, 5.0)[len(given) :])
    main(int(conversations), int(turns), latency_s)
