"""Commands in folders of the machine itself, without namespaces: what sandboxes inside a container build upon.

Nothing is mounted: paths of the workspace and of mounts that a command names are replaced by their places on the
host. Of the limits, only time and output are kept. Who runs them, and which root they see, is up to subclasses.
"""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from groundup.domain.errors import SandboxError
from groundup.inside.stopwatch import Stopwatch, threads_of
from groundup.sandbox.deadlines import Meter, Silence, is_done_within, limited, note, silence_of
from groundup.sandbox.launcher.limits import processes_below, take_census
from groundup.sandbox.pipes import Drain, Feed, close_all, drained_pipe, fed_pipe
from groundup.sandbox.protocol import (
    Closing,
    Command,
    CommandResult,
    Ending,
    GuestPlaces,
    Pod,
    SandboxSpec,
    Usage,
)

_PLACE_REPORT = """
import os, sys
given, wanted = map(int, sys.argv[1:3])
os.dup2(given, wanted) if given != wanted else os.set_inheritable(given, True)
try:
    os.execvp(sys.argv[3], sys.argv[3:])
except OSError as error:
    os.write(2, f"sandbox: cannot run {sys.argv[3]}: {error.strerror}\\n".encode())
    sys.exit(127 if isinstance(error, FileNotFoundError) else 126)
"""
"""Gives a descriptor the number that a command expects, then becomes the command."""
_PARTING_S = 1.0
"""How long a command has to leave by its parting signal."""
_OF_THE_PROGRAM = (
    *(errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.EISDIR, errno.ELOOP),
    *(errno.ENAMETOOLONG, errno.E2BIG, errno.ETXTBSY, errno.ELIBBAD),
)
"""Why a program may not start that lies in what it is: a result. Other reasons are the machine's."""


