"""Forty resource bombs beside a neighbour: how late its commands come, and how long each bomb outlives its limit.

Eight kinds of bomb, five of each, some at once. A neighbour's sandbox runs /bin/true all the time; its slowest
command is compared with the slowest one without bombs. A bomb's end counts from its limit: from the deadline for
those that a deadline ends, and from the start for those that meet another limit at once.

python -m benchmarks.bombs [at once] [each]
"""

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from groundup.domain.limits import Limits
from groundup.sandbox.bubblewrap import BubblewrapProvider
from groundup.sandbox.composition import INSIDE, PYTHON
from groundup.sandbox.protocol import Command, Ending, Sandbox, SandboxSpec

TARGETS_S = {"neighbour": 2.0, "end": 5.0}
LIMITS = Limits(cpus=1.0, memory_mb=256, disk_mb=64, wall_clock_s=120.0)
DEADLINE_S = 8.0
ENVIRONMENT = {"LD_LIBRARY_PATH": f"{INSIDE}/python/lib"}
"""What the supervisor's interpreter needs where it is a shared library."""
_FILL = (
    "import os\nkept=[]\nwhile True:\n kept.append(open(f'f{len(kept)}','wb',0));kept[-1].write(bytes(1<<20))\n"
)
BOMBS: dict[str, tuple[str, str]] = {
    "forks": ("sh", "bomb() { bomb | bomb & }; bomb; sleep 600"),
    "stubborn forks": ("python", "import os\nwhile True:\n try: os.fork()\n except OSError: pass"),
    "sessions": ("python", "import os\nwhile True:\n try: os.fork() or os.setsid()\n except OSError: pass"),
    "threads": (
        "python",
        "import threading,time\nwhile True:\n try: threading.Thread(target=time.sleep,args=(600,)).start()\n"
        " except RuntimeError: pass",
    ),
    "memory": ("python", "kept=[]\nwhile True: kept.append(bytearray(1<<20))"),
    "processor": ("sh", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do (while :; do :; done) & done; wait"),
    "files": ("python", _FILL),
    "removed files": ("python", _FILL.replace("kept[-1].write", "os.unlink(kept[-1].name);kept[-1].write")),
}
"""Kinds by name: interpreter and program."""
_INTERPRETERS = {"sh": ("sh", "-c"), "python": (PYTHON, "-IS", "-c")}
BY_DEADLINE = ("processor",)


async def neighbour(sandbox: Sandbox, stop: asyncio.Event) -> list[float]:
    """Return how long each of its commands took."""
    taken = []
    while not stop.is_set():
        began = time.monotonic()
        assert (await sandbox.run(Command(argv=("/bin/true",)))).ok
        taken.append(time.monotonic() - began)
        await asyncio.sleep(0.05)
    return taken


async def bomb(
    provider: BubblewrapProvider, kind: str, folder: Path, turns: asyncio.Semaphore
) -> tuple[str, float, Ending]:
    """Return what a bomb was, how long after its limit it was gone, and how it is reported."""
    async with turns:
        folder.mkdir()
        async with await provider.open(SandboxSpec(workspace=folder, limits=LIMITS, label=kind)) as sandbox:
            began = time.monotonic()
            interpreter, program = BOMBS[kind]
            argv = (*_INTERPRETERS[interpreter], program)
            result = await sandbox.run(Command(argv=argv, environment=ENVIRONMENT, timeout_s=DEADLINE_S))
            if result.ending is Ending.EXITED:
                print(f"{kind} exited: {result.exit_code} {result.stderr[-200:]!r}")
            deadline = result.ending is Ending.TIMEOUT or kind in BY_DEADLINE
            due = DEADLINE_S + result.uncounted_s if deadline else 0.0
            return kind, time.monotonic() - began - due, result.ending


async def measure(at_once: int, each: int) -> None:
    """Run all and print a table."""
    with tempfile.TemporaryDirectory() as base:
        async with BubblewrapProvider() as provider:
            (Path(base) / "neighbour").mkdir()
            calm = await provider.open(SandboxSpec(workspace=Path(base) / "neighbour"))
            stop = asyncio.Event()
            asyncio.get_running_loop().call_later(5, stop.set)
            alone = await neighbour(calm, stop)
            stop, turns = asyncio.Event(), asyncio.Semaphore(at_once)
            beside = asyncio.ensure_future(neighbour(calm, stop))
            kinds = [kind for _ in range(each) for kind in BOMBS]
            folders = [Path(base) / f"bomb-{number}" for number in range(len(kinds))]
            began = time.process_time()
            ends = await asyncio.gather(
                *(bomb(provider, kind, folder, turns) for kind, folder in zip(kinds, folders, strict=True))
            )
            spent = time.process_time() - began
            stop.set()
            taken = await beside
    print(f"{len(kinds)} bombs, {at_once} at once, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
    for name, samples in (("alone", alone), ("beside bombs", taken)):
        print(f"neighbour {name:<13} median {statistics.median(samples):6.3f} s   slowest {max(samples):6.3f} s")
    print(f"groundup's own processor time {spent:.1f} s")
    for kind in BOMBS:
        late = [passed for name, passed, _ in ends if name == kind]
        told = Counter(ending.value for name, _, ending in ends if name == kind)
        print(f"{kind:<20} gone after {max(late):6.2f} s at most   {dict(told)}")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    asyncio.run(measure(*(given + [4, 5][len(given) :])))
