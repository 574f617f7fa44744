"""Enforcing limits: by control groups, version 2 or 1, where this user can make them, else by regular counts."""

import contextlib
import functools
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

_PERIOD_US = 100_000
_LOOK_S = 0.25
_BOMB_LOOKS, _BOMB_REFUSALS = 4, 100
CONTROLLERS = ("memory", "pids", "cpu", "cpuacct")


class CgroupFolders(NamedTuple):
    """Where groups can be made: a folder per controller. In version 2 all are one folder."""

    version: int = 0
    folders: Mapping[str, Path] = MappingProxyType({})

    def has(self, controller: str) -> bool:
        return controller in self.folders


def find_places() -> CgroupFolders:
    """Return where this process can make groups; makes and removes an empty one to be sure."""
    own = _own_groups()
    mounts = mounted_groups()
    if "cgroup2" in mounts and "" in own:
        top = mounts["cgroup2"][1]
        place = _usable_unified(_inside(mounts["cgroup2"], own[""]), top)
        if place:
            available = _words(place / "cgroup.subtree_control")
            return CgroupFolders(2, {name: place for name in CONTROLLERS if name in available})
    folders = {}
    for name in CONTROLLERS:
        if name in own and name in mounts:
            folder = _inside(mounts[name], own[name])
            if _can_make_groups(folder):
                folders[name] = folder
    return CgroupFolders(1, folders) if folders else CgroupFolders()


class SandboxGroups:
    """The control groups of one sandbox; any of them may be missing."""

    def __init__(self, version: int, paths: dict[str, Path]) -> None:
        self.version = version
        self.paths = paths

    @classmethod
    def named(cls, places: CgroupFolders, name: str) -> "SandboxGroups":
        """Return groups that are not made yet."""
        return cls(places.version, {key: folder / name for key, folder in places.folders.items()})

    def make(self, *, memory_bytes: int, processes: int, cpus: float, niceness: int = 0) -> None:
        """Make the groups and set their limits; as *niceness* says, they step back. Raises `OSError`."""
        for path in set(self.paths.values()):
            path.mkdir(exist_ok=True)
        self._limit(memory_bytes, processes, cpus, niceness)

    def remove(self, tries: int = 200) -> bool:
        """Remove the groups; return whether they are gone. The last process may need a moment to leave."""
        for path in set(self.paths.values()):
            for tried in range(tries):
                try:
                    path.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    if tries > 1:
                        time.sleep(0.005 if tried > 4 else 0.001)
                else:
                    break
        return not any(path.exists() for path in self.paths.values())

    def limits(self) -> tuple[int | None, int | None]:
        memory = self._number("memory", "memory.max" if self.version == 2 else "memory.limit_in_bytes")
        return memory, self._number("pids", "pids.max")

    def memory_kills(self) -> int:
        """How many processes were killed because memory was used up."""
        return self._counter("memory", "memory.events" if self.version == 2 else "memory.oom_control", "oom_kill")

    def refused_processes(self) -> int:
        return self._counter("pids", "pids.events", "max")

    def peak_memory_bytes(self) -> int | None:
        return self._number("memory", "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes")

    def cpu_s(self) -> float | None:
        """CPU time so far."""
        if self.version == 2:
            if "cpu" not in self.paths:
                return None
            return self._counter("cpu", "cpu.stat", "usage_usec") / 1e6
        number = self._number("cpuacct", "cpuacct.usage")
        return None if number is None else number / 1e9

    def threads(self) -> list[str]:
        """Return all threads in it, as places below /proc."""
        name = "cgroup.threads" if self.version == 2 else "tasks"
        for path in list(self.paths.values())[:1]:
            with contextlib.suppress(OSError):
                return (path / name).read_text().split()
        return []

    def _limit(self, memory_bytes: int, processes: int, cpus: float, niceness: int) -> None:
        quota = int(cpus * _PERIOD_US) if cpus < (os.cpu_count() or 1) else -1
        if self.version == 2:
            self._set("memory", "memory.max", memory_bytes)
            self._set("memory", "memory.swap.max", 0, optional=True)
            self._set("cpu", "cpu.max", f"{quota if quota > 0 else 'max'} {_PERIOD_US}")
        else:
            self._set("memory", "memory.limit_in_bytes", memory_bytes)
            self._set("memory", "memory.memsw.limit_in_bytes", memory_bytes, optional=True)
            self._set("cpu", "cpu.cfs_period_us", _PERIOD_US)
            self._set("cpu", "cpu.cfs_quota_us", quota)
        self._set("pids", "pids.max", processes)
        unified = self.version == 2
        # Half of the default (100 and 1024), so that groundup answers however busy its guests are. The kernel's
        # own step from one niceness to the next is 1.25; between groups that of processes counts nothing.
        share = int((50 if unified else 512) / 1.25**niceness)
        self._set("cpu", "cpu.weight" if unified else "cpu.shares", max(2, share), optional=True)

    @property
    def can_be_entered(self) -> bool:
        """Whether a process without threads can move itself there, as in version 1 only.

        Moving another one holds up every fork on the machine until those under way are done, which a fork bomb can
        make half a minute.
        """
        return self.version == 1

    def enter(self) -> None:
        """Move this process. Raises `OSError`."""
        for path in set(self.paths.values()):
            _write(f"{path}/tasks", b"0")

    def hasten(self) -> None:
        """Take the bounds of processor time away: what is being ended should be gone soon."""
        unified = self.version == 2
        self._set("cpu", "cpu.max" if unified else "cpu.cfs_quota_us", "max" if unified else -1, optional=True)
        self._set("cpu", "cpu.weight" if unified else "cpu.shares", 200 if unified else 2048, optional=True)

    def _set(self, controller: str, name: str, value: int | str, *, optional: bool = False) -> None:
        if controller in self.paths:
            with contextlib.suppress(OSError) if optional else contextlib.nullcontext():
                _write(f"{self.paths[controller]}/{name}", str(value).encode())

    def _counter(self, controller: str, name: str, key: str) -> int:
        if controller not in self.paths:
            return 0
        try:
            lines = _read(f"{self.paths[controller]}/{name}").splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.split()[:1] == [key.encode()]), 0)

    def _number(self, controller: str, name: str) -> int | None:
        try:
            return int(_read(f"{self.paths[controller]}/{name}"))
        except (OSError, KeyError, ValueError):
            return None


