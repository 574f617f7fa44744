"""A supervised sandbox hears its launcher, without one."""

import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.errors import SandboxError
from groundup.sandbox.guest import SupervisedSandbox
from groundup.sandbox.launcher_link import Event
from groundup.sandbox.protocol import SandboxSpec


class Launching:
    """Hands events over."""

    tell: Callable[[Event], None]

    def listen(self, key: str, listener: Callable[[Event], None]) -> None:
        """Take the one who listens."""
        self.tell = listener


async def a_sandbox(folder: Path) -> tuple[SupervisedSandbox, Launching]:
    """Return one whose supervisor's other end is closed, and what tells it."""
    launching: Any = Launching()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    return SupervisedSandbox(SandboxSpec(workspace=folder), launching, "1", ours), launching


async def test_figures_outlive_the_groups(tmp_path: Path) -> None:
    """What was read stays known where an engine removes a container's groups before the launcher looks again."""
    group = tmp_path / "group"
    group.mkdir()
    (group / "memory.max_usage_in_bytes").write_text(str(30 << 20))
    (group / "cpuacct.usage").write_text(str(1_500_000_000))
    sandbox, launching = await a_sandbox(tmp_path)
    groups = {"memory": str(group), "cpuacct": str(group)}
    launching.tell(Event(event="opening", key="1", version=1, groups=groups))
    assert sandbox.usage().peak_memory_mb == 30
    shutil.rmtree(group)
    launching.tell(Event(event="ended", key="1", peak_bytes=0, cpu_s=0.0))
    assert (sandbox.usage().peak_memory_mb, sandbox.usage().cpu_s) == (30, 1.5)


@pytest.mark.parametrize("cause", [None, "disk", "memory", "closed"])
async def test_an_end_by_the_guest(cause: str | None, tmp_path: Path) -> None:
    """A sandbox that its guest ended, or its caller, has ended."""
    sandbox, launching = await a_sandbox(tmp_path)
    assert not sandbox.ended
    launching.tell(Event(event="ended", key="1", cause=cause))
    assert sandbox.ended


@pytest.mark.parametrize("cause", ["launcher", "host_disk"])
async def test_an_end_that_was_no_fault_of_the_guest(cause: str, tmp_path: Path) -> None:
    """A sandbox that was lost is never taken for one that ended: no submission may be graded by that."""
    sandbox, launching = await a_sandbox(tmp_path)
    launching.tell(Event(event="ended", key="1", cause=cause))
    with pytest.raises(SandboxError, match="was lost"):
        assert sandbox.ended
