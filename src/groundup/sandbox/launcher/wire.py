"""Messages between groundup and its launcher, one JSON object per packet with descriptors, and what both know."""

import array
import json
import socket

MAX_BYTES = 128 * 1024
MAX_DESCRIPTORS = 200
STAGE = "/tmp/s"  # noqa: S108  # in a private mount namespace, on a tmpfs of its own
CONTROL, ARGUMENTS, INFO = 3, 4, 5
"""Descriptor numbers that bubblewrap and the supervisor find."""
INFO_READER = 6
"""The other end of INFO, so that bubblewrap can always write there: if it could not, because the launcher was
killed, it would leave a child behind that waits for ever. The supervisor closes it."""
FILTER = 7
"""Where bubblewrap finds the filter of system calls."""
OPEN_FILES = 65536
"""What one process of a guest may have open, where the machine allows it."""


def send(channel: socket.socket, message: dict[str, object], descriptors: tuple[int, ...] = ()) -> None:
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    channel.sendmsg([json.dumps(message).encode()], rights, socket.MSG_NOSIGNAL)


def receive(channel: socket.socket) -> tuple[bytes, list[int]]:
    """Return one packet (empty at the end) with its descriptors, which do not survive an exec."""
    space = socket.CMSG_SPACE(MAX_DESCRIPTORS * 4)
    data, ancillary, _, _ = channel.recvmsg(MAX_BYTES, space, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, raw in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(raw[: len(raw) - len(raw) % descriptors.itemsize])
    return data, list(descriptors)
