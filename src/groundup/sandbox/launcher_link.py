"""groundup's ends of the launcher and of supervisors: what is asked of them, and what they answer or report."""

import asyncio
import contextlib
import itertools
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pydantic import Field

from groundup.domain.errors import NoSandboxesError, SandboxError
from groundup.domain.records import Record
from groundup.inside.supervisor import pack, unpack
from groundup.sandbox.deadlines import Meter, limited
from groundup.sandbox.host_state import HostState, clean_stale_state
from groundup.sandbox.launcher import wire
from groundup.sandbox.pipes import close_all

_START_S = 30.0
_OPEN_FILES = 65536
"""Each pipe to a guest and each of its connections to a gateway is one of ours; many systems begin with 1024."""
_LEAST_FILES = 1024
"""With fewer an honest service loses points to the machine."""


class Event(Record):
    """A message of the launcher. Which fields are set depends on `event`."""

    event: str
    key: str = ""
    staging: bool = False
    version: int = 0
    controllers: tuple[str, ...] = ()
    groups: dict[str, str] = {}
    uid: int = -1
    init: int = Field(default=0, ge=0, description="its first process, once it is placed")
    memory_kills: int = 0
    cause: str | None = None
    message: str = ""
    peak_bytes: int = Field(default=0, ge=0)
    cpu_s: float = 0.0


async def running_link(link: "LauncherLink | None") -> "LauncherLink":
    """Return *link* while its launcher lives, else one to a new launcher. Raises `SandboxError`."""
    if link is not None and link.alive:
        return link
    if link is not None:
        await link.close()
    clean_stale_state()
    fresh = LauncherLink(HostState())
    await fresh.start()
    return fresh


