"""Starting a sandbox, and a command in a running one, beside a plain process: medians and ratios of one run.

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

START_TARGET_MS, COMMAND_TARGET_MS = 30.0, 5.0
PROGRAM = "/bin/true"


async def timed(work: Callable[[], Awaitable[None]]) -> float:
    """Return the milliseconds that *work* takes."""
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def measure(rounds: int) -> dict[str, list[float]]:
    """Return milliseconds by name; the kinds alternate, so that other load meets all alike."""
    samples: dict[str, list[float]] = {name: [] for name in ("process", "start", "command", "close")}
    with tempfile.TemporaryDirectory() as folder:
        async with BubblewrapProvider() as provider:
            spec = SandboxSpec(workspace=Path(folder))
            await (await provider.open(spec)).close()  # starts the launcher

            async def process() -> None:
                await asyncio.to_thread(subprocess.run, [PROGRAM], check=True)

            for _ in range(rounds):
                opened: list[Sandbox] = []

                async def start(opened: list[Sandbox] = opened) -> None:
                    opened.append(await provider.open(spec))

                async def command(opened: list[Sandbox] = opened) -> None:
                    assert (await opened[0].run(Command(argv=(PROGRAM,)))).ok

                async def close(opened: list[Sandbox] = opened) -> None:
                    await opened[0].close()

                samples["process"].append(await timed(process))
                samples["start"].append(await timed(start))
                for _ in range(3):
                    samples["command"].append(await timed(command))
                samples["close"].append(await timed(close))
    return samples


def main() -> None:
    """Print a table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    samples = asyncio.run(measure(rounds))
    plain = statistics.median(samples["process"])
    print(
        f"{rounds} rounds as {'root' if os.geteuid() == 0 else 'an ordinary user'}, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'':<10}{'median ms':>10}{'p90 ms':>10}{'x process':>11}{'target ms':>11}")
    for name, target in (
        ("process", None),
        ("start", START_TARGET_MS),
        ("command", COMMAND_TARGET_MS),
        ("close", None),
    ):
        median, slow = statistics.median(samples[name]), statistics.quantiles(samples[name], n=10)[-1]
        print(f"{name:<10}{median:>10.2f}{slow:>10.2f}{median / plain:>11.2f}{target or '':>11}")


if __name__ == "__main__":
    main()
