"""This terminal, connected to a socket: every key goes there, everything from there is shown."""

import asyncio
import socket
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE_S = 20
_CHUNK = 65_536


async def connected(listener: socket.socket) -> None:
    """Wait for the other side to connect, then pass bytes both ways until it hangs up."""
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    other, _ = await asyncio.wait_for(loop.sock_accept(listener), _PATIENCE_S)
    with other, _raw(sys.stdin.fileno()):
        other.setblocking(False)
        keys = asyncio.create_task(_send_keys(other))
        try:
            while shown := await loop.sock_recv(other, _CHUNK):
                sys.stdout.buffer.write(shown)
                sys.stdout.buffer.flush()
        except ConnectionError:  # the shell ended in the middle of a word
            return
        finally:
            keys.cancel()
            loop.remove_reader(sys.stdin.fileno())


async def _send_keys(other: socket.socket) -> None:
    import os

    loop = asyncio.get_running_loop()
    keys: asyncio.Queue[bytes] = asyncio.Queue()
    loop.add_reader(sys.stdin.fileno(), lambda: keys.put_nowait(os.read(sys.stdin.fileno(), _CHUNK)))
    while pressed := await keys.get():
        await loop.sock_sendall(other, pressed)
    other.shutdown(socket.SHUT_WR)


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