def _read(path: str) -> bytes:
    """Return what one of the kernel's small files says: many times for each sandbox, so without ceremony."""
    with open(path, "rb", buffering=0) as file:
        return file.read(4096)


def _write(path: str, content: bytes) -> None:
    with open(path, "wb", buffering=0) as file:
        file.write(content)


class Refusals:
    """Tells a fork bomb from a program that meets its limit of processes once: it is refused without end."""

    def __init__(self) -> None:
        self._seen = self._looks = self._new = 0
        self._next = 0.0

    def are_a_bomb(self, group: SandboxGroups, now: float) -> bool:
        """Look four times a second; return whether processes are refused in every look for a second, and often."""
        if now < self._next:
            return False
        self._next = now + _LOOK_S
        refused = group.refused_processes()
        grown, self._seen = refused - self._seen, refused
        self._looks, self._new = (self._looks + 1, self._new + grown) if grown > 0 else (0, 0)
        return self._looks >= _BOMB_LOOKS and self._new >= _BOMB_REFUSALS


class Quota(NamedTuple):
    """How many processors all of one control group, ours or one around it, may use together."""

    processors: float
    counter: Path

    def used_s(self) -> float:
        """Return the processor time of that group so far."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = _read(str(self.counter)).split()
            return int(words[0]) / 1e9 if len(words) == 1 else int(words[words.index(b"usage_usec") + 1]) / 1e6
        return 0.0


@functools.cache
def cpu_quota() -> Quota | None:
    """Return the narrowest quota of our control group and those around it, as containers have one."""
    own, mounts = _own_groups(), mounted_groups()
    found = []
    if "cgroup2" in mounts and "" in own:
        top = mounts["cgroup2"][1]
        for folder in _upwards(_inside(mounts["cgroup2"], own[""]), top):
            limit, *period = _words(folder / "cpu.max") or ("max",)
            if limit.isdigit() and period:
                found.append(Quota(int(limit) / int(period[0]), folder / "cpu.stat"))
    if {"cpu", "cpuacct"} <= own.keys() & mounts.keys():
        counted = _inside(mounts["cpuacct"], own["cpuacct"])
        for folder in _upwards(_inside(mounts["cpu"], own["cpu"]), mounts["cpu"][1]):
            limit = "".join(_words(folder / "cpu.cfs_quota_us"))
            if limit.isdigit():
                period = _words(folder / "cpu.cfs_period_us")
                same = mounts["cpuacct"][1] / folder.relative_to(mounts["cpu"][1])
                found.append(
                    Quota(int(limit) / int(period[0]), (same if same.is_dir() else counted) / "cpuacct.usage")
                )
    return min(found, key=lambda quota: quota.processors, default=None)


def memory_limits_bytes(proc: Path = Path("/proc")) -> Iterator[int]:
    """Yield the limits of our control group and those around it, in both versions' hierarchies."""
    own, mounts = _own_groups(proc), mounted_groups(proc)
    for hierarchy, group, name in (("cgroup2", "", "memory.max"), ("memory", "memory", "memory.limit_in_bytes")):
        if hierarchy in mounts and group in own:
            top = mounts[hierarchy]
            for folder in _upwards(_inside(top, own[group]), top[1]):
                with contextlib.suppress(OSError, ValueError):  # absent, or "max"
                    yield int((folder / name).read_text())


