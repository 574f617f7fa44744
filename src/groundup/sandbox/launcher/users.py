"""Which host user a guest runs as: an unused one for each, or the one that runs groundup."""

import functools
import os
from pathlib import Path
from typing import NamedTuple


class Identity(NamedTuple):
    """Which host user a guest is. Without `changes`, the one that runs groundup."""

    uid: int
    gid: int
    changes: bool


def become_user(identity: Identity) -> None:
    """Give up root for good."""
    if identity.changes:
        os.setgroups([])
        os.setresgid(identity.gid, identity.gid, identity.gid)
        os.setresuid(identity.uid, identity.uid, identity.uid)


FIRST_UID = 1_900_000_000
"""Far above every account and every range that distributions hand out."""
_BLOCK = 1024
_BLOCKS = 2**17
"""A power of two, so that a remainder is as random as what it is of; `secrets` is slow to import."""


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


@functools.cache
def changes_users() -> bool:
    """Whether each guest becomes a user of its own here."""
    return os.geteuid() == 0 and _base() is not None


def _base() -> int | None:
    """Return the first of a block of unused users, or None where this root cannot change its user."""
    wanted = FIRST_UID + int.from_bytes(os.urandom(4), "little") % _BLOCKS * _BLOCK
    ranges = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    if any(first <= wanted and wanted + _BLOCK <= first + count for first, _, count in ranges):
        return wanted
    first, _, count = max(ranges, key=lambda entry: entry[2])
    return first + count - _BLOCK if count > 2 * _BLOCK else None
