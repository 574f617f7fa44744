"""What a fleet costs, and what it survives: `python benchmarks/fleet.py [--attempts 1000] [--kill-every 5]`.

`--kill-driver S` kills the driver, too, after every S seconds, and has the run resumed while the nodes go on. With
`--folder` and `--piece S` a long run ends after S seconds, and the same command goes on with it on a new fleet.

`--minimum 0 --seconds 0.5` lets the fleet begin without nodes and shrink to none again, with gradings of half a
second; it prints the most nodes that there were, and waits until none is left.

Runs the tests' toy suite, whose graders only write a file, here and then on a fleet of this machine with a node
killed every so many seconds (0: none). Checks that each attempt has one verdict, and that both runs left the same
files. Prints the processor time an attempt costs the driver, the scheduler and the nodes; that of starting nodes,
measured on those of the beginning, stands apart. What a fleet adds to the run here is the cost of scheduling.
"""

import argparse
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundup.runs.progress import Progress

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
IN_TIME_S = 10.0
"""A node's first verdict comes so long after the command that starts it, at most."""


def main() -> int:
    """Measure both and compare; 1 when an attempt has not exactly one verdict."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--attempts", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--kill-every", type=float, default=5.0)
    parser.add_argument("--kill-driver", type=float, default=0.0)
    parser.add_argument("--folder", type=Path, help="kept, and gone on with")
    parser.add_argument("--piece", type=float, default=0.0)
    parser.add_argument("--minimum", type=int, help="the fleet adapts, from so many nodes")
    parser.add_argument("--seconds", type=float, default=0.0, help="that a grading takes")
    parser.add_argument("--joining", type=int, default=0, help="only time so many nodes that join a run")
    given = parser.parse_args()
    if given.joining:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            return 0 if joining(Path(name), given.joining) else 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = given.folder or Path(name)
        if not (folder / "runs" / "here").exists():
            seconds, here_s = run(folder, given.attempts, None, seconds=given.seconds)
            print(f"here: {seconds:.1f} s, {here_s * 1000 / given.attempts:.1f} ms of processor time an attempt")
            (folder / "here").write_text(str(here_s))
        here_s = float((folder / "here").read_text())
        spent = on_fleet(folder, given)
        if spent is None:
            print(f"{len(settled(folder / 'runs' / 'fleet'))} of {given.attempts} attempts are settled so far")
            return 3
        same = left(folder / "runs" / "here") == left(folder / "runs" / "fleet")
    each = {part: processor_s * 1000 / given.attempts for part, processor_s in spent.items()}
    print(", ".join(f"{part} {cost:.1f}" for part, cost in each.items()), "ms of processor time an attempt")
    added = sum(each.values()) - each["starting nodes"] - here_s * 1000 / given.attempts
    print(
        f"scheduling adds {added:.1f} ms an attempt; the files that both left are {'equal' if same else 'OTHERS'}"
    )
    return 0 if same else 1


def left(folder: Path) -> set[str]:
    """Return the files of a run, attempts' with their content, and, but for times, its verdicts."""
    files = {
        f"{path.relative_to(folder)} {path.read_text() if path.is_file() and 'attempts' in path.parts else ''}"
        for path in folder.rglob("*")
        if path.name != ".lock"
    }
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    kept = ("attempt", "outcome", "submission", "verdict")
    graded = [line for line in lines if line["verdict"]["status"] != "infrastructure"]
    for line in graded:
        line["verdict"].pop("timings_s")
    return files | {json.dumps({name: line[name] for name in kept}, sort_keys=True) for line in graded}