class HostFolder(Closing):
    """A workspace on the host."""

    def __init__(self, spec: SandboxSpec) -> None:
        self.spec = spec
        self._places = GuestPlaces(spec)
        self._sessions: set[int] = set()
        self._drains: list[Drain] = []
        self._closed = False
        self._meter = Meter(self._own_s, lambda: spec.limits.cpus, self._threads)

    def _own_s(self) -> float:
        return sum(take_census(session).cpu_s for session in self._sessions)

    def _threads(self) -> Iterator[str]:
        return (thread for one in self._sessions for thread in threads_of(processes_below(one)))

    async def run(self, command: Command) -> CommandResult:
        """Run *command* to its end or its deadline."""
        if command.stdin_later:
            command = command.but(stdin=command.stdin + await command.stdin_later(), stdin_later=None)
        stopwatch = self.stopwatch()
        limits = self.spec.limits
        limit = limits.output_bytes if command.output_bytes is None else command.output_bytes
        drains = [drained_pipe(limit), drained_pipe(limit)]
        if command.report_fd is not None:
            drains.append(drained_pipe(command.report_bytes, keep_tail=False))
        feed, stdin = fed_pipe(command.stdin)
        self._drains += [drain for drain, _ in drains]
        try:
            silence = silence_of(command, drains, stopwatch)
            code = await self._finish(command, stdin, [end for _, end in drains], feed, (stopwatch, silence))
        finally:
            for drain, _ in drains:
                drain.catch_up()
        note(stopwatch)
        timed_out = code is None
        streams = [drain.capture for drain, _ in drains]
        for drain, _ in drains:
            drain.discard()
        return CommandResult(
            exit_code=code,
            ending=Ending.TIMEOUT if timed_out else Ending.EXITED,
            stdout=streams[0].value(),
            stderr=streams[1].value(),
            report=streams[2].value() if len(streams) > 2 else b"",
            truncated=any(stream.truncated for stream in streams),
            duration_s=stopwatch.wall_s(),
            uncounted_s=stopwatch.uncounted_s(),
        )

    async def start(self, command: Command) -> "HostService":
        """Start a program and return at once."""
        drain, end = drained_pipe(
            self.spec.limits.output_bytes if command.output_bytes is None else command.output_bytes
        )
        self._drains.append(drain)
        _, stdin = fed_pipe(b"")
        process = await self._process(command, stdin, [end, end])
        return HostService(process, drain)

    async def listen(self, port: int) -> socket.socket:
        """Listen on the host's own loopback."""
        self._check()
        try:
            listener = socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise SandboxError(f"cannot listen on the host's port {port}: {error.strerror}") from error
        listener.setblocking(False)
        return listener

    async def connect(self, port: int) -> socket.socket:
        """Connect to the host's own loopback."""
        self._check()
        connection = socket.socket()
        connection.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        except OSError:
            connection.close()
            raise
        return connection

    async def read_file(self, path: str, max_bytes: int = 16 * 1024 * 1024) -> bytes:
        """Read a regular file."""
        self._check()
        place = self._places.host(path)
        if place is None or not place.exists():
            raise FileNotFoundError(path)
        if not place.is_file():
            raise ValueError(f"{path} is not a regular file")
        with place.open("rb") as file:
            content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise ValueError(f"{path} has more than {max_bytes} bytes")
        return content

    async def write_file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file, making its folders."""
        self._check()
        place = self._places.host(path)
        if place is None:
            raise PermissionError(f"{path} is neither in the workspace nor in a mount")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(mode)

    async def is_deserted(self) -> bool:
        """Return False: what left its session is not known."""
        return False

    def usage(self) -> Usage:
        return Usage(peak_memory_mb=None, cpu_s=None)

    def stopwatch(self) -> Stopwatch:
        return self._meter.stopwatch()

    def excuse(self, owed_s: Callable[[], float]) -> None:
        """Have the stopwatches leave out what *owed_s* returns."""
        self._meter.excuse(owed_s)

    async def close(self) -> None:
        """End everything that was started, as far as it stayed in its session's process group."""
        self._closed = True
        for session in self._sessions:
            _kill_group(session)
        self._sessions.clear()
        for drain in self._drains:
            drain.close()
        self._drains.clear()

    async def _finish(
        self,
        command: Command,
        stdin: int,
        ends: list[int],
        feed: Feed | None,
        watches: tuple[Stopwatch, Silence | None],
    ) -> int | None:
        stopwatch, silence = watches
        try:
            process = await self._process(command, stdin, ends)
            if isinstance(process, int):
                return process
            timeout_s = self.spec.limits.command_s if command.timeout_s is None else command.timeout_s
            ended = asyncio.ensure_future(process.wait())
            try:
                if await is_done_within(ended, stopwatch, timeout_s, silence):
                    return await ended
                if command.parting_signal and process.returncode is None:
                    process.send_signal(command.parting_signal)
                    await asyncio.wait([ended], timeout=_PARTING_S)
                return None
            finally:
                if process.returncode is None:
                    _kill_group(process.pid)
                await ended
        finally:
            if feed:
                feed.close()

    async def _process(self, command: Command, stdin: int, ends: list[int]) -> asyncio.subprocess.Process | int:
        """Start a command in a session of its own.

        Return an exit code, with a message on its stderr, for what cannot be run. Raises `SandboxError` where the
        machine could not start it: no submission is to blame for that.
        """
        variables = self._variables() | command.environment
        argv = list(command.argv)
        if command.report_fd is not None:
            argv = [*self._reporting(ends[2], command.report_fd), *argv]
        try:
            self._check()
            argv, cwd = self._placed(argv, command.cwd)
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env={name: self._places.rewritten(value) for name, value in variables.items()},
                stdin=stdin,
                stdout=ends[0],
                stderr=ends[1],
                pass_fds=ends[2:],
                start_new_session=True,
                **self._identity(),
            )
        except OSError as error:
            if error.errno not in _OF_THE_PROGRAM:
                raise SandboxError(f"cannot start {command.argv[0]} on this machine: {error.strerror}") from error
            os.write(ends[1], f"sandbox: cannot run {command.argv[0]}: {error.strerror}\n".encode())
            return 127 if isinstance(error, FileNotFoundError) else 126
        finally:
            close_all(stdin, *set(ends))
        self._sessions.add(process.pid)
        return process

    def _reporting(self, given: int, wanted: int) -> list[str]:
        """Return what starts a command whose descriptor *wanted* is *given*."""
        return [sys.executable, "-I", "-S", "-c", _PLACE_REPORT, str(given), str(wanted)]

    def _placed(self, argv: list[str], cwd: str) -> tuple[list[str], str | Path]:
        """Return what is started for *argv*, and in which folder, as the host names both."""
        return [self._places.rewritten(word) for word in argv], self._places.host(cwd) or cwd

    def _variables(self) -> dict[str, str]:
        path = ":".join((*self.spec.path, "/usr/local/bin", "/usr/bin", "/bin"))
        return {"PATH": path, "HOME": str(self.spec.workspace), "LANG": "C.UTF-8", **self.spec.environment}

    def _identity(self) -> dict[str, Any]:
        """Return as whom commands run, as `subprocess.Popen` takes it: as the caller."""
        return {}

    def _check(self) -> None:
        if self._closed:
            raise SandboxError(f"sandbox {self.spec.label} is closed")


class HostService:
    """A program that goes on on the host."""

    def __init__(self, process: asyncio.subprocess.Process | int, drain: Drain) -> None:
        """Take a process, or the exit code of what could not be started."""
        self._process = process
        self._drain = drain

    def alive(self) -> bool:
        """Whether its first process has not ended."""
        return not isinstance(self._process, int) and self._process.returncode is None

    async def wait(self, timeout_s: float) -> int | None:
        """Return its exit code, or None when it is alive after *timeout_s*."""
        if isinstance(self._process, int):
            return self._process
        try:
            async with limited(Meter().stopwatch(), timeout_s):
                return await self._process.wait()
        except TimeoutError:
            return None

    def output(self) -> bytes:
        """Return stdout and stderr so far."""
        self._drain.catch_up()
        return self._drain.capture.value()

    async def stop(self) -> None:
        """End it with its process group."""
        if not isinstance(self._process, int):
            _kill_group(self._process.pid)
            await self._process.wait()


class HostFolders(Protocol):
    """Opens folders."""

    async def open(self, spec: SandboxSpec) -> HostFolder:
        """Open one."""
        ...


class HostPod(Closing, Pod):
    """Folders on the host; they share its network, as always here."""

    def __init__(self, provider: HostFolders) -> None:
        self._provider = provider
        self._members: list[HostFolder] = []

    async def open(self, spec: SandboxSpec) -> HostFolder:
        self._members.append(await self._provider.open(spec))
        return self._members[-1]

    async def close(self) -> None:
        for member in self._members:
            await member.close()


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
