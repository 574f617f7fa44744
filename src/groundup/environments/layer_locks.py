"""Locks of layers: one builds or removes, many use. The kernel drops them with the process, however it ends.

The lock file of a layer stays when the layer goes: removing it would let two holders in.
"""

import contextlib
import fcntl
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundup.trees.writer import disk_errors


@contextmanager
def held_now(path: Path, *, make: bool = False) -> Iterator[bool]:
    """Hold the lock *path* alone if nobody else has it; yield whether that is so. An absent lock is free."""
    try:
        if make:
            with disk_errors(path.parent):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        else:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        yield _locked(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


class Uses:
    """Shared locks on the layers that one store handed out, until the store or its process is gone."""

    def __init__(self) -> None:
        self._descriptors: dict[Path, int] = {}
        weakref.finalize(self, _close, self._descriptors)

    def add(self, path: Path) -> bool:
        """Share the lock *path*; return False while somebody builds or removes what it protects."""
        if path in self._descriptors:
            return True
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # a cache that was copied without its locks, which nobody can clean meanwhile either
            return True
        if not _locked(descriptor, fcntl.LOCK_SH):
            os.close(descriptor)
            return False
        self._descriptors[path] = descriptor
        return True

    def drop(self, path: Path) -> None:
        """Give back what `add` took."""
        descriptor = self._descriptors.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)


def _locked(descriptor: int, how: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        return True
    return False


def _close(descriptors: dict[Path, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)
