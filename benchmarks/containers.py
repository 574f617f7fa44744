"""What containers cost: references of RepoGenesis on bubblewrap and on an engine in turn, layers warm.

    python -m benchmarks.containers [--sandboxes bubblewrap,docker] [--rounds 5] [--jobs 2] [--predictions FOLDER]
    python -m benchmarks.containers --at-once 100 [--sandboxes docker,podman]

Each round grades all services in each sandbox, every second round the other way about, without cached verdicts.
One grading in each comes before that and is not counted: it builds what is missing. Prints medians for one attempt
by the clock and by the processor time of the whole machine, which holds the engine's as well, so nothing else may
run. The first sandbox is 1; the aim by the clock is 1.5. Ends with 1 where not everything passes everywhere.

With `--at-once`, so many sandboxes are open at the same time instead, half of them two by two in pods; all run a
command, and it prints how many did, and how many containers an engine has left when they are closed.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import groundup
from groundup.domain.limits import Limits
from groundup.episodes.backends import backends
from groundup.sandbox.containers.engine import Engine
from groundup.sandbox.protocol import Command, Pod, SandboxProvider, SandboxSpec
from groundup.settings import Settings, load

SERVICES = "Chatroom,GameBackend,Tic-Tac-Toe,django-rest-framework-crud,eve,mail_service"
_IDLE_S = 5.0
_SMALL = Limits(memory_mb=64, processes=20, disk_mb=16)


class Cost(NamedTuple):
    """Of one attempt."""

    wall_s: float
    cpu_s: float


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sandboxes", default="bubblewrap,docker")
    parser.add_argument("--services", default=SERVICES)
    parser.add_argument("--predictions", help="instead of the suite's own references")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--at-once", type=int, help="only open so many")
    given = parser.parse_args()
    sandboxes, services = given.sandboxes.split(","), given.services.split(",")
    if given.at_once:
        return max(asyncio.run(opened_at_once(name, given.at_once)) for name in sandboxes)
    costs: dict[str, list[Cost]] = {name: [] for name in sandboxes}
    with tempfile.TemporaryDirectory() as folder:
        settings = load().but(output=Path(folder), jobs=given.jobs)
        for number in range(given.rounds + 1):
            for name in sandboxes if number % 2 else reversed(sandboxes):
                cost = graded(services, given.predictions, settings.but(sandbox=name))
                if cost is None:
                    return 1
                if number:
                    costs[name].append(cost)
                print(f"round {number}, {name}: {cost.wall_s:.2f} s, {cost.cpu_s:.2f} s cpu", flush=True)
    report(costs, len(services), given.jobs)
    return 0


async def opened_at_once(name: str, number: int) -> int:
    """Open *number* sandboxes, run a command in each, and close them; 0 when all ran and nothing is left."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        async with backends(name, load()) as tools:
            provider = tools.provider
            pods = [await provider.pod() for _ in range(number // 4)]
            owners: list[Pod | SandboxProvider] = [*pods, *pods, *[provider] * (number - 2 * len(pods))]
            specs = [SandboxSpec(workspace=Path(folder, str(one)), limits=_SMALL) for one in range(number)]
            for spec in specs:
                spec.workspace.mkdir()
            opening = (owner.open(spec) for owner, spec in zip(owners, specs, strict=True))
            opened = await asyncio.gather(*opening)
            opened_s = time.perf_counter() - began
            echo = Command(argv=("sh", "-c", "cat /proc/net/dev | wc -l; echo $$ > mine"))
            done = await asyncio.gather(*(sandbox.run(echo) for sandbox in opened))
            for pod in pods:
                await pod.close()
        engines = [engine for engine in Engine.here() if engine.kind.name == name]
        left = sum([len(await engine.ours()) for engine in engines])
    ran = sum(one.ok for one in done)
    took = f"opened in {opened_s:.0f} s, closed after {time.perf_counter() - began:.0f} s"
    print(f"{name}: {ran} of {number} ran, {took}; {left} containers of groundup's are left", flush=True)
    return int(ran < number or left > 0)


def graded(services: list[str], predictions: str | None, settings: Settings) -> Cost | None:
    """Grade all *services* and return what one cost; None: not all of them passed."""
    before, began = busy_s(), time.perf_counter()
    if predictions is None:
        run = groundup.run("repogenesis", "oracle", tasks=services, no_cache=True, settings=settings)
    else:
        run = groundup.evaluate("repogenesis", predictions, tasks=services, no_cache=True, settings=settings)
    cost = Cost((time.perf_counter() - began) / len(services), (busy_s() - before) / len(services))
    passed = {key.task for key, one in run.verdicts.items() if one and one.score and one.score.value == 1}
    missed = [task for task in services if task not in passed]
    if run.interrupted or missed:
        print(f"{settings.sandbox}: {'interrupted' if run.interrupted else 'not passed: ' + ', '.join(missed)}")
        return None
    return cost


def busy_s() -> float:
    """Return the seconds that this machine's processors have worked."""
    line = Path("/proc/stat").read_text().splitlines()[0].split()
    user, nice, system, _, _, *interrupts = map(int, line[1:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def report(costs: dict[str, list[Cost]], services: int, jobs: int) -> None:
    """Print medians, ratios of medians, and how busy the machine is without us."""
    before = busy_s()
    time.sleep(_IDLE_S)
    idle = (busy_s() - before) / _IDLE_S
    rounds = len(next(iter(costs.values())))
    print(f"\n{rounds} rounds of {services} services, {jobs} at once; besides, {idle:.2f} processors are busy\n")
    print("| one attempt | by the clock | x | processor time | x |\n|---|---|---|---|---|")
    first: Cost | None = None
    for name, found in costs.items():
        cost = Cost(*(statistics.median(part) for part in zip(*found, strict=True)))
        first = first or cost
        ratios = Cost(cost.wall_s / first.wall_s, cost.cpu_s / first.cpu_s)
        print(f"| {name} | {cost.wall_s:.2f} s | {ratios.wall_s:.2f} | {cost.cpu_s:.2f} s | {ratios.cpu_s:.2f} |")


if __name__ == "__main__":
    sys.exit(main())
