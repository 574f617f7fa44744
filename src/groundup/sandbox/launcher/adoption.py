"""Taking over a container that an engine started: which control groups and host users it has.

The engine made its groups and removes them; here they are only read, and its end is hastened.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from groundup.sandbox.launcher.limits import CONTROLLERS, SandboxGroups, mounted_groups
from groundup.sandbox.launcher.workspaces import lend


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
