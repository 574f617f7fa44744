"""A sandbox with a supervisor, as its callers see it: asks the supervisor and hears from the launcher."""

import asyncio
import contextlib
import errno
import os
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from groundup.domain.errors import NoSandboxesError, SandboxError
from groundup.inside.stopwatch import PERIOD_S, Stopwatch, threads_of
from groundup.inside.supervisor import TOO_LARGE
from groundup.sandbox.composition import base_environment
from groundup.sandbox.deadlines import Debt, Meter, is_done_within, limited, note, silence_of
from groundup.sandbox.launcher.limits import SandboxGroups, processes_below
from groundup.sandbox.launcher_link import Event, LauncherLink, SupervisorLink
from groundup.sandbox.pipes import Drain, close_all, drained_pipe, fed_pipe, settle
from groundup.sandbox.protocol import WORKSPACE, Closing, Command, CommandResult, Ending, SandboxSpec, Usage

_START_S = 60.0
_CONNECT_S = 10.0
_COUNT = "n=0; for p in /proc/[0-9]*; do n=$((n+1)); done; echo $n"
_ALONE = 2
"""The sandbox's supervisor and the shell that counts."""
_END_S = 4.0
"""A command that is not gone this long after it was ended takes its sandbox with it."""
_LEFT_OPEN = 128
"""How many streams of commands that have ended may be open still; each is a descriptor of groundup's."""
_CAUSES = {
    "memory": Ending.MEMORY,
    "processes": Ending.PROCESSES,
    "disk": Ending.DISK,
    "wall_clock": Ending.WALL_CLOCK,
}
_NOT_THE_GUEST = frozenset({"launcher", "failed", "placing", "host_disk"})
_SIGXFSZ = -25
_FORBIDDEN = re.compile(
    r"no permissions? to creat\w+ |creat\w+ new namespace failed|setting up uid map|unshare.*not permitted",
    re.IGNORECASE,
)
"""What bubblewrap prints where namespaces are forbidden."""


