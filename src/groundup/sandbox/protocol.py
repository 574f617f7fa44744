"""What every sandbox can do, whichever provider it is of.

Owns the request and response records and the three protocols: `SandboxProvider` opens a `Sandbox` or a `Pod`.
Knows nothing of tasks or grades. Everything that comes out of a sandbox is hostile: callers validate it.
"""

import posixpath
import re
import socket
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol, Self

from pydantic import Field

from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.inside.stopwatch import Stopwatch
from groundup.trees.writer import lay_tree

WORKSPACE = "/workspace"
"""Where the workspace is seen inside every sandbox."""


class Mount(Record):
    """A host file or folder, seen inside at an absolute path. Read-only unless it says otherwise.

    Mounts are made in order, so a later one can lie inside an earlier one or inside the workspace.
    """

    source: Path
    target: str
    writable: bool = False


class SandboxSpec(Record):
    """What a sandbox is made of."""

    workspace: Path = Field(description="a plain folder on the host, seen writable at /workspace")
    mounts: tuple[Mount, ...] = ()
    environment: dict[str, str] = Field(default={}, description="of every command; nothing else is inherited")
    path: tuple[str, ...] = Field(default=(), description="folders before /usr/bin:/bin in PATH")
    limits: Limits = Limits()
    user: Literal["ordinary", "root"] = Field(
        default="ordinary", description="who the guest believes to be; on the host never uid 0"
    )
    system: Literal["listed", "host"] = Field(
        default="listed",
        description="whose programs lie in /usr: those of a fixed list, or, where tools are needed, the host's",
    )
    root: Path | None = Field(
        default=None, description="an unpacked image, whose programs there are in place of `system`'s"
    )
    throw_away_root: bool = Field(
        default=False, description="whether the guest may write beside the mounts, as in a container"
    )
    label: str = Field(default="sandbox", description="for messages and `doctor`")


class GuestPlaces:
    """The workspace and mounts of one specification."""

    def __init__(self, spec: SandboxSpec) -> None:
        pairs = [(WORKSPACE, spec.workspace), *((mount.target, mount.source) for mount in spec.mounts)]
        self._pairs = sorted(pairs, key=lambda pair: -len(pair[0]))  # the innermost wins
        targets = "|".join(re.escape(target) for target, _ in self._pairs)
        self._named = re.compile(rf"(?<![\w.-])({targets})(?![\w.-])")

    def host(self, path: str) -> Path | None:
        """Return where *path* lies on the host; None when it is neither in the workspace nor in a mount."""
        path = posixpath.normpath(posixpath.join(WORKSPACE, path))
        for target, source in self._pairs:
            if path == target or path.startswith(f"{target}/"):
                return source / path[len(target) :].lstrip("/")
        return None

    def rewritten(self, text: str) -> str:
        """Return *text* with every guest's path in it replaced by the host's."""
        sources = dict(self._pairs)
        return self._named.sub(lambda match: str(sources[match[1]].absolute()), text)


