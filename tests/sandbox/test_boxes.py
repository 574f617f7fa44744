"""What the launcher believes of a container's control groups, and what it lets its children have."""

import os
import resource
import subprocess
import sys

import pytest

from groundup.inside.supervisor import permitted
from groundup.sandbox.launcher.boxes import groups_of, host_number
from groundup.sandbox.launcher.limits import take_census
from groundup.sandbox.launcher.spawning import allow_open_files
from groundup.sandbox.launcher.wire import OPEN_FILES


def test_groups_with_other_limits_are_not_the_containers() -> None:
    """A rootless engine may leave containers in the groups of its user: then the launcher watches limits."""
    groups = groups_of(os.getpid(), memory_bytes=12345 * 4096, processes=12345)
    assert groups.paths == {}


def test_the_numbers_of_a_guest_are_those_of_its_namespace() -> None:
    """Here they are our own; one that no range holds has no counterpart."""
    assert host_number(os.getpid(), "uid", os.getuid()) == os.getuid()
    with pytest.raises(OSError, match=r"gid 4294967295 of the container has no counterpart"):
        host_number(os.getpid(), "gid", 2**32 - 1)


def test_the_census_counts_all_that_runs_below() -> None:
    """Processes with their threads, memory that no other shares, and time; what has ended counts nothing."""
    program = "import os, sys; held = bytearray(os.urandom(1) * (64 << 20)); print(len(held)); sys.stdin.read()"
    words = (sys.executable, "-u", "-c", program)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        below, here = take_census(child.pid), take_census(os.getpid())
        child.kill()
    assert (below.processes, below.memory_bytes >> 20 >= 60, below.memory_bytes >> 20 < 512) == (1, True, True)
    assert here.processes >= 1 + below.processes
    assert here.memory_bytes > below.memory_bytes
    assert here.cpu_s >= below.cpu_s
    assert take_census(child.pid).processes == 0


@pytest.mark.parametrize(
    ("hard", "asked"),
    [
        (4096, [(1024, OPEN_FILES)]),
        (OPEN_FILES, []),
        (2 * OPEN_FILES, []),
        (resource.RLIM_INFINITY, []),
    ],
)
@pytest.mark.parametrize("refusal", [None, PermissionError(1, "no"), ValueError("no")])
def test_a_low_hard_limit_of_open_files_is_raised_where_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch, hard: int, asked: list[tuple[int, int]], refusal: Exception | None
) -> None:
    """A service whose start script says `ulimit -n 65535` starts; who may not raise limits goes on with less."""
    seen: list[tuple[int, int]] = []

    def setrlimit(kind: int, limits: tuple[int, int]) -> None:
        assert kind == resource.RLIMIT_NOFILE
        seen.append(limits)
        if refusal is not None:
            raise refusal

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, hard))
    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    allow_open_files()
    assert seen == asked


@pytest.mark.parametrize(("hard", "found"), [(100, 100), (5000, 1000), (resource.RLIM_INFINITY, 1000)])
def test_no_sandbox_asks_for_more_than_the_hard_limit(
    monkeypatch: pytest.MonkeyPatch, hard: int, found: int
) -> None:
    """Commands and containers get what is wanted, or all there is."""
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1, hard))
    assert permitted(resource.RLIMIT_NOFILE, 1000) == found
