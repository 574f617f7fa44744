"""Ray beside Dask as what a fleet could stand on: `PYTHON benchmarks/fleet_engines.py dask|ray [--tasks 1000]`.

Needs only the engine that it names, in any interpreter. Each of four nodes on this machine has two slots. A task
takes a submission of 4 KB, writes it to a file and returns a verdict of 200 bytes: what it costs is the engine's.
Prints the time until all nodes take tasks, processor time, processes and memory; then what it costs that a node is
killed, or hangs, under tasks of 0.2 s. Processor time is that of the engine's processes, and of this one.
"""

import argparse
import contextlib
import ctypes
import hashlib
import importlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

PACKED = os.urandom(4096)
LOST_AFTER_S = 60
PATIENCE_S = 150
NODES, SLOTS = 4, 2
SUBREAPER = 36


def graded(number: int, packed: bytes, folder: str, seconds: float) -> dict[str, object]:
    """Stand for an attempt: leave a file for each time that this is done."""
    time.sleep(seconds)
    digest = hashlib.sha256(packed).hexdigest()
    Path(folder, f"{number}-{time.monotonic_ns()}").write_bytes(packed)
    return {"task": f"task-{number:04}", "digest": digest, "status": "graded", "score": [1, 1], "reasons": []}


class Dask:
    """A scheduler and worker processes, as `groundup fleet up --local` has."""

    def start(self) -> None:
        """Start a local cluster."""
        importlib.import_module("dask").config.set({"distributed.scheduler.worker-ttl": f"{LOST_AFTER_S}s"})
        self._library = importlib.import_module("distributed")
        options = {"n_workers": NODES, "threads_per_worker": SLOTS, "dashboard_address": None}
        self._cluster = self._library.LocalCluster(processes=True, memory_limit=None, **options)
        self._client = self._library.Client(self._cluster)
        self._client.wait_for_workers(NODES)

    def results(self, numbers: range, folder: str, seconds: float) -> list[dict[str, object]]:
        """Submit all and gather."""
        futures = [self._client.submit(graded, n, PACKED, folder, seconds, pure=False) for n in numbers]
        with contextlib.suppress(TimeoutError):
            self._library.wait(futures, timeout=PATIENCE_S)
        return [future.result() for future in futures if future.done()]

    def node(self) -> int:
        """Return the first worker that is left."""
        return int(next(nanny.pid for nanny in self._cluster.workers.values() if nanny.pid))


class Ray:
    """A head and nodes, each with a daemon of its own."""

    def start(self) -> None:
        """Start Ray's own cluster of one machine; its head takes no tasks."""
        self._ray = importlib.import_module("ray")
        cluster = importlib.import_module("ray.cluster_utils").Cluster
        self._cluster = cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        self._nodes = [self._cluster.add_node(num_cpus=SLOTS) for _ in range(NODES)]
        self._ray.init(address=self._cluster.address, log_to_driver=False)
        self._cluster.wait_for_nodes()
        self._graded = self._ray.remote(graded)

    def results(self, numbers: range, folder: str, seconds: float) -> list[dict[str, object]]:
        """Submit all and get."""
        futures = [self._graded.remote(n, PACKED, folder, seconds) for n in numbers]
        return list(self._ray.get(self._ray.wait(futures, num_returns=len(futures), timeout=PATIENCE_S)[0]))

    def node(self) -> int:
        """Return the daemon of the first node that is left."""
        node = self._nodes.pop(0)
        processes = node.all_processes["raylet"]
        return int(processes[0].process.pid)


def below(pid: int) -> list[int]:
    """Return all processes that *pid* started, and what they started."""
    with contextlib.suppress(OSError):
        children = " ".join(one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/children")).split()
        return [found for child in map(int, children) for found in (child, *below(child))]
    return []


class Watch:
    """Looks at the engine's processes twice a second; what that costs is left out."""

    def __init__(self) -> None:
        self.cpu_s: dict[int, float] = {}
        self.looking_s = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            self.seen()
            self.looking_s = time.thread_time()
            time.sleep(0.5)

    def seen(self) -> float:
        """Return the processor seconds of all processes so far, with those that have ended."""
        for pid in (os.getpid(), *below(os.getpid())):
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                self.cpu_s[pid] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
        return sum(self.cpu_s.values()) - self.looking_s


def memory_mb(pids: list[int]) -> float:
    """Return the memory of processes, what they share counted once."""
    kilobytes = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kilobytes += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1024


def struck(engine: "Dask | Ray", how: signal.Signals, folder: str) -> str:
    """Do 200 tasks and strike a node, with all that it started, after 2 s."""

    def strike() -> None:
        node = engine.node()
        for pid in (node, *below(node)):
            with contextlib.suppress(OSError):
                os.kill(pid, how)

    before = len([*Path(folder).iterdir()])
    threading.Timer(2.0, strike).start()
    began = time.monotonic()
    done = engine.results(range(200), folder, 0.2)
    again = len([*Path(folder).iterdir()]) - before - len(done)
    return f"{len({one['task'] for one in done})} of 200 done in {time.monotonic() - began:.1f} s, {again} twice"


def main() -> None:
    """Measure one engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    engines: dict[str, Callable[[], Dask | Ray]] = {"dask": Dask, "ray": Ray}
    parser.add_argument("engine", choices=engines)
    parser.add_argument("--tasks", type=int, default=1000)
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)  # to see what engines start away from themselves
    watch, engine, began = Watch(), engines[given.engine](), time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        engine.start()
        print(f"start: {time.monotonic() - began:.1f} s, {watch.seen():.1f} s of processor time")
        engine.results(range(100), folder, 0.0)
        before, began = watch.seen(), time.monotonic()
        done = engine.results(range(given.tasks), folder, 0.0)
        spent_s, took_s = watch.seen() - before, time.monotonic() - began
        print(f"{len(done)} tasks: {spent_s * 1000 / given.tasks:.2f} ms of processor time each, {took_s:.1f} s")
        started = below(os.getpid())
        own_mb = memory_mb([os.getpid()])
        print(f"{len(started)} processes besides this one, {memory_mb(started):.0f} MB; this one {own_mb:.0f} MB")
        before, began = watch.seen(), time.monotonic()
        time.sleep(10)
        print(f"idle: {(watch.seen() - before) * 100:.0f} ms of processor time a second")
        print("no node struck:", struck(engine, signal.SIGCONT, folder))
        print("a node killed:", struck(engine, signal.SIGKILL, folder), flush=True)
        print("a node hung:", struck(engine, signal.SIGSTOP, folder), flush=True)
    for pid in below(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    os._exit(0)  # engines would try to end in peace what was struck


if __name__ == "__main__":
    main()
