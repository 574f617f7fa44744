"""The folder in which one program keeps what its sandboxes need, and removing those of programs that were killed.

A lock that dies with its holders (groundup and its launcher) protects it, so a stale one is known for sure.
"""

import contextlib
import fcntl
import json
import os
import py_compile
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from groundup.inside import supervisor
from groundup.sandbox.launcher.limits import SandboxGroups
from groundup.sandbox.launcher.workspaces import take_back
from groundup.trees.scratch import temporary_root


class HostState:
    """A fresh, locked state folder."""

    def __init__(self) -> None:
        self.path = temporary_root() / secrets.token_hex(4)
        self.path.mkdir(mode=0o711)
        lock = self.path / "lock.new"
        self.lock = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.rename(self.path / "lock")  # held from its first moment: not taken for a killed program's
        (self.path / "empty").mkdir(mode=0o755)
        (self.path / "sandboxes").mkdir(mode=0o700)
        # Compiled once, so that sandboxes start faster.
        py_compile.compile(
            supervisor.__file__,
            cfile=str(self.path / "supervisor.pyc"),
            dfile="supervisor.py",
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )

    def release(self) -> None:
        """Let go of the lock; the last to hold the folder removes it."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


def stale_state() -> list[Path]:
    """Return the state folders of programs that were killed."""
    return list(_abandoned())


def is_abandoned(state: Path) -> bool:
    """Whether *state*, by its path, is a state folder of this user that no program holds, or is gone already."""
    return state.parent == temporary_root() and (not state.exists() or state in _abandoned())


def clean_stale_state() -> int:
    """Undo what killed programs left: give folders back, remove control groups and state. Return how many."""
    cleaned = 0
    for folder in _abandoned():
        undone = [_undo(record) for record in sorted((folder / "sandboxes").glob("*"))]
        if all(undone):
            shutil.rmtree(folder, ignore_errors=True)
            cleaned += 1
    return cleaned


def _abandoned() -> Iterator[Path]:
    """Yield the state folders that no program holds; each is held until the next is asked for."""
    for folder in sorted(temporary_root().iterdir()):
        if not re.fullmatch(r"[0-9a-f]{8}", folder.name):
            continue
        try:
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield folder
        except BlockingIOError:
            continue
        finally:
            os.close(lock)


def _undo(record: Path) -> bool:
    """Return whether nothing is left of a sandbox; its last processes may need another moment."""
    try:
        entry = json.loads(record.read_text())
    except ValueError:  # killed while it was written: nothing had been done yet
        return True
    if not SandboxGroups(0, {path: Path(path) for path in entry["groups"]}).remove():
        return False
    for path, uid, gid in entry["folders"]:
        with contextlib.suppress(OSError):  # the folder is gone
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                take_back(folder, uid, gid)
            finally:
                os.close(folder)
    return True


def systems() -> Path:
    """Return the folder of guests' systems, which all programs of this user share."""
    return temporary_root() / "systems"
