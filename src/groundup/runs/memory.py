"""How much memory attempts may reserve together: the machine's, or less where a control group says so."""

import os
from collections.abc import Iterator
from pathlib import Path


def machine_memory_mb(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the memory in MiB that this process and its children can have at most."""
    limits = [limit for limit in _cgroup_limits(proc, cgroups) if limit is not None]
    return min([_total_bytes(proc), *limits]) // (1024 * 1024)


def _total_bytes(proc: Path) -> int:
    try:
        for line in (proc / "meminfo").read_text().splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass  # not Linux: ask the C library
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_limits(proc: Path, cgroups: Path) -> Iterator[int | None]:
    """Yield the limits of this process's groups and of all groups above them, in both versions' hierarchies."""
    try:
        memberships = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for membership in memberships:
        number, controllers, group = (*membership.split(":", 2), "", "")[:3]
        if number == "0" and not controllers:
            root, name = cgroups, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = cgroups / "memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path can be the host's: then only the root of what is mounted exists.
        folder = root / group.lstrip("/")
        while True:
            yield _limit(folder / name)
            if folder == root or root not in folder.parents:
                break
            folder = folder.parent


def _limit(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # absent, or "max"
        return None
