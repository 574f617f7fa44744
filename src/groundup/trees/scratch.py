"""Temporary folders of this program, and removing those of programs that were killed.

Each is locked by the process that made it. The lock ends with the process, so an abandoned folder is known for
sure.
"""

import contextlib
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from groundup.domain.errors import MachineError
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread

_NAME = re.compile(r"[a-z-]+-[a-z0-9_]{8}")
"""What `_made` calls its folders."""


def temporary_root() -> Path:
    """Return the folder of everything temporary of this user; no other user can have made it."""
    root = Path(tempfile.gettempdir()) / f"groundup-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        root.mkdir(mode=0o700)
    status = root.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise MachineError(f"{root} belongs to another user; remove it, or set TMPDIR to a folder of yours")
    return root


@contextlib.contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """Yield a new folder that is removed afterwards, whatever is in it then; *purpose* begins its name."""
    path, lock = _made(purpose)
    try:
        yield path
    finally:
        try:
            remove_tree(path)
        finally:
            os.close(lock)


@contextlib.asynccontextmanager
async def async_scratch_folder(purpose: str) -> AsyncIterator[Path]:
    """As `scratch_folder`, without keeping the event loop from its work."""
    with scratch_folder(purpose) as path:
        try:
            yield path
        finally:
            await in_thread(remove_tree, path)


def abandoned_folders() -> Iterator[Path]:
    """Yield the folders of processes that were killed; each is held until the next is asked for."""
    for path in sorted(_root().iterdir()):
        if not _NAME.fullmatch(path.name):
            continue
        try:
            lock = _locked(path)
        except OSError:  # a living process has it, or it is gone
            continue
        try:
            yield path
        finally:
            os.close(lock)


def remove_abandoned_folders() -> None:
    for path in abandoned_folders():
        remove_tree(path)


def _made(purpose: str) -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=_root()))
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            lock = _locked(path)
            if path.exists():
                return path, lock
            os.close(lock)
        # `remove_abandoned_folders` of another process was here before the lock.


def _locked(path: Path) -> int:
    """Return a descriptor that locks the folder *path*. Raises `OSError`, `BlockingIOError` where it is."""
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def _root() -> Path:
    root = temporary_root() / "scratch"
    root.mkdir(mode=0o700, exist_ok=True)
    return root
