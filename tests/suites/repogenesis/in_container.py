"""Grades services of the corpus of cheats as a verifier's container does, in a network of its own.

Started by root as `python -m tests.suites.repogenesis.in_container FOLDER NAME...`; prints how many tests of each
pass.
"""

import asyncio
import ctypes
import fcntl
import json
import socket
import struct
import sys
from pathlib import Path

from groundup_bridges.guest_roots import GuestRoots
from tests.cheats.services import SERVICES
from tests.groundup_bridges.test_guest_roots import a_system
from tests.suites.repogenesis.trials import Trial, passed

_NEW_NETWORK = 0x40000000
_SET_FLAGS, _UP = 0x8914, 1


def enter_network() -> None:
    """Leave the machine's network for one that has loopback alone."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))


async def grade(folder: Path, names: list[str]) -> dict[str, int]:
    """Return the number of passed tests of each service."""
    provider = GuestRoots(folder / "guests", a_system(folder / "system"), 61000)
    found: dict[str, int] = {}
    for one in SERVICES:
        if one.name in names or not names:
            room = folder / f"room-{len(found)}"
            room.mkdir()
            found[one.name] = passed(await Trial(provider, room).strict(dict(one.files)))
    return found


if __name__ == "__main__":
    enter_network()
    sys.stdout.write(json.dumps(asyncio.run(grade(Path(sys.argv[1]), sys.argv[2:]))))
