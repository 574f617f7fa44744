"""Moving processes into control groups, in a process of its own: the kernel may think about it for 10 ms.

A sandbox is moved while it starts, so that this costs no time; nothing of its guest runs before it is in place.
"""

import json
import os
import socket

from groundup.sandbox.launcher.spawning import fork


class Placer:
    """Takes orders and says which are done, in their order."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.pid = fork(lambda: _serve(theirs))

    def order(self, key: str, groups: list[str], pid: int) -> None:
        """Ask to move *pid* into *groups*."""
        self.channel.send(json.dumps([key, groups, pid]).encode())

    def done(self) -> tuple[str, int, str]:
        """Return the next order's key, its pid, and what went wrong (or nothing)."""
        packet = self.channel.recv(4096)
        if not packet:
            raise RuntimeError("the process that fills control groups has ended")
        key, pid, problem = json.loads(packet)
        return key, pid, problem


def _serve(channel: socket.socket) -> None:
    os.closerange(3, channel.fileno())
    os.closerange(channel.fileno() + 1, 256)
    while packet := channel.recv(65536):
        key, groups, pid = json.loads(packet)
        problem = ""
        for group in groups:
            try:
                descriptor = os.open(f"{group}/cgroup.procs", os.O_WRONLY)
                try:
                    os.write(descriptor, str(pid).encode())
                finally:
                    os.close(descriptor)
            except OSError as error:
                problem = str(error)
        channel.send(json.dumps([key, pid, problem]).encode())
