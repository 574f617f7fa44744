"""A thousand tiny attempts: nothing lost, nothing left over, no more held at the end than near the beginning."""

import asyncio
import gc
import multiprocessing
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from groundup.runs import api
from groundup.runs.plan import RunOptions
from groundup.runs.progress import AttemptEnded, Event
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from tests.runs.configurations import oracle

JOBS = 8


class Gauge:
    """Notes after every 25th attempt what the scheduler holds."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.bytes: list[int] = []
        self.tasks = 0
        self.scratch = 0
        self.descriptors: list[int] = []

    def __call__(self, event: Event) -> None:
        """Look around."""
        if isinstance(event, AttemptEnded) and event.standing.settled % 25 == 0:
            gc.collect()
            self.bytes.append(tracemalloc.get_traced_memory()[0])
            self.tasks = max(self.tasks, len(asyncio.all_tasks()))
            self.scratch = max(self.scratch, len(list(self.output.glob("*/scratch/*"))))
            if Path("/dev/fd").exists():
                self.descriptors.append(len(list(Path("/dev/fd").iterdir())))


def work_through(settings: Settings) -> tuple[api.Run, Gauge]:
    """A thousand attempts, measured in this process."""
    gauge = Gauge(settings.output)
    tracemalloc.start()
    options = RunOptions(jobs=JOBS, use_cache=False)
    return api.NewRun(oracle("tests.runs.toy:create_thousand"), options, settings).work(gauge), gauge


def test_a_thousand_attempts_are_no_burden(settings: Settings) -> None:
    """Tasks, folders and descriptors are as many as `--jobs` needs; memory grows by names, not by evidence."""
    # In a process of its own: what threads and caches of earlier tests take in the meantime is not this run's.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
        result, gauge = alone.submit(work_through, settings).result()
    run = RunFolder(result.folder)
    lines = list(run.lines())
    assert result.exit_code == 0
    assert len(lines) == len({line.attempt for line in lines}) == 1000
    assert len(list(run.path.glob("attempts/*/0/submission.json"))) == 1000
    assert {path.name for path in run.path.iterdir()} == {
        ".lock",
        "attempts",
        "config.json",
        "lock.json",
        "report.json",
        "verdicts.jsonl",
    }
    assert gauge.scratch <= JOBS
    assert gauge.tasks <= 4 * JOBS
    if gauge.descriptors:
        assert max(gauge.descriptors) - min(gauge.descriptors) <= 4 * JOBS
    assert gauge.bytes[-1] - gauge.bytes[3] < 4 * 1024 * 1024
    print(f"grown by {(gauge.bytes[-1] - gauge.bytes[3]) / 900:.0f} bytes for each further attempt")