class Ending(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    DISK = "disk"
    PROCESSES = "processes"
    WALL_CLOCK = "wall_clock"
    SANDBOX_DIED = "sandbox_died"

    @property
    def is_out_of_time(self) -> bool:
        """Whether the time of the command, or of its sandbox, was up."""
        return self in (Ending.TIMEOUT, Ending.WALL_CLOCK)


class Command(Record):
    """One program to run. No shell is involved unless argv names one."""

    argv: tuple[str, ...] = Field(min_length=1)
    cwd: str = WORKSPACE
    environment: dict[str, str] = Field(default={}, description="added to the sandbox's")
    stdin: bytes = b""
    stdin_later: Callable[[], Awaitable[bytes]] | None = Field(
        default=None,
        description="gives the rest of `stdin`, if possible to a program that waits; no limit counts until then",
    )
    timeout_s: float | None = Field(
        default=None, description="by the sandbox's stopwatch; None: the sandbox's `command_s`"
    )
    output_bytes: int | None = Field(default=None, description="None: the sandbox's `output_bytes`")
    report_fd: int | None = Field(
        default=None, ge=3, le=9, description="descriptor number of a pipe whose bytes come back as `report`"
    )
    silence_s: float | None = Field(
        default=None, description="it is ended, as by its timeout, when nothing came by `report_fd` for so long"
    )
    parting_signal: int | None = Field(
        default=None,
        description="sent a moment before it is ended for its time: it may say where it is",
    )
    report_bytes: int = Field(default=64 * 1024 * 1024, description="more than that is cut off")
    is_look: bool = Field(
        default=False,
        description="groundup looks beside the guest: what this waits for keeps nothing from the guest",
    )


class CommandResult(Record):
    """What a command did. Streams keep head and tail when they exceed the cap, with a note between."""

    exit_code: int | None = Field(description="negative: minus the signal; None: it never ended by itself")
    ending: Ending
    stdout: bytes
    stderr: bytes
    report: bytes = b""
    truncated: bool = False
    met: tuple[Ending, ...] = Field(
        default=(),
        description="limits that processes of the sandbox met since its last command, whatever the exit code",
    )
    duration_s: float
    uncounted_s: float = Field(
        default=0.0,
        description="of the duration, what the machine kept from it, or groundup, which owed an answer",
    )

    @property
    def counted_s(self) -> float:
        """What counts against limits."""
        return self.duration_s - self.uncounted_s

    @property
    def ok(self) -> bool:
        return self.ending is Ending.EXITED and self.exit_code == 0


class Usage(Record):
    """What a sandbox has used so far; None where the machine cannot say."""

    peak_memory_mb: float | None
    cpu_s: float | None


class Closing(ABC):
    """Is used as a context, and closed at its end."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what it holds. Can be called twice."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


class Service(Protocol):
    """A program that goes on while other commands run in the same sandbox."""

    def alive(self) -> bool:
        """Whether its first process has not ended."""
        ...

    async def wait(self, timeout_s: float) -> int | None:
        """Return its exit code, or None when it is alive after *timeout_s* of the sandbox's stopwatch."""
        ...

    def output(self) -> bytes:
        """Return stdout and stderr so far, together, capped."""
        ...

    async def stop(self) -> None:
        """End it with its whole process group."""
        ...


class Connecting(Protocol):
    """Where connections to ports inside begin."""

    async def connect(self, port: int) -> socket.socket:
        """Return a TCP socket connected to 127.0.0.1:*port* inside; raises `ConnectionError`."""
        ...

    def stopwatch(self) -> Stopwatch:
        """Return a stopwatch that starts now and is slow while others keep the guest from the processors."""
        ...


class Sandbox(Connecting, Protocol):
    """A place where commands run; processes that a command leaves behind live until it is closed."""

    spec: SandboxSpec

    async def run(self, command: Command) -> CommandResult:
        """Run *command* to its end or its limits. Raises `SandboxError` when the sandbox itself fails."""
        ...

    async def start(self, command: Command) -> Service:
        """Start a program and return at once. Its `timeout_s` and `stdin` are not used."""
        ...

    async def listen(self, port: int) -> socket.socket:
        """Return a listening TCP socket on the guest's 127.0.0.1:*port*, served by the host (port 0: any)."""
        ...

    async def read_file(self, path: str, max_bytes: int = 16 * 1024 * 1024) -> bytes:
        """Read a regular file as the guest; raises `FileNotFoundError` or `ValueError` when too large."""
        ...

    async def write_file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file as the guest, making its folders."""
        ...

    async def is_deserted(self) -> bool:
        """Whether all that the guest started is known to have ended."""
        ...

    def usage(self) -> Usage:
        """Return what it has used so far."""
        ...

    def excuse(self, owed_s: Callable[[], float]) -> None:
        """Do not count the seconds that *owed_s* returns, in which groundup owed the guest an answer."""
        ...

    async def close(self) -> None:
        """End every process and give the workspace back to the caller's user. Can be called twice."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...


class Pod(Protocol):
    """Sandboxes that share one private network, and nothing else."""

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Open a sandbox inside the pod."""
        ...

    async def observer(self, spec: SandboxSpec) -> Connecting:
        """Return what asks the others' ports: a sandbox of *spec*, in which nothing will ever run, unless dear."""
        return await self.open(spec)

    async def close(self) -> None:
        """Close all its sandboxes."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...


class Enforcement(Record):
    """What enforces each limit on this machine, in words for `doctor` and for lock files."""

    cpus: str
    memory: str
    processes: str
    disk: str
    network: str


class SandboxProvider(Protocol):
    """Opens sandboxes. One provider lives as long as the program, closed by its context."""

    name: str

    @property
    def guests_are_others(self) -> bool:
        """Whether on the host each guest is another user than groundup, who cannot write its files."""
        ...

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """Open a sandbox; raises `SandboxError` with what to do when the machine cannot."""
        ...

    async def pod(self) -> Pod:
        """Open an empty pod."""
        ...

    def enforcement(self) -> Enforcement:
        """Say what enforces the limits."""
        ...

    def identity(self) -> Mapping[str, str]:
        """Name and version, for verdict cache keys and lock files."""
        ...

    async def close(self) -> None:
        """Close every sandbox that is still open."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...


def writable_copy(mount: Mount, scratch: Path, provider: SandboxProvider) -> Mount:
    """Return *mount* as a folder of its own in *scratch*, into which an installer can write.

    Where guests are other users than groundup, the files are those of the layer, which a guest can replace but not
    write.
    """
    copy = scratch / mount.target.strip("/").replace("/", "-")
    lay_tree(mount.source, copy, shared=provider.guests_are_others)
    return Mount(source=copy, target=mount.target, writable=True)