def processor_s(pid: int) -> tuple[float, float]:
    """Return the processor seconds of a process, and of all that it started: those alive, and those gone."""
    try:
        values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = " ".join(one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/children")).split()
    except OSError:
        return 0.0, 0.0
    own, gone = (sum(map(int, values[at : at + 2])) / os.sysconf("SC_CLK_TCK") for at in (11, 13))
    return own, gone + sum(sum(processor_s(int(child))) for child in children)


def on_fleet(folder: Path, given: argparse.Namespace) -> dict[str, float] | None:
    """Return the processor seconds of each part; None when the time of this piece was up before the end."""
    from tests.groundup_fleet.fleets import RunningFleet, fleet_of

    over = threading.Event()

    def killing(fleet: RunningFleet) -> None:
        while given.kill_every and not over.wait(given.kill_every):
            alive = [pid for pid in fleet.nodes() if Path(f"/proc/{pid}").exists()]
            if alive:
                os.kill(alive[0], signal.SIGKILL)

    arguments = ["--local", str(given.nodes), "--slots", str(given.slots)]
    first = given.nodes if given.minimum is None else given.minimum
    if given.minimum is not None:
        arguments += ["--minimum", str(given.minimum)]
    soon = {"DASK_DISTRIBUTED__ADAPTIVE__WAIT_COUNT": "5"}
    with fleet_of(*arguments, folder=folder / "fleet", nodes=first, environment=soon) as fleet:
        fleet.said("address is in")
        killer = threading.Thread(target=killing, args=(fleet,), daemon=True)
        scheduler_s, nodes_s = processor_s(fleet.process.pid)
        killer.start()
        began = time.monotonic()
        driver_s, drivers, code = driven(folder, given, str(fleet.file))
        seconds = time.monotonic() - began
        over.set()
        killer.join()
        scheduler_now_s, nodes_now_s = processor_s(fleet.process.pid)
        again = len(fleet.nodes()) - given.nodes
        if given.minimum is not None:
            print(f"at most {most_at_once(fleet.log.read_text())} nodes at once")
            while fleet.log.read_text().count(" left") < len(fleet.nodes()) - given.minimum:
                time.sleep(0.2)
            print(f"{given.minimum} are left {time.monotonic() - began - seconds:.1f} s after the end")
        print(f"fleet: {seconds:.1f} s, {again} nodes and {drivers - 1} drivers were killed and began again")
    if code is None:
        return None
    starting_s = again * nodes_s / given.nodes  # 0 of a fleet that begins without nodes
    return {
        "driver": driver_s,
        "scheduler": scheduler_now_s - scheduler_s,
        "nodes": nodes_now_s - nodes_s - starting_s,
        "starting nodes": starting_s + nodes_s,
    }


def most_at_once(log: str) -> int:
    """Return how many nodes there were at most, as the fleet said."""
    now, most = 0, 0
    for line in log.splitlines():
        now += (" is there: " in line) - line.endswith(" left")
        most = max(most, now)
    return most


def driven(folder: Path, given: argparse.Namespace, workers: str) -> tuple[float, int, int | None]:
    """Let drivers run it, each a process; return their processor seconds, their number and the last one's code.

    The code is None where the piece was over. Raises `SystemExit` for a run that failed.
    """
    ending = time.monotonic() + (given.piece or 1e9)
    spent_s, number = 0.0, 0
    while (left_s := ending - time.monotonic()) > 0:
        process = multiprocessing.get_context("spawn").Process(
            target=run, args=(folder, given.attempts, workers), kwargs={"seconds": given.seconds}
        )
        process.start()
        number += 1
        until = time.monotonic() + min(left_s, given.kill_driver or 1e9)
        while process.is_alive() and time.monotonic() < until:
            now_s = sum(processor_s(process.pid or 0))
            process.join(min(1.0, max(0.0, until - time.monotonic())))
        spent_s += now_s
        if not process.is_alive():
            if process.exitcode:
                raise SystemExit(f"the driver ended with {process.exitcode}")
            return spent_s, number, 0
        process.kill()
        process.join()
    return spent_s, number, None


def joining(folder: Path, times: int) -> bool:
    """Let a run wait for a node that joins; print how long its first verdict takes. Return if all are in time."""
    from tests.groundup_fleet.fleets import fleet_of

    from groundup.runs.progress import AttemptEnded, Event, Warned

    took: list[tuple[float, float]] = []
    for _ in range(times):
        node: list[tuple[subprocess.Popen[bytes], float]] = []

        def seen(event: Event, node: list[tuple["subprocess.Popen[bytes]", float]] = node) -> None:
            if isinstance(event, Warned) and not node:  # that no node is there yet
                argv = [sys.executable, "-m", "groundup", "fleet", "join", str(fleet.file), "--slots", "2"]
                node.append((subprocess.Popen(argv), time.monotonic()))
            if isinstance(event, AttemptEnded) and event.standing.settled == 1:
                process, began = node[0]
                took.append((time.monotonic() - began, sum(processor_s(process.pid))))

        with fleet_of(folder=folder / "fleet", nodes=0) as fleet:
            fleet.said("address is in")
            run(folder, 20, str(fleet.file), run_id=f"joined-{len(took)}", progress=seen)
        node[0][0].wait()
    for seconds, spent_s in took:
        print(f"first verdict {seconds:.1f} s after the node was started, {spent_s:.1f} s of processor time there")
    return max(seconds for seconds, _ in took) < IN_TIME_S


def run(
    folder: Path,
    attempts: int,
    workers: str | None,
    run_id: str | None = None,
    progress: "Progress | None" = None,
    seconds: float = 0.0,
) -> tuple[float, float]:
    """Run them; return seconds and this process's processor seconds."""
    from tests.runs.configurations import BUILDER, evaluation, oracle

    from groundup.runs import api
    from groundup.runs.plan import RunOptions
    from groundup.settings import Settings
    from groundup.store.records import Predictions

    settings = Settings(cache_dir=folder / "cache", output=folder / "runs", builder=BUILDER)
    options = RunOptions(jobs=8, use_cache=False, retries=10, retry_delay_s=0.1, workers=workers)
    tasks = tuple(f"task-{number:04}" for number in range(min(attempts, 1000)))
    configuration = oracle("tests.runs.toy:create_thousand")
    if seconds:
        for task in tasks:
            (folder / "predictions" / task).mkdir(parents=True, exist_ok=True)
            (folder / "predictions" / task / "behaviour").write_text(f"sleep {seconds}")
        submissions = Predictions(path=str(folder / "predictions"))
        configuration = evaluation(submissions, "tests.runs.toy:create_thousand")
    configuration = configuration.but(tasks=tasks, attempts=-(-attempts // 1000))
    name = run_id or ("fleet" if workers else "here")
    began, before = time.monotonic(), time.process_time()
    progress = progress or (lambda event: None)
    if (folder / "runs" / name / "config.json").exists():
        result = api.Resumption(folder / "runs" / name, options, settings).work(progress)
    else:
        result = api.NewRun(configuration, options, settings, run_id=name).work(progress)
    took_s, processor_s = time.monotonic() - began, time.process_time() - before
    found = settled(result.folder)
    if result.pending or set(found.values()) != {1}:
        raise SystemExit(f"{result.pending} attempts are pending, {sum(found.values())} of {len(found)} settled")
    print(f"{name}: {len(found)} attempts, each with one verdict")
    return took_s, processor_s


def settled(folder: Path) -> Counter[object]:
    """Return how many verdicts settle each attempt of a run."""
    from groundup.store.folder import RunFolder

    return Counter(line.attempt for line in RunFolder(folder).lines() if line.settles)


if __name__ == "__main__":
    sys.exit(main())