class LauncherLink:
    """A running launcher."""

    def __init__(self, state: HostState) -> None:
        self.state = state
        self.hello: Event | None = None
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._listeners: dict[str, Callable[[Event], None]] = {}
        self._greeted: asyncio.Future[Event] | None = None

    @property
    def alive(self) -> bool:
        return self._channel is not None

    async def start(self) -> Event:
        """Start the launcher and return its first words. Raises `SandboxError`."""
        _allow_open_files()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        source = str(Path(__file__).parents[2])
        code = "import sys; sys.path.insert(0, sys.argv[1]); from groundup.sandbox.launcher.main import main; "
        code += "main(int(sys.argv[2]), sys.argv[3])"
        # Without site-packages it starts faster; without our environment it, and what it starts, has no API key of
        # the user's.
        interpreter = getattr(sys, "_base_executable", sys.executable)
        arguments = [interpreter, "-I", "-S", "-E", "-c", code, source, str(theirs.fileno()), str(self.state.path)]
        # It shares the lock of the state folder, which counts as abandoned only when both are gone.
        descriptors = (theirs.fileno(), self.state.lock)
        log = os.open(
            self.state.path / "launcher.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        try:
            self._process = subprocess.Popen(  # noqa: ASYNC220  # once per program, and it does not wait
                arguments, env={}, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=descriptors
            )
        except OSError as error:
            raise SandboxError(f"cannot start {interpreter}: {error.strerror}; reinstall Python") from error
        finally:
            theirs.close()
            os.close(log)
        ours.setblocking(False)
        self._channel = ours
        loop = asyncio.get_running_loop()
        self._greeted = loop.create_future()
        loop.add_reader(ours, self._read)
        try:
            async with limited(Meter().stopwatch(), _START_S):
                return await self._greeted
        except TimeoutError as error:
            raise SandboxError("the launcher of sandboxes did not answer; try `groundup doctor`") from error

    async def ask(self, message: dict[str, object], descriptors: tuple[int, ...] = ()) -> None:
        """Send a request. Raises `SandboxError`."""
        while True:
            if self._channel is None:
                raise SandboxError(f"the launcher of sandboxes has ended: {self._last_words()}; start again")
            try:
                wire.send(self._channel, message, descriptors)
            except BlockingIOError:
                await asyncio.sleep(0.001)
            except OSError as error:
                raise SandboxError(f"the launcher of sandboxes has ended ({error}); start again") from error
            else:
                return

    def tell(self, message: dict[str, object]) -> None:
        """Send a request without waiting for an answer; one that does not get through is lost."""
        if self._channel is not None:
            with contextlib.suppress(OSError):
                wire.send(self._channel, message)

    def listen(self, key: str, listener: Callable[[Event], None]) -> None:
        """Call *listener* with every event of *key*."""
        self._listeners[key] = listener

    def forget(self, key: str) -> None:
        self._listeners.pop(key, None)

    async def close(self) -> None:
        """Make the launcher end everything, and wait for it."""
        self._disconnect()
        process, self._process, lost = self._process, None, False
        if process is not None:
            while process.poll() is None:  # noqa: ASYNC110  # it is no asyncio child: it outlives event loops
                await asyncio.sleep(0.002)
            lost = process.returncode != 0
        self.state.release()
        if lost:
            await asyncio.to_thread(clean_stale_state)

    def _disconnect(self) -> None:
        if self._channel is not None:
            asyncio.get_running_loop().remove_reader(self._channel)
            self._channel.close()
            self._channel = None

    def _read(self) -> None:
        assert self._channel is not None
        for _ in range(64):
            try:
                packet, descriptors = wire.receive(self._channel)
            except BlockingIOError:
                return
            except OSError:
                packet, descriptors = b"", []
            close_all(*descriptors)
            if not packet:
                self._lost()
                return
            event = Event.model_validate(json.loads(packet))
            if event.event == "hello" and self._greeted and not self._greeted.done():
                self.hello = event
                self._greeted.set_result(event)
            elif event.key in self._listeners:
                self._listeners[event.key](event)

    def _lost(self) -> None:
        """The launcher was killed, and every sandbox with it."""
        self._disconnect()
        reason = self._last_words()
        if self._greeted and not self._greeted.done():
            self._greeted.set_exception(SandboxError(f"the launcher of sandboxes did not start: {reason}"))
        for key, listener in list(self._listeners.items()):
            listener(Event(event="ended", key=key, cause="launcher", message=reason))
            listener(Event(event="closed", key=key))

    def _last_words(self) -> str:
        try:
            lines = (self.state.path / "launcher.log").read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "it was killed"


def _allow_open_files() -> None:
    """Let this process have more files open, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if resource.RLIM_INFINITY != soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < _LEAST_FILES:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (_LEAST_FILES, _LEAST_FILES))
        except (OSError, ValueError) as error:
            raise NoSandboxesError(
                f"this machine lets a process open only {hard} files, and tests may need {_LEAST_FILES}; "
                f"raise the hard limit (`ulimit -Hn`)"
            ) from error


_INLINE_BYTES = 60_000


class SupervisorLink:
    """A conversation over *control*, until *ended* says that the sandbox is gone."""

    def __init__(self, control: socket.socket, ended: "asyncio.Future[Event]") -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = loop.create_future()
        """Done when the supervisor has begun to listen."""
        self._control = control
        self._ended = ended
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[object]] = {}
        control.setblocking(False)
        loop.add_reader(control, self._read)

    async def send(
        self, kind: str, fields: list[bytes], descriptors: tuple[int, ...], about: str = ""
    ) -> tuple[str, "asyncio.Future[object]"]:
        """Send one request; its answer is None when the sandbox ends before."""
        key = about or str(next(self._numbers))
        slot = f"end {key}" if about else key
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if self._ended.done():
            answer.set_result(None)
            return key, answer
        self._waiting[slot] = answer
        packet = pack([kind.encode(), key.encode(), *fields])
        with contextlib.ExitStack() as stack:
            if len(packet) > _INLINE_BYTES:  # a packet has to fit into the socket's buffer: send a file in memory
                memory = os.memfd_create("message", os.MFD_CLOEXEC)
                stack.callback(os.close, memory)
                Path(f"/proc/self/fd/{memory}").write_bytes(packet)
                packet, descriptors = pack([b"long", key.encode()]), (memory, *descriptors)
            await self._deliver(packet, descriptors)
        return key, answer

    async def _deliver(self, packet: bytes, descriptors: tuple[int, ...]) -> None:
        while not self._ended.done():
            try:
                socket.send_fds(self._control, [packet], descriptors, socket.MSG_NOSIGNAL)
            except BlockingIOError:  # its buffer is full; a packet goes whole or not at all, so try again
                await asyncio.sleep(0.001)
            except OSError:  # it is dying: the launcher will say why
                await self._ended
            else:
                return

    def give_up(self) -> None:
        """Answer None to all that still wait."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result(None)
        self._waiting.clear()

    def disconnect(self) -> None:
        """Read its last words, and send no more."""
        if self._control.fileno() >= 0:
            self._read()
        if self._control.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()

    def _read(self) -> None:
        for _ in range(256):
            try:
                packet, descriptors = wire.receive(self._control)
            except BlockingIOError:
                return
            except OSError:
                packet, descriptors = b"", []
            if not packet:
                asyncio.get_running_loop().remove_reader(self._control)
                return
            fields = [field.decode() for field in unpack(packet)]
            self._answer(fields[0], fields[1], fields[2:], descriptors)

    def _answer(self, kind: str, key: str, fields: list[str], descriptors: list[int]) -> None:
        if kind == "ready" and not self.ready.done():
            self.ready.set_result(None)
        answer = self._waiting.pop(f"end {key}" if kind == "ended" else key, None)
        if answer is None or answer.done():
            close_all(*descriptors)
        elif kind == "exited":
            answer.set_result(int(fields[0]))
        elif kind == "refused":
            answer.set_result(OSError(int(fields[0]), os.strerror(int(fields[0]))))
        elif kind == "socket":
            answer.set_result(socket.socket(fileno=descriptors[0]))
        else:
            answer.set_result(kind)
