"""The trusted plugin that takes back what failing tests leave in folders, so that none after them meets it.

A test made to fail stops before it puts away what it made. Like the runner it stands in one process with untrusted
code, needs the standard library and pytest only, and works on Python 3.7 to 3.13.
"""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Callable, Collection, Generator, Sequence
from os import chmod, listdir, lstat, makedirs, readlink, rmdir, symlink, unlink  # tests replace some
from os.path import join
from typing import Any, NamedTuple

import pytest


class Entry(NamedTuple):
    """What lay at a path: its state, by which a change is seen; a file's bytes, a link's target."""

    state: tuple[int, ...]
    content: Any

    @property
    def is_folder(self) -> bool:
        """Whether other paths may lie below it."""
        return stat.S_ISDIR(self.state[0])


class FailuresUndone:
    """Puts *folders* back as they were before the call of a test that fails, unless it is among *failed*.

    *failed*: the ids of tests that failed as they are, before others in the same folders. *named*: returns an id.
    """

    def __init__(self, folders: Sequence[str], failed: Collection[str], named: Callable[[Any], str]) -> None:
        self._folders = folders
        self._failed = frozenset(failed)
        self._named = named
        self._known: dict[str, Entry] = self._entries({})

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, None]:
        """Undo a call alone: fixtures of others may have made what was there before."""
        before = self._known = self._entries(self._known)
        outcome = yield
        fails = outcome.excinfo is not None or getattr(item, "_excinfo", None)  # unittest's raise nothing
        if fails and self._named(item) not in self._failed:
            with contextlib.suppress(Exception):  # whatever else the test replaced
                self._put_back(before)

    def _entries(self, known: dict[str, Entry]) -> dict[str, Entry]:
        """Return what lies in the folders, each before what is in it; what is *known* is not read again."""
        found: dict[str, Entry] = {}
        waiting = list(reversed(self._folders))
        while waiting:
            path = waiting.pop()
            with contextlib.suppress(OSError):
                entry = self._entry(path, known.get(path))
                found[path] = entry
                if entry.is_folder:
                    waiting += [join(path, name) for name in listdir(path)]
        return found

    def _entry(self, path: str, known: Entry | None) -> Entry:
        seen = lstat(path)
        is_folder = stat.S_ISDIR(seen.st_mode)
        # A folder's time and size change with what is in it.
        state = (seen.st_mode,) if is_folder else (seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ino)
        if known is not None and known.state == state:
            return known
        content: Any = None
        with contextlib.suppress(OSError):
            if stat.S_ISREG(seen.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            elif stat.S_ISLNK(seen.st_mode):
                content = readlink(path)
        return Entry(state, content)

    def _put_back(self, before: dict[str, Entry]) -> None:
        now = self._entries(before)
        new = {
            path: entry
            for path, entry in now.items()
            if path not in before or stat.S_IFMT(before[path].state[0]) != stat.S_IFMT(entry.state[0])
        }
        for path in (path for path, entry in new.items() if entry.is_folder):
            with contextlib.suppress(OSError):
                chmod(path, stat.S_IRWXU)
        for path, entry in reversed(list(new.items())):
            with contextlib.suppress(OSError):
                (rmdir if entry.is_folder else unlink)(path)
        for path, entry in before.items():
            if now.get(path) != entry:
                with contextlib.suppress(OSError):
                    self._make(path, entry)

    def _make(self, path: str, entry: Entry) -> None:
        if isinstance(entry.content, str):
            symlink(entry.content, path)
            return
        if entry.is_folder:
            makedirs(path, exist_ok=True)
        elif entry.content is not None:
            with open(path, "wb") as file:
                file.write(entry.content)
        chmod(path, stat.S_IMODE(entry.state[0]))
