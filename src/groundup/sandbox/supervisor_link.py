"""The packets that go to one supervisor, and its answers, by the number of the request. Knows no limits."""

import asyncio
import contextlib
import itertools
import os
import socket
from pathlib import Path

from groundup.inside.supervisor import pack, unpack
from groundup.sandbox.launcher import wire
from groundup.sandbox.launcher_link import Event
from groundup.sandbox.pipes import close_all

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
