"""Starting a container and meeting its supervisor, which connects to a socket that is mounted."""

import asyncio
import os
import socket
import struct
from pathlib import Path
from typing import Any

from groundup.domain.errors import SandboxError
from groundup.sandbox.containers.engine import Engine
from groundup.sandbox.deadlines import Meter

_START_S, _LOOK_S = 120.0, 1.0


async def started(engine: Engine, request: dict[str, Any], place: Path) -> tuple[str, socket.socket]:
    """Start a container whose supervisor connects to *place*; return it and the connection.

    The first to connect is the supervisor, for nothing else runs yet; after it, no one can.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.setblocking(False)
        folder = os.open(place.parent, os.O_PATH | os.O_CLOEXEC)
        try:  # by its folder's descriptor, for a socket's path may have 107 characters at most
            listener.bind(f"/proc/self/fd/{folder}/{place.name}")
        except OSError as error:
            raise SandboxError(f"cannot make the socket {place}: {error}; try `groundup doctor`") from error
        finally:
            os.close(folder)
        try:
            # The guest's user is not ours. The folder's other users cannot reach it: the root of state folders is
            # mode 700.
            place.chmod(0o666)
            listener.listen(1)
            starting = asyncio.ensure_future(engine.start(request))
            try:
                container = await asyncio.shield(starting)
            except asyncio.CancelledError:
                starting.add_done_callback(_forget)  # its supervisor finds no listener, so it ends by itself
                raise
            return container, await _accepted(engine, container, listener, request)
        finally:
            place.unlink(missing_ok=True)


def _forget(task: "asyncio.Future[str]") -> None:
    """Have an error of *task* not reported as lost."""
    if not task.cancelled():
        task.exception()


async def _accepted(
    engine: Engine, container: str, listener: socket.socket, request: dict[str, Any]
) -> socket.socket:
    accepting = asyncio.ensure_future(asyncio.get_running_loop().sock_accept(listener))
    stopwatch = Meter().stopwatch()
    try:
        while not accepting.done():
            await asyncio.wait([accepting], timeout=_LOOK_S)
            if accepting.done():
                break
            if stopwatch.left_s(_START_S) <= 0 or not await engine.is_running(container):
                await engine.remove(container)
                words = await engine.last_words(request)
                raise SandboxError(
                    f"a container did not start: {words or 'it printed nothing'}; try `groundup doctor`"
                )
        control, _ = accepting.result()
    finally:
        accepting.cancel()
    return control


def peer(control: socket.socket) -> int:
    """Return the process at the other end."""
    pid, _, _ = struct.unpack("3i", control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if pid <= 0:
        raise SandboxError("the engine's containers cannot be seen from here: run groundup beside the engine")
    return int(pid)
