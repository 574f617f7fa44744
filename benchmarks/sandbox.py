"""Starting a sandbox, and a command in a running one, beside plain processes: medians and ratios of one run.

`process` starts /bin/true; `python` starts the interpreter that every supervisor needs, so it is the floor of
`start` on a busy machine, where milliseconds alone say little.

python -m benchmarks.sandbox [rounds]
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from groundup.sandbox.bubblewrap import BubblewrapProvider
from groundup.sandbox.protocol import Command, Sandbox, SandboxSpec

TARGETS_MS = {"start": 30.0, "command": 5.0}
PROGRAM = "/bin/true"
INTERPRETER = [getattr(sys, "_base_executable", sys.executable), "-I", "-S", "-E", "-B", "-c", "pass"]


async def timed(work: Callable[[], Awaitable[None]]) -> float:
    """Return the milliseconds that *work* takes."""
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def measure(rounds: int) -> dict[str, list[float]]:
    """Return milliseconds by name; the kinds alternate, so that other load meets all alike."""
    samples: dict[str, list[float]] = {name: [] for name in ("process", "python", "start", "command", "close")}
    with tempfile.TemporaryDirectory() as folder:
        async with BubblewrapProvider() as provider:
            spec = SandboxSpec(workspace=Path(folder))
            await (await provider.open(spec)).close()  # starts the launcher

            async def process() -> None:
                await asyncio.to_thread(subprocess.run, [PROGRAM], check=True)

            async def python() -> None:
                await asyncio.to_thread(subprocess.run, INTERPRETER, check=True, env={})

            for _ in range(rounds):
                opened: list[Sandbox] = []

                async def start(opened: list[Sandbox] = opened) -> None:
                    opened.append(await provider.open(spec))

                async def command(opened: list[Sandbox] = opened) -> None:
                    assert (await opened[0].run(Command(argv=(PROGRAM,)))).ok

                async def close(opened: list[Sandbox] = opened) -> None:
                    await opened[0].close()

                samples["process"].append(await timed(process))
                samples["python"].append(await timed(python))
                samples["start"].append(await timed(start))
                for _ in range(3):
                    samples["command"].append(await timed(command))
                samples["close"].append(await timed(close))
    return samples


def report(rounds: int) -> None:
    """Print a table."""
    samples = asyncio.run(measure(rounds))
    plain, python = (statistics.median(samples[name]) for name in ("process", "python"))
    who = "root" if os.geteuid() == 0 else "an ordinary user"
    print(f"{rounds} rounds as {who}, load {os.getloadavg()[0]:.1f}")
    print(f"{'':<10}{'median ms':>10}{'p90 ms':>10}{'x process':>11}{'x python':>10}{'target ms':>11}")
    for name, taken in samples.items():
        median, slow = statistics.median(taken), statistics.quantiles(taken, n=10)[-1]
        ratios = f"{median / plain:>11.2f}{median / python:>10.2f}"
        print(f"{name:<10}{median:>10.2f}{slow:>10.2f}{ratios}{TARGETS_MS.get(name, ''):>11}")


if __name__ == "__main__":
    report(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
