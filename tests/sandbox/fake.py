"""A provider that runs nothing: a script answers, and commands are recorded. For tests of what uses sandboxes."""

import asyncio
import socket
import time
from collections.abc import Callable, Mapping

from groundup.domain.errors import SandboxError
from groundup.inside.stopwatch import Reading, Stopwatch
from groundup.sandbox.protocol import (
    Closing,
    Command,
    CommandResult,
    Ending,
    Enforcement,
    GuestPlaces,
    Pod,
    SandboxSpec,
    Usage,
)
from groundup.settings import Settings

Script = Callable[[SandboxSpec, Command], CommandResult]
"""Says what a command did; it may read and write the specification's workspace, as the command would have."""


def create(settings: Settings) -> "FakeProvider":
    """Return a provider whose commands all succeed and say nothing."""
    return FakeProvider()


def answer(
    exit_code: int | None = 0,
    stdout: bytes = b"",
    stderr: bytes = b"",
    *,
    report: bytes = b"",
    ending: Ending = Ending.EXITED,
) -> CommandResult:
    """Return the result of a command, for scripts."""
    return CommandResult(
        exit_code=exit_code, ending=ending, stdout=stdout, stderr=stderr, report=report, duration_s=0.0
    )


class FakeProvider(Closing):
    """Opens fake sandboxes. `commands` and `specs` say what was asked of it, in order."""

    name = "fake"
    guests_are_others = False

    def __init__(self, script: Script = lambda spec, command: answer()) -> None:
        self.commands: list[Command] = []
        self.specs: list[SandboxSpec] = []
        self.sandboxes: list[FakeSandbox] = []
        self.script = script
        self.read: Callable[[], Reading] = lambda: Reading(time.monotonic())
        """How things stand with the machine and each sandbox; for stopwatches."""

    async def open(self, spec: SandboxSpec) -> "FakeSandbox":
        """Open a sandbox with ports of its own."""
        return self.opened(spec, {})

    def opened(self, spec: SandboxSpec, ports: "dict[int, socket.socket]") -> "FakeSandbox":
        """Return a new sandbox that has these *ports*."""
        sandbox = FakeSandbox(self, spec, ports)
        self.specs.append(spec)
        self.sandboxes.append(sandbox)
        return sandbox

    async def pod(self) -> "FakePod":
        """Open an empty pod."""
        return FakePod(self)

    def enforcement(self) -> Enforcement:
        """Say that nothing is enforced."""
        return Enforcement(cpus="none", memory="none", processes="none", disk="none", network="none")

    def identity(self) -> Mapping[str, str]:
        """Name and version."""
        return {"sandbox": self.name}

    async def close(self) -> None:
        """Close every sandbox that is still open."""
        for sandbox in self.sandboxes:
            await sandbox.close()


class FakeSandbox(Closing):
    """Answers by its provider's script. Files in the workspace and in mounts are real; others are remembered."""

    def __init__(self, provider: FakeProvider, spec: SandboxSpec, ports: dict[int, socket.socket]) -> None:
        self.spec = spec
        self.closed = False
        self.files: dict[str, bytes] = {}
        self.services: list[FakeService] = []
        self.excuses: list[Callable[[], float]] = []
        self._provider = provider
        self._ports = ports

    async def run(self, command: Command) -> CommandResult:
        """Record *command* and return what the script says."""
        self._check()
        if command.stdin_later:
            command = command.but(stdin=command.stdin + await command.stdin_later(), stdin_later=None)
        self._provider.commands.append(command)
        return self._provider.script(self.spec, command)

    async def start(self, command: Command) -> "FakeService":
        """Record *command*; its service lives until it is stopped."""
        self._check()
        self._provider.commands.append(command)
        service = FakeService(self._provider.script(self.spec, command))
        self.services.append(service)
        return service

    async def listen(self, port: int) -> socket.socket:
        """Return a listening socket that `connect` finds by *port*."""
        self._check()
        if port in self._ports:
            raise SandboxError(f"cannot listen on port {port}: it is in use")
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        self._ports[port or listener.getsockname()[1]] = listener
        return listener

    async def connect(self, port: int) -> socket.socket:
        """Return a socket that is connected to what listens on *port*."""
        self._check()
        if port not in self._ports or self._ports[port].fileno() < 0:
            raise ConnectionRefusedError(f"nothing listens on port {port}")
        connection = socket.create_connection(self._ports[port].getsockname())
        connection.setblocking(False)
        return connection

    async def read_file(self, path: str, max_bytes: int = 16 * 1024 * 1024) -> bytes:
        """Read a file."""
        self._check()
        place = GuestPlaces(self.spec).host(path)
        if place is None and path not in self.files:
            raise FileNotFoundError(path)
        if place is not None and not place.is_file():
            if place.exists():
                raise ValueError(f"{path} is not a regular file")
            raise FileNotFoundError(path)
        content = self.files[path] if place is None else place.read_bytes()
        if len(content) > max_bytes:
            raise ValueError(f"{path} has more than {max_bytes} bytes")
        return content

    async def write_file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file, making its folders."""
        self._check()
        place = GuestPlaces(self.spec).host(path)
        if place is None:
            self.files[path] = content
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(mode)

    async def is_deserted(self) -> bool:
        """Whether every service was stopped."""
        return not any(service.alive() for service in self.services)

    def usage(self) -> Usage:
        """Return that this is unknown."""
        return Usage(peak_memory_mb=None, cpu_s=None)

    def stopwatch(self) -> Stopwatch:
        """Return a stopwatch that reads what the provider says: an ordinary one, unless that was changed."""

        def read() -> Reading:
            return self._provider.read()._replace(owed_s=sum(owed_s() for owed_s in self.excuses))

        return Stopwatch(read)

    def excuse(self, owed_s: Callable[[], float]) -> None:
        """Take note of it."""
        self.excuses.append(owed_s)

    async def close(self) -> None:
        """End its services."""
        self.closed = True
        for service in self.services:
            await service.stop()
        for listener in self._ports.values():
            listener.close()

    def _check(self) -> None:
        if self.closed:
            raise SandboxError(f"sandbox {self.spec.label} is closed")


class FakeService:
    """Lives until it is stopped, or has ended at once when the script says that it failed."""

    def __init__(self, result: CommandResult) -> None:
        self._result = result
        self._ended = asyncio.Event()
        self._code = result.exit_code
        if not result.ok:
            self._ended.set()

    def alive(self) -> bool:
        """Whether it has not ended."""
        return not self._ended.is_set()

    async def wait(self, timeout_s: float) -> int | None:
        """Return its exit code, or None when it is alive after *timeout_s*."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()
        except TimeoutError:
            return None
        return self._code

    def output(self) -> bytes:
        """Return what the script says that it wrote."""
        return self._result.stdout + self._result.stderr

    async def stop(self) -> None:
        """End it."""
        if self.alive():
            self._code = -9
            self._ended.set()


class FakePod(Closing, Pod):
    """Fake sandboxes that share their ports."""

    def __init__(self, provider: FakeProvider) -> None:
        self._provider = provider
        self._ports: dict[int, socket.socket] = {}
        self._members: list[FakeSandbox] = []

    async def open(self, spec: SandboxSpec) -> FakeSandbox:
        """Open a sandbox inside the pod."""
        self._members.append(self._provider.opened(spec, self._ports))
        return self._members[-1]

    async def close(self) -> None:
        """Close all its sandboxes."""
        for member in self._members:
            await member.close()
