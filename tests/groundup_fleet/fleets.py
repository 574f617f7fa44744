"""Fleets for tests: the real command as a process, with nodes on this machine."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from groundup_fleet.clusters import configure
from groundup_fleet.extra import distributed
from tests.needs import need
from tests.patience import patient

ROOT = Path(__file__).parents[2]


class RunningFleet:
    """A `groundup fleet up` that goes on."""

    def __init__(self, process: "subprocess.Popen[str]", file: Path, log: Path) -> None:
        self.process = process
        self.file = file
        self.log = log

    def said(self, text: str, times: int = 1) -> None:
        """Wait until it has printed *text* so many times."""
        until = time.monotonic() + patient(120)
        while self.log.read_text().count(text) < times:
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.05)

    def nodes(self) -> list[int]:
        """Return the process numbers of the nodes that came, in that order."""
        return [int(pid) for pid in re.findall(r" is there: process (\d+) on ", self.log.read_text())]


@contextmanager
def worker_here(number: int = 1) -> Iterator[Any]:
    """Yield a cluster of Dask's own with so many workers of one slot in this process, and a cache of their own."""
    configure()
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setenv("GROUNDUP_CACHE_DIR", f"{folder}/cache")
        cluster = distributed.LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            processes=False,
            protocol="tcp://",
            host="127.0.0.1",
            # Without an address the scheduler asks for port 8787, and warns where another test has it.
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        )
        try:
            yield cluster
        finally:
            with suppress(TimeoutError):  # Dask gives its thread ten seconds by the clock, however busy others are
                cluster.close()


def standing_in(folder: Path, name: str, script: str) -> Path:
    """Write a program that stands in for another one of this *name*; put its folder first on PATH."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def by_ssh(folder: Path, around: str = "") -> tuple[tuple[str, ...], dict[str, str]]:
    """Return arguments and variables of a fleet with a node on a host whose `ssh` runs it here, *around* it."""
    standing_in(folder, "ssh", f'while [ "$1" != -- ]; do shift; done\nexec {around} sh -c "$3"')
    program = standing_in(folder, "groundup", f'exec {sys.executable} -m groundup "$@"')
    path = f"{folder}:{os.environ['PATH']}"
    return ("--ssh", "alpha", "--slots", "1", "--program", str(program)), {"PATH": path}


@contextmanager
def fleet_of(
    *arguments: str, folder: Path, nodes: int, environment: Mapping[str, str] | None = None
) -> Iterator[RunningFleet]:
    """Yield a fleet that has so many nodes; it is ended afterwards, as ^C ends it."""
    need("semaphores")
    folder.mkdir(parents=True, exist_ok=True)
    file, log = folder / "fleet.json", folder / "fleet.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "groundup", "fleet", "up", "--address-file", str(file), *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env={**os.environ, "GROUNDUP_CACHE_DIR": str(folder / "cache"), **(environment or {})},
        )
        fleet = RunningFleet(process, file, log)
        try:
            fleet.said(" is there: ", nodes)
            yield fleet
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(patient(60))
            finally:
                process.kill()
