"""One sandbox as the launcher knows it, and taking over a container that an engine started.

An engine made its control groups and removes them; here they are only read, and its end is hastened.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from groundup.inside.stopwatch import PATIENCE
from groundup.sandbox.launcher.disks import DiskWatch
from groundup.sandbox.launcher.limits import (
    CONTROLLERS,
    Refusals,
    SandboxGroups,
    mounted_groups,
    processes_below,
    take_census,
)
from groundup.sandbox.launcher.workspaces import lend

OWN_MEMORY_BYTES, OWN_PROCESSES = 24 << 20, 4
"""What bubblewrap and the supervisor use, on top of the guest's limits."""


class Box:
    """One sandbox."""

    def __init__(
        self,
        request: dict[str, Any],
        group: SandboxGroups,
        lent: Iterable[int],
        errors: int,
        *,
        root: int = -1,
    ) -> None:
        """Keep copies of the open folders *lent* and of *errors*; *root*: where else it writes."""
        limits = request["limits"]
        self.key: str = request["key"]
        self.group = group
        self.lent = tuple(os.dup(folder) for folder in lent)
        self.errors = os.dup(errors)
        self.root = root
        self.memory_bytes: int = limits["memory_mb"] * 2**20
        self.processes: int = limits["processes"]
        self.deadline: float = time.monotonic() + PATIENCE * limits["wall_clock_s"]
        """A last resort by the clock on the wall: groundup ends it earlier, by the sandbox's stopwatch."""
        self.processors: frozenset[int] = frozenset()
        self.outer = 0
        self.info = -1
        self.handle = -1
        """A pidfd of an engine's container, which is no child of ours: shows its end, and ends it for sure."""
        watched = self.lent if root < 0 else (*self.lent, root)
        self.disk = DiskWatch(
            watched, limits["disk_mb"] * 2**20, lambda: processes_below(self.init) if self.init else ()
        )
        self.refusals = Refusals()
        self.init: int | None = None
        self.cause: str | None = None
        self.start_report = b""
        self.peak_bytes = 0
        self.cpu_s = 0.0

    @property
    def enforced(self) -> tuple[int, int]:
        """The bytes of memory and the processes that its control groups allow: the guest's, and what serves it."""
        return self.memory_bytes + OWN_MEMORY_BYTES, self.processes + OWN_PROCESSES

    @property
    def folders(self) -> list[str]:
        return sorted({str(path) for path in self.group.paths.values()})

    def take_census(self) -> tuple[bool, str | None]:
        """Count by ourselves what no control group counts.

        Return whether figures have grown noticeably, and which limit is passed.
        """
        if self.init is None or (self.group.paths.keys() >= {"memory", "pids"}):
            return False, None
        census = take_census(self.init)
        has_grown = census.memory_bytes > self.peak_bytes + 2**20 or census.cpu_s > self.cpu_s + 0.02
        if has_grown:
            self.peak_bytes = max(self.peak_bytes, census.memory_bytes)
            self.cpu_s = max(self.cpu_s, census.cpu_s)
        memory_bytes, processes = self.enforced
        if "memory" not in self.group.paths and census.memory_bytes > memory_bytes:
            return has_grown, "memory"
        is_crowded = "pids" not in self.group.paths and census.processes > processes
        return has_grown, "processes" if is_crowded else None


def adopted(request: dict[str, Any], given: list[int]) -> Box:
    """Return the container that *request* names. Raises `OSError`."""
    limits, pid = request["limits"], request["pid"]
    handle, errors, *folders = given
    memory_bytes, processes = limits["memory_mb"] * 2**20, limits["processes"]
    # What may fail comes first: nothing is duplicated for a container that is gone.
    group = groups_of(pid, memory_bytes + OWN_MEMORY_BYTES, processes + OWN_PROCESSES)
    root = root_layer(pid)
    box = Box(request, group, folders, errors, root=root)
    box.init, box.handle = pid, os.dup(handle)
    return box


def groups_of(pid: int, memory_bytes: int, processes: int) -> SandboxGroups:
    """Return the control groups that process *pid* is in, as far as they can be seen from here.

    None where they have not these limits: an engine that may make no groups leaves processes in those of its user.
    """
    mounts = mounted_groups()
    found: dict[str, Path] = {}
    version = 1
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(",") if controllers else ("cgroup2",):
            if name not in mounts:
                continue
            root, point = mounts[name]
            folder = point / os.path.relpath(path, root)
            if name == "cgroup2" and (folder / "memory.max").is_file():
                version = 2
                found = dict.fromkeys(CONTROLLERS, folder)
            elif version == 1 and name in CONTROLLERS and folder.is_dir():
                found[name] = folder
    groups = SandboxGroups(version, found)
    return groups if groups.limits() == (memory_bytes, processes) else SandboxGroups(0, {})


def host_number(pid: int, kind: str, inside: int) -> int:
    """Return which number of the host *inside* is for process *pid*; *kind*: `uid` or `gid`. Raises `OSError`."""
    for line in Path(f"/proc/{pid}/{kind}_map").read_text().splitlines():
        first, outside, count = map(int, line.split())
        if first <= inside < first + count:
            return outside + inside - first
    raise OSError(f"{kind} {inside} of the container has no counterpart on the host")


def root_layer(pid: int) -> int:
    """Return a descriptor of the folder that takes what *pid* writes to its root; -1: none is to be seen."""
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        _, _, _, _, point, access, *_ = left.split(" ")
        kind, _, options = right.split(" ", 2)
        if point == "/" and kind == "overlay" and access.split(",")[0] == "rw":
            for option in options.split(","):
                name, _, value = option.partition("=")
                if name == "upperdir":
                    with contextlib.suppress(OSError):
                        return os.open(value, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    return -1


def lending(folders: tuple[int, ...], uid: int, gid: int) -> Callable[[], None]:
    """Return what gives the open *folders* to the guest, for a forked child; nothing where it is ourselves."""

    def work() -> None:
        for folder in folders if uid != os.geteuid() else ():
            lend(folder, uid, gid)

    return work
