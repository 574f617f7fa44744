"""`machine_memory_mb`: a container's limit counts, not its host's size."""

from pathlib import Path

import pytest

from groundup.runs.scheduler import machine_memory_mb

MIB = 1024 * 1024


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine of 8 GiB, without control groups."""
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemFree: 1 kB\nMemTotal:        8388608 kB\n")
    return tmp_path


def memory_mb(machine: Path) -> int:
    """Ask *machine*."""
    unified = f"30 23 0:26 / {machine}/cgroup rw - cgroup2 cgroup2 rw\n"
    memory = f"31 23 0:27 / {machine}/cgroup/memory rw - cgroup cgroup rw,memory\n"
    (machine / "proc/self/mountinfo").write_text(unified + memory)
    return machine_memory_mb(machine / "proc")


def limit(machine: Path, group: str, name: str, text: str) -> None:
    """Set the limit of a control group."""
    folder = machine / "cgroup" / group
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_without_groups_it_is_the_machines(machine: Path) -> None:
    """MemTotal counts when nothing says less."""
    assert memory_mb(machine) == 8192


@pytest.mark.parametrize("group", ["user/session", "user", ""])
def test_any_group_above_limits_version_2(machine: Path, group: str) -> None:
    """The lowest limit on the way up to the root counts."""
    (machine / "proc" / "self" / "cgroup").write_text("0::/user/session\n")
    limit(machine, "user/session", "memory.max", "max\n")
    limit(machine, group, "memory.max", f"{512 * MIB}\n")
    assert memory_mb(machine) == 512


def test_version_1_limits_too(machine: Path) -> None:
    """A memory controller of version 1 is asked; its "no limit" is a giant number."""
    (machine / "proc" / "self" / "cgroup").write_text("5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n")
    limit(machine, "memory/docker/abc", "memory.limit_in_bytes", "9223372036854771712\n")
    assert memory_mb(machine) == 8192
    limit(machine, "memory", "memory.limit_in_bytes", f"{2048 * MIB}\n")
    assert memory_mb(machine) == 2048


def test_this_machine_has_some() -> None:
    """The real files can be read."""
    assert machine_memory_mb() > 64