class SupervisedSandbox(Closing):
    """Serves one guest. Made by the provider."""

    def __init__(self, spec: SandboxSpec, link: LauncherLink, key: str, control: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self.spec = spec
        self.label = f"{spec.label} ({key})"
        self._link = link
        self._key = key
        self._drains: set[Drain] = set()
        self._left: list[Drain] = []
        self._placed: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[Event] = loop.create_future()
        self._closed: asyncio.Future[None] = loop.create_future()
        self._supervisor = SupervisorLink(control, self._ended)
        self._group = SandboxGroups(0, {})
        self._init = 0
        self.environment = base_environment(spec)
        """Of every command, before its own."""
        self.neighbours: list[SupervisedSandbox] = [self]
        """All of its pod in which something runs, itself included: what they use is not the machine's fault."""
        self._meter = Meter(
            self._own_s, lambda: max(one.spec.limits.cpus for one in self.neighbours), self._threads
        )
        self._debt = Debt()
        self._meter.excuse(self._debt.owed_s)
        self._life: asyncio.TimerHandle | None = None
        self._uid = -1
        self._told = {Ending.MEMORY: 0, Ending.PROCESSES: 0}
        """Kills and refusals that results of commands have told of."""
        self._peak_bytes: int | None = None
        self._cpu_s: float | None = None
        self._closing = False
        link.listen(key, self._hear)

    @property
    def closed(self) -> bool:
        return self._closed.done()

    @property
    def ended(self) -> bool:
        """Whether nothing can run in it any more. Raises `SandboxError` where its guest had no part in that."""
        if self._infrastructure():
            raise SandboxError(f"sandbox {self.label} was lost{self._because()}")
        return self._ended.done()

    def abandon(self) -> None:
        """Undo the making of a sandbox that the launcher was never asked for."""
        self._hear(Event(event="failed", key=self._key, message="it was never started"))
        self._link.forget(self._key)

    async def opened(self) -> None:
        """Wait until the supervisor answers; cancelled, it closes the sandbox. Raises `SandboxError`."""
        try:
            await self._started()
        except asyncio.CancelledError:
            # A second cancellation must not leave the workspace to the guest's user.
            await asyncio.shield(self.close())
            raise

    async def _started(self) -> None:
        # `ready` comes from the supervisor, `placed` from the launcher. No command may run before both: until it
        # is placed, no control group limits the guest.
        await _first(self._supervisor.ready, self._ended, _START_S)
        if self._supervisor.ready.done() and not self._ended.done():
            await _first(self._placed, self._ended, _START_S)
            if self._placed.done() and not self._ended.done():
                self._live_on(self.stopwatch())
                return
        reason = self._ended.result().message if self._ended.done() else "it did not answer"
        await self.close()
        problem = f"sandbox {self.label} did not start: {reason or 'no reason given'}; try `groundup doctor`"
        raise NoSandboxesError(problem) if _FORBIDDEN.search(reason or "") else SandboxError(problem)

    async def run(self, command: Command) -> CommandResult:
        """Run *command* to its end or its limits."""
        if command.is_look:
            with self._meter.looking():
                return await self.run(command.but(is_look=False))
        stopwatch = self.stopwatch()
        limits = self.spec.limits
        limit = limits.output_bytes if command.output_bytes is None else command.output_bytes
        drains = [drained_pipe(limit), drained_pipe(limit)]
        ends = {1: drains[0][1], 2: drains[1][1]}
        if command.report_fd is not None:
            drains.append(drained_pipe(command.report_bytes, keep_tail=False))
            ends[command.report_fd] = drains[2][1]
        feed = None
        if command.stdin or command.stdin_later:
            feed, ends[0] = fed_pipe(command.stdin, is_last=command.stdin_later is None)
        self._drains |= {drain for drain, _ in drains}
        # The counters are the whole sandbox's: only what they grow by from here on can be this command's.
        kills, refused = self._group.memory_kills(), self._group.refused_processes()
        ending: Ending | None = None
        try:
            key, exited = await self._execute(command, ends)
            timeout_s = limits.command_s if command.timeout_s is None else command.timeout_s
            try:
                if feed and command.stdin_later:
                    with self._debt.owing():
                        feed.write(await command.stdin_later())
                    stopwatch = self.stopwatch()
                silence = silence_of(command, drains, stopwatch)
                done = await is_done_within(exited, stopwatch, timeout_s, silence)
            except asyncio.CancelledError:
                # The caller may remove the workspace next, so the command has to be gone before it goes on.
                await asyncio.shield(self._end(key, "everything"))
                raise
            if not done:
                await self._end(key, "everything", command.parting_signal)
                ending = Ending.PROCESSES if self._group.refused_processes() > refused else Ending.TIMEOUT
            code = exited.result() if done else None
        finally:
            if feed:
                feed.close()
        assert code is None or isinstance(code, int | OSError)
        for drain, _ in drains:  # what it wrote last may still lie in the pipes
            drain.catch_up()
        note(stopwatch, None if done else timeout_s)
        return self._result(drains, code, ending or self._ending(code, kills, refused), stopwatch)

    def _result(
        self, drains: list[tuple[Drain, int]], code: int | OSError | None, ending: Ending, stopwatch: Stopwatch
    ) -> CommandResult:
        captures = [drain.capture for drain, _ in drains]
        for drain, _ in drains:
            drain.discard()
        self._left = [drain for drain in (*self._left, *(drain for drain, _ in drains)) if drain.open]
        for drain in self._left[:-_LEFT_OPEN]:
            drain.close()
        self._drains = {drain for drain in self._drains if drain.open}
        return CommandResult(
            exit_code=code if isinstance(code, int) else None,
            ending=ending,
            stdout=captures[0].value(),
            stderr=captures[1].value(),
            report=captures[2].value() if len(captures) > 2 else b"",
            met=self._met(),
            truncated=any(capture.truncated for capture in captures),
            duration_s=stopwatch.wall_s(),
            uncounted_s=stopwatch.uncounted_s(),
        )

    def _met(self) -> tuple[Ending, ...]:
        """Return which limits processes met since this was asked last, by the kernel's counters."""
        now = {
            Ending.MEMORY: self._group.memory_kills(),
            Ending.PROCESSES: self._group.refused_processes(),
        }
        met = tuple(limit for limit, count in now.items() if count > self._told[limit])
        self._told = now
        return met

    async def start(self, command: Command) -> "SupervisedService":
        """Start a program and return at once."""
        limit = self.spec.limits.output_bytes if command.output_bytes is None else command.output_bytes
        drain, end = drained_pipe(limit)
        self._drains.add(drain)
        key, exited = await self._execute(command, {1: end, 2: end})
        return SupervisedService(self, key, exited, drain)

    async def listen(self, port: int) -> socket.socket:
        """Return a socket that listens inside and is served by the caller."""
        listener = await self._socket("listen", port)
        listener.setblocking(False)
        return listener

    async def connect(self, port: int) -> socket.socket:
        """Return a socket that is connected to a port inside. Raises `ConnectionError`."""
        connection = await self._socket("connect", port)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        # The connection may still be under way: the socket can be written as soon as it is made or refused, and
        # SO_ERROR then says which.
        writable: asyncio.Future[None] = loop.create_future()
        loop.add_writer(connection, settle, writable, None)
        try:
            try:
                await _first(writable, self._ended, _CONNECT_S)
            finally:
                loop.remove_writer(connection)
        except asyncio.CancelledError:
            connection.close()
            raise
        code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if writable.done() else errno.ETIMEDOUT
        if code:
            connection.close()
            raise ConnectionError(code, f"port {port} of sandbox {self.label}: {os.strerror(code)}")
        return connection

    async def read_file(self, path: str, max_bytes: int = 16 * 1024 * 1024) -> bytes:
        """Read a regular file as the guest."""
        drain, end = drained_pipe(max_bytes, keep_tail=False)
        self._drains.add(drain)
        code = await self._request("read", [self._absolute(path), str(max_bytes).encode()], (end,))
        drain.catch_up()
        await drain.ended()
        if code == TOO_LARGE or drain.capture.truncated:
            raise ValueError(f"{path} has more than {max_bytes} bytes")
        _check_file(code, path)
        return drain.capture.value()

    async def write_file(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file as the guest, making its folders."""
        feed, end = fed_pipe(content)
        try:
            _check_file(await self._request("write", [self._absolute(path), str(mode).encode()], (end,)), path)
        finally:
            feed.close()

    async def is_deserted(self) -> bool:
        """Count the processes inside, as the guest."""
        count = await self.run(Command(argv=("sh", "-c", _COUNT), timeout_s=5.0, output_bytes=1024, is_look=True))
        return count.ok and count.stdout.strip().isdigit() and int(count.stdout) <= _ALONE

    def usage(self) -> Usage:
        """Return what it has used so far."""
        peak = self._group.peak_memory_bytes()
        self._peak_bytes = peak if peak is not None else self._peak_bytes
        return Usage(
            peak_memory_mb=None if self._peak_bytes is None else self._peak_bytes / 2**20, cpu_s=self._used_s()
        )

    def _used_s(self) -> float | None:
        # When a sandbox has ended, its groups are removed and would read as 0; the launcher sent the last figures.
        cpu_s = self._group.cpu_s() if not self._ended.done() else None
        self._cpu_s = cpu_s if cpu_s is not None else self._cpu_s
        return self._cpu_s

    def stopwatch(self) -> Stopwatch:
        return self._meter.stopwatch()

    def excuse(self, owed_s: Callable[[], float]) -> None:
        """Have the guest's stopwatches leave out what *owed_s* returns."""
        self._meter.excuse(owed_s)

    def _own_s(self) -> float | None:
        known = [used_s for one in self.neighbours if (used_s := one._used_s()) is not None]
        return sum(known) if known else None

    def _threads(self) -> Iterator[str]:
        for one in self.neighbours:
            if not one._ended.done():
                yield from one._group.threads() or threads_of(processes_below(one._init) if one._init else ())

    def _live_on(self, life: Stopwatch) -> None:
        """Look whether the sandbox's own time is over, now and later."""
        left_s = life.left_s(self.spec.limits.wall_clock_s)
        if left_s > 0:
            loop = asyncio.get_running_loop()
            self._life = loop.call_later(min(left_s, 2 * PERIOD_S), self._live_on, life)
        elif not self._closing and self._link.alive:
            self._link.tell({"op": "close", "key": self._key, "cause": "wall_clock"})

    async def close(self) -> None:
        """End every process and give the workspace back."""
        if self._life:
            self._life.cancel()
        if not self._closing:
            self._closing = True
            self.usage()
            with contextlib.suppress(SandboxError):
                await self._link.ask({"op": "close", "key": self._key})
        if self._link.alive:
            await asyncio.shield(self._closed)
        self._link.forget(self._key)
        self._supervisor.disconnect()
        for drain in self._drains:
            drain.close()
        self._drains.clear()

    async def _end(self, key: str, what: str, parting_signal: int | None = None) -> None:
        """End a command and wait until it is gone; without an answer, end the sandbox."""
        try:
            async with limited(Meter().stopwatch(), _END_S):
                await self._request("end", [what.encode(), str(parting_signal or 0).encode()], (), key)
        except (TimeoutError, SandboxError):
            await self.close()

    async def _execute(self, command: Command, ends: dict[int, int]) -> tuple[str, "asyncio.Future[object]"]:
        """Send a command and close its descriptors: number inside -> end of a pipe of ours.

        Nothing else may be handed over: the guest becomes its owner, so that it can open /dev/stdout and the like,
        and could change its mode. A command without standard input gets the sandbox's own /dev/null.
        """
        variables = {**self.environment, **command.environment}
        fields = [command.cwd, ",".join(map(str, ends)), str(len(command.argv)), *command.argv]
        fields += [f"{name}={value}" for name, value in variables.items()]
        try:
            for end in ends.values():
                if self._uid not in (-1, os.geteuid()):
                    os.fchown(end, self._uid, self._uid)
            return await self._send("exec", [_encoded(field) for field in fields], tuple(ends.values()))
        finally:
            close_all(*set(ends.values()))

    async def _request(
        self, kind: str, fields: list[bytes], descriptors: tuple[int, ...], about: str = ""
    ) -> object:
        try:
            _, answer = await self._send(kind, fields, descriptors, about)
        finally:
            close_all(*descriptors)
        try:
            result = await answer
        except asyncio.CancelledError:
            _drop(answer)  # it may have come in the same moment
            raise
        if result is None:
            raise SandboxError(f"sandbox {self.label} has ended{self._because()}")
        return result

    async def _socket(self, kind: str, port: int) -> socket.socket:
        result = await self._request(kind, [str(port).encode()], ())
        if isinstance(result, OSError):
            if kind == "connect":
                raise ConnectionError(result.errno, f"port {port} of sandbox {self.label}: {result.strerror}")
            raise SandboxError(f"cannot listen on port {port} in sandbox {self.label}: {result.strerror}")
        assert isinstance(result, socket.socket)
        return result

    async def _send(
        self, kind: str, fields: list[bytes], descriptors: tuple[int, ...], about: str = ""
    ) -> tuple[str, "asyncio.Future[object]"]:
        """Send one request; its answer is None when the sandbox ends before."""
        # A sandbox that the guest ended (by memory, disk...) answers None, which becomes the ending of its
        # command. Only a loss that is not the guest's fault raises.
        if self._closing or self._infrastructure():
            raise SandboxError(f"sandbox {self.label} is closed{self._because()}")
        return await self._supervisor.send(kind, fields, descriptors, about)

    def _absolute(self, path: str) -> bytes:
        return _encoded(path if path.startswith("/") else f"{WORKSPACE}/{path}")

    def _ending(self, code: object, kills: int, refused: int) -> Ending:
        """Say how a command ended that was not ended by its deadline."""
        if code is None:
            return self._cause()
        if isinstance(code, OSError):
            return Ending.MEMORY if code.errno == errno.ENOMEM else Ending.PROCESSES
        if code == 0:
            return Ending.EXITED
        # The guest chooses its exit code, so only the kernel's counters can say that a limit ended it.
        if self._group.memory_kills() > kills:
            return Ending.MEMORY
        if code == _SIGXFSZ:
            return Ending.DISK
        return Ending.PROCESSES if self._group.refused_processes() > refused else Ending.EXITED

    def _cause(self) -> Ending:
        """Say why the sandbox ended. Raises `SandboxError` when the guest did not cause it."""
        if self._infrastructure():
            raise SandboxError(f"sandbox {self.label} was lost{self._because()}")
        event = self._ended.result()
        if event.cause is None and event.memory_kills:
            return Ending.MEMORY
        return _CAUSES.get(event.cause or "", Ending.SANDBOX_DIED)

    def _infrastructure(self) -> bool:
        return self._ended.done() and self._ended.result().cause in _NOT_THE_GUEST

    def _because(self) -> str:
        if not self._ended.done():
            return ""
        event = self._ended.result()
        return f": {event.message or event.cause or 'its supervisor died'}"

    def _hear(self, event: Event) -> None:
        """Take an event from the launcher."""
        if event.event == "opening":
            self._group = SandboxGroups(event.version, {name: Path(path) for name, path in event.groups.items()})
            self._uid = event.uid
        elif event.event == "placed":
            self._init = event.init
            settle(self._placed, None)
        elif event.event == "usage":
            self._peak_bytes, self._cpu_s = event.peak_bytes, event.cpu_s
        elif event.event in ("ended", "failed") and not self._ended.done():
            if self._life:
                self._life.cancel()
            if event.event == "ended" and event.cause != "launcher":
                # An engine may have removed its groups before the launcher could read them.
                self._peak_bytes = max(event.peak_bytes, self._peak_bytes or 0)
                self._cpu_s = max(event.cpu_s, self._cpu_s or 0.0)
            cause = event.cause if event.event == "ended" else "failed"
            self._ended.set_result(event.but(cause=cause))
            self._supervisor.disconnect()
            self._supervisor.give_up()
        # `ended`: its processes are gone. `closed`: its folders belong to the caller again.
        if event.event in ("closed", "failed") and not self._closed.done():
            self._closed.set_result(None)


def _drop(answer: "asyncio.Future[object]") -> None:
    if answer.done() and not answer.cancelled() and isinstance(result := answer.result(), socket.socket):
        result.close()


class SupervisedService:
    """A program that goes on in a sandbox."""

    def __init__(
        self, sandbox: SupervisedSandbox, key: str, exited: "asyncio.Future[object]", drain: Drain
    ) -> None:
        self._sandbox = sandbox
        self._key = key
        self._exited = exited
        self._drain = drain

    def alive(self) -> bool:
        """Whether its first process has not ended."""
        return not self._exited.done()

    async def wait(self, timeout_s: float) -> int | None:
        """Return its exit code, or None when it is alive, or its sandbox ended, after *timeout_s*."""
        done = await is_done_within(self._exited, self._sandbox.stopwatch(), timeout_s)
        code = self._exited.result() if done else None
        return code if isinstance(code, int) else None

    def output(self) -> bytes:
        """Return stdout and stderr so far."""
        self._drain.catch_up()
        return self._drain.capture.value()

    async def stop(self) -> None:
        """End it with its descendants and its session."""
        with contextlib.suppress(SandboxError):
            await self._sandbox._end(self._key, "tree")
            await asyncio.wait([self._exited], timeout=_END_S)


async def _first(one: "asyncio.Future[None]", other: "asyncio.Future[Event]", timeout_s: float) -> None:
    waited: set[asyncio.Future[None] | asyncio.Future[Event]] = {one, other}
    stopwatch = Meter().stopwatch()
    while not (one.done() or other.done()) and (left_s := stopwatch.left_s(timeout_s)) > 0:
        await asyncio.wait(waited, timeout=min(left_s, PERIOD_S), return_when=asyncio.FIRST_COMPLETED)


def _encoded(text: str) -> bytes:
    return os.fsencode(text)


def _check_file(code: object, path: str) -> None:
    if isinstance(code, OSError):
        raise code
    assert isinstance(code, int)
    if code == errno.EINVAL:
        raise ValueError(f"{path} is not a regular file")
    if code:
        number = code if code > 0 else errno.EINTR
        raise OSError(number, os.strerror(number), path)
