"""What a fleet costs, and what it survives: `python benchmarks/fleet.py [--attempts 1000] [--kill-every 5]`.

Runs the tests' toy suite, whose graders only write a file, here and then on a fleet of this machine with a node
killed every so many seconds (0: none). Prints the processor time of driver, scheduler and nodes for each attempt,
and checks that every attempt has one verdict. Starting nodes counts: about 3 s of processor time each.
"""

import argparse
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


def main() -> int:
    """Measure both and compare; 1 when an attempt has not exactly one verdict."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--attempts", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--kill-every", type=float, default=5.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        here = run(Path(name), given.attempts, None)
        there = on_fleet(Path(name), given)
    for label, (seconds, processor_s) in (("here", here), ("fleet", there)):
        print(f"{label}: {seconds:.1f} s, processor time {processor_s * 1000 / given.attempts:.1f} ms an attempt")
    return 0


def on_fleet(folder: Path, given: argparse.Namespace) -> tuple[float, float]:
    """Return seconds and processor seconds of the run, its driver's and the fleet's together."""
    from tests.fleet.fleets import RunningFleet, fleet_of

    over = threading.Event()

    def killing(fleet: RunningFleet) -> None:
        while given.kill_every and not over.wait(given.kill_every):
            alive = [pid for pid in fleet.nodes() if Path(f"/proc/{pid}").exists()]
            os.kill(alive[0], signal.SIGKILL)

    arguments = ("--local", str(given.nodes), "--slots", str(given.slots))
    with fleet_of(*arguments, folder=folder / "fleet", nodes=given.nodes) as fleet:
        killer = threading.Thread(target=killing, args=(fleet,), daemon=True)
        killer.start()
        seconds, driver_s = run(folder, given.attempts, str(fleet.file))
        over.set()
        killer.join()
        print(f"{len(fleet.nodes()) - given.nodes} nodes were killed and began again")
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, driver_s + ended.ru_utime + ended.ru_stime


def run(folder: Path, attempts: int, workers: str | None) -> tuple[float, float]:
    """Run them; return seconds and this process's processor seconds."""
    from tests.runs.configurations import BUILDER, oracle

    from groundup.runs import api
    from groundup.runs.plan import RunOptions
    from groundup.settings import Settings
    from groundup.store.folder import RunFolder

    settings = Settings(cache_dir=folder / "cache", output=folder / "runs", builder=BUILDER)
    options = RunOptions(jobs=8, use_cache=False, retries=10, retry_delay_s=0.1, workers=workers)
    configuration = oracle("tests.runs.toy:create_thousand").model_copy(
        update={
            "tasks": tuple(f"task-{number:04}" for number in range(min(attempts, 1000))),
            "attempts": -(-attempts // 1000),
        }
    )
    began, before = time.monotonic(), time.process_time()
    result = api.run(configuration, options, settings, run_id="fleet" if workers else "here")
    seconds, processor_s = time.monotonic() - began, time.process_time() - before
    settled = Counter(line.attempt for line in RunFolder(result.folder).lines() if line.settles)
    if result.owed or set(settled.values()) != {1}:
        raise SystemExit(f"{result.owed} attempts are owed, {sum(settled.values())} of {len(settled)} settled")
    print(f"{'fleet' if workers else 'here'}: {len(settled)} attempts, each with one verdict")
    return seconds, processor_s


if __name__ == "__main__":
    sys.exit(main())