def _upwards(folder: Path, top: Path) -> Iterator[Path]:
    yield folder
    while folder != top and top in folder.parents:
        folder = folder.parent
        yield folder


def _own_groups(proc: Path = Path("/proc")) -> dict[str, str]:
    """Return controller -> path of our own group; the unified hierarchy has the empty name."""
    found = {}
    with contextlib.suppress(OSError):
        for line in (proc / "self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for name in controllers.split(","):
                found[name] = path
    return found


def mounted_groups(proc: Path = Path("/proc")) -> dict[str, tuple[str, Path]]:
    """Return controller (or `cgroup2`) -> (path within the hierarchy that is mounted, mount point)."""
    found: dict[str, tuple[str, Path]] = {}
    with contextlib.suppress(OSError):
        for line in (proc / "self/mountinfo").read_text().splitlines():
            left, _, right = line.partition(" - ")
            kind, _, options = right.split(" ", 2)
            root, point = left.split()[3:5]
            if kind == "cgroup2":
                found.setdefault("cgroup2", (root, Path(point)))
            elif kind == "cgroup":
                for name in options.split(","):
                    found.setdefault(name.split(" ")[-1], (root, Path(point)))
    return found


def _inside(mounted: tuple[str, Path], path: str) -> Path:
    # In a container only part of the hierarchy may be mounted; our group's path still begins at the host's root.
    root, point = mounted
    if root != "/" and (path + "/").startswith(root + "/"):
        path = path[len(root) :]
    folder = point / path.strip("/")
    return folder if folder.is_dir() else point


def _usable_unified(own: Path, top: Path) -> Path | None:
    """Return the nearest ancestor that hands memory and pids to its children and lets us make and fill one."""
    # In version 2 a group with processes of its own cannot hand controllers to groups below it, and ours has some.
    # So a group further up is looked for that hands them down already.
    folder = own
    while True:
        if {"memory", "pids"} <= set(_words(folder / "cgroup.subtree_control")) and _can_make_groups(folder):
            return folder
        if folder == top or top not in folder.parents:
            return None
        folder = folder.parent


def _can_make_groups(folder: Path) -> bool:
    """Whether a group can be made here and our processes moved into it."""
    probe = folder / f"groundup-probe-{os.getpid()}"
    try:
        probe.mkdir()
    except OSError:
        return False
    try:
        # Moving a process needs the right to write to the group that encloses both its old and its new one, too.
        return os.access(probe / "cgroup.procs", os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)
    finally:
        probe.rmdir()


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


TICK_S = 0.1
_PAGE = os.sysconf("SC_PAGE_SIZE")
_HERTZ = os.sysconf("SC_CLK_TCK")


class Census:
    """What the processes of one sandbox use now."""

    def __init__(self) -> None:
        self.processes = self.memory_bytes = 0
        self.cpu_s = 0.0


def processes_below(init: int) -> list[int]:
    """Return *init* and its descendants."""
    found, queue = [], [init]
    while queue:
        pid = queue.pop()
        found.append(pid)
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    queue += map(int, file.read().split())
    return found


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
        # User and system time, own and of children that have ended: fields 14 to 17 of proc(5).
        census.cpu_s += sum(map(int, values[11:15])) / _HERTZ
    return census
