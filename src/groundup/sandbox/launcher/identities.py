"""Host users for guests: when groundup runs as root, each sandbox gets a user that owns nothing else."""

import os
import secrets
from pathlib import Path

from groundup.sandbox.launcher import kernel
from groundup.sandbox.launcher.spawning import Identity, fork

FIRST_UID = 1_900_000_000
"""Far above every account and every range that distributions hand out."""
_BLOCK = 1024
_BLOCKS = 2**17


class Users:
    """Hands out identities: fresh ones to root, its own to an ordinary user."""

    def __init__(self) -> None:
        self._base = _base() if os.geteuid() == 0 else None
        self._count = 0

    def take(self) -> Identity:
        """Return the next identity."""
        if self._base is None:
            return Identity(os.geteuid(), os.getegid(), changes=False)
        uid = self._base + self._count % _BLOCK
        self._count += 1
        return Identity(uid, uid, changes=True)


def can_stage() -> bool:
    """Whether mounts can be prepared in a private namespace."""
    if os.geteuid() != 0:
        return False
    child = fork(_try_mounting)
    return os.waitpid(child, 0)[1] == 0


def _try_mounting() -> None:
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_SLAVE)
    kernel.mount("tmpfs", "/tmp", "tmpfs", 0, "mode=755,size=1m")  # noqa: S108  # seen in this namespace only


def _base() -> int | None:
    """Return the first of a block of unused users, or None where this root cannot change its user."""
    wanted = FIRST_UID + secrets.randbelow(_BLOCKS) * _BLOCK
    ranges = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    if any(first <= wanted and wanted + _BLOCK <= first + count for first, _, count in ranges):
        return wanted
    first, _, count = max(ranges, key=lambda entry: entry[2])
    return first + count - _BLOCK if count > 2 * _BLOCK else None
