"""A supervised sandbox hears its launcher, without one."""

import asyncio
import re
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.errors import NoSandboxesError, SandboxError
from groundup.inside.supervisor import pack
from groundup.sandbox.guest import SupervisedSandbox
from groundup.sandbox.launcher_link import Event
from groundup.sandbox.protocol import SandboxSpec


class Launching:
    """Hands events over."""

    tell: Callable[[Event], None]
    alive = True

    def listen(self, key: str, listener: Callable[[Event], None]) -> None:
        """Take the one who listens."""
        self.tell = listener

    async def ask(self, request: dict[str, str]) -> None:
        """Close what is to be closed at once."""
        self.tell(Event(event=f"{request['op']}d", key=request["key"]))

    def forget(self, key: str) -> None:
        """Nobody asks again."""


async def a_sandbox(folder: Path) -> tuple[SupervisedSandbox, Launching]:
    """Return one whose supervisor's other end is closed, and what tells it."""
    launching: Any = Launching()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    return SupervisedSandbox(SandboxSpec(workspace=folder), launching, "1", ours), launching


Starting = tuple[SupervisedSandbox, Launching, socket.socket]


@pytest.fixture
async def starting(tmp_path: Path) -> AsyncIterator[Starting]:
    """Return one whose supervisor lives, what tells it, and the supervisor's end."""
    launching: Any = Launching()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        sandbox = SupervisedSandbox(SandboxSpec(workspace=tmp_path, label="mine"), launching, "1", ours)
        yield sandbox, launching, theirs
        await sandbox.close()


async def test_a_sandbox_is_open_once_it_is_ready_and_placed(starting: Starting) -> None:
    """Before it is placed, no control group limits it, so whoever waits for it is not told yet."""
    sandbox, launching, supervisor = starting
    opening = asyncio.create_task(sandbox.opened())
    supervisor.send(pack([b"ready", b""]))
    assert not (await asyncio.wait([opening], timeout=0.05))[0]
    launching.tell(Event(event="placed", key="1", init=7))
    await asyncio.wait_for(opening, 30)
    assert not sandbox.closed


@pytest.mark.parametrize("is_ready", [False, True])
@pytest.mark.parametrize(
    ("reason", "said", "kind"),
    [
        ("bwrap: no such option", "did not start: bwrap: no such option; try `groundup doctor`", SandboxError),
        ("", "did not start: no reason given; try `groundup doctor`", SandboxError),
        ("bwrap: setting up uid map: Permission denied", "setting up uid map", NoSandboxesError),
    ],
)
async def test_one_that_ends_before_it_is_open(
    starting: Starting, reason: str, said: str, kind: type[SandboxError], *, is_ready: bool
) -> None:
    """Its launcher's reason is told; one that says that namespaces are forbidden here is an error of its own."""
    sandbox, launching, supervisor = starting
    if is_ready:
        supervisor.send(pack([b"ready", b""]))
    asyncio.get_running_loop().call_later(0.02, launching.tell, Event(event="failed", key="1", message=reason))
    with pytest.raises(SandboxError, match=re.escape(said)) as told:
        await sandbox.opened()
    assert type(told.value) is kind
    assert str(told.value).startswith("sandbox mine (1) ")


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
