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
from groundup.sandbox.composition import Composition
from groundup.sandbox.guest import SupervisedSandbox, _check_file
from groundup.sandbox.launcher.wire import STAGE
from groundup.sandbox.launcher_link import Event
from groundup.sandbox.protocol import Ending, SandboxSpec


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


@pytest.mark.parametrize(
    ("code", "kills", "refused", "ending"),
    [
        (0, 1, 1, Ending.EXITED),
        (1, 0, 0, Ending.EXITED),
        (1, 1, 0, Ending.MEMORY),
        (-9, 1, 1, Ending.MEMORY),
        (1, 0, 1, Ending.PROCESSES),
        (-25, 0, 0, Ending.DISK),
        (-25, 0, 1, Ending.DISK),
        (25, 0, 0, Ending.EXITED),
        (OSError(12, "no memory"), 0, 0, Ending.MEMORY),
        (OSError(11, "no process"), 0, 0, Ending.PROCESSES),
    ],
)
async def test_a_limit_ended_a_command_where_the_kernel_counted_it(
    tmp_path: Path, code: object, kills: int, refused: int, ending: Ending
) -> None:
    """Since the command began; its exit code is its own word, but for a file that was too large."""
    (tmp_path / "memory.oom_control").write_text(f"oom_kill {3 + kills}\n")
    (tmp_path / "pids.events").write_text(f"max {5 + refused}\n")
    sandbox, launching = await a_sandbox(tmp_path)
    groups = {"memory": str(tmp_path), "pids": str(tmp_path)}
    launching.tell(Event(event="opening", key="1", version=1, groups=groups))
    assert sandbox._ending(code, 3, 5) is ending
    launching.tell(Event(event="ended", key="1"))


@pytest.mark.parametrize(
    ("code", "kind", "told"),
    [
        (OSError(5, "gone"), OSError, "gone"),
        (22, ValueError, "here is not a regular file"),
        (2, FileNotFoundError, "No such file or directory: 'here'"),
        (13, PermissionError, "Permission denied: 'here'"),
        (-9, InterruptedError, "Interrupted"),
    ],
)
def test_what_kept_a_file_from_being_read_is_raised(code: object, kind: type[Exception], told: str) -> None:
    """As the error that it was in the guest; a helper that was killed was interrupted."""
    with pytest.raises(kind, match=told):
        _check_file(code, "here")
    _check_file(0, "here")


@pytest.mark.parametrize("staged", [True, False])
def test_what_a_sandbox_shows_is_named_once(tmp_path: Path, staged: bool) -> None:
    """By its own path, or where it is bound for a guest's user who could not reach that."""
    composition = Composition(tmp_path, staged=staged)
    (tmp_path / "lib").mkdir()
    names = [composition.source(tmp_path / name) for name in ("a", "b", "a")]
    program = composition.program(tmp_path / "bin" / "python", tmp_path / "lib")
    if not staged:
        assert (names, program) == ([str(tmp_path / name) for name in "aba"], str(tmp_path / "bin" / "python"))
        assert composition.sources == {}
        return
    assert names == [f"{STAGE}/{number}" for number in (0, 1, 0)]
    assert composition.program(tmp_path / "bin" / "python", tmp_path / "none") == str(tmp_path / "bin" / "python")
    assert (composition.sources["0"], composition.sources["lib"]) == (tmp_path / "a", tmp_path / "lib")
    place, _, inner = program.removeprefix(f"{STAGE}/").partition("/")
    assert (composition.sources[place], inner) == (tmp_path, "bin/python")
