"""Enforcing limits by looking, where no control group does it, and what a control group does not know: disks."""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from groundup.sandbox.launcher.workspaces import TooLargeError, measure

TICK_S = 0.1
FREE_FLOOR_BYTES = 256 * 1024 * 1024
"""When a disk has less room than this, the sandbox that holds most of it is ended."""
_DISK_PERIOD_S = 1.0
_WALK_SHARE = 0.05
"""Measuring a folder may take this share of the launcher's time: larger trees are measured less often."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_HERTZ = os.sysconf("SC_CLK_TCK")


@dataclass
class Census:
    """What the processes of one sandbox use now."""

    processes: int = 0
    memory_bytes: int = 0
    cpu_s: float = 0.0


def take_census(init: int) -> Census:
    """Count the process tree below *init*, threads included. Shared pages are left out."""
    census, queue = Census(), [init]
    while queue:
        pid = queue.pop()
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                values = file.read().rpartition(b")")[2].split()
            with open(f"/proc/{pid}/statm", "rb") as file:
                pages = file.read().split()
            threads = os.listdir(f"/proc/{pid}/task")
            for thread in threads:
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    queue += map(int, file.read().split())
        except OSError:
            continue
        census.processes += len(threads)
        census.memory_bytes += (int(pages[1]) - int(pages[2])) * _PAGE
        census.cpu_s += sum(map(int, values[11:15])) / _HERTZ
    return census


@dataclass
class DiskWatch:
    """Measures one folder again and again, a little at a time."""

    folder: int
    limit_bytes: int
    used_bytes: int = 0
    _walk: Iterator[int] | None = None
    _started: float = 0.0
    _spent: float = 0.0
    _next: float = field(default=0.0)

    @property
    def busy(self) -> bool:
        """Whether a measurement is under way."""
        return self._walk is not None

    def step(self, now: float) -> bool:
        """Go on measuring; return whether the limit is exceeded."""
        if self._walk is None:
            if now < self._next:
                return False
            self._walk, self._spent = measure(self.folder), 0.0
        began = time.monotonic()
        try:
            with contextlib.suppress(StopIteration):
                sofar = next(self._walk)
                self._spent += time.monotonic() - began
                self.used_bytes = max(self.used_bytes, sofar)
                return sofar > self.limit_bytes
        except TooLargeError:
            return True
        self._walk = None
        self._next = time.monotonic() + max(_DISK_PERIOD_S, self._spent / _WALK_SHARE)
        return False

    def hurry(self) -> None:
        """Measure now: the disk is filling up."""
        self._next = 0.0

    def free_bytes(self) -> int:
        """Room on the folder's file system."""
        status = os.fstatvfs(self.folder)
        return status.f_bavail * status.f_frsize
