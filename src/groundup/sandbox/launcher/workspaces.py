"""Lending a folder to a guest's user, taking it back, and measuring it, however hostile its content is.

Every step goes through descriptors of folders and never follows a link, so nothing outside can be reached.
"""

import contextlib
import itertools
import os
import stat
from collections.abc import Iterable, Iterator

MAX_DEPTH = 256
"""Folders deeper than this are not followed; measuring counts them as being over any limit."""
MAX_ENTRIES = 1_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TooLargeError(Exception):
    """A tree has more entries or deeper folders than any program needs."""


def lend(folder: int, uid: int, gid: int) -> None:
    """Give everything in the open *folder* to *uid* and *gid*, but no file that has a name outside of it, too."""
    names: dict[tuple[int, int], int] = {}
    for parent, name, status in _entries(folder):
        # A file with a second name outside is not the workspace's to give away: it changes its owner only when all
        # of its names were met in here.
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            place = (status.st_dev, status.st_ino)
            names[place] = names.get(place, 0) + 1
            if names[place] < status.st_nlink:
                continue
        os.chown(name, uid, gid, dir_fd=parent, follow_symlinks=False)
    os.fchown(folder, uid, gid)


def take_back(folder: int, uid: int, gid: int, most: int | None = None) -> None:
    """Give everything in the open *folder* to *uid* and *gid* and make it readable and removable for its owner.

    Can be done again. Raises `TooLargeError` when there are more than *most* entries.
    """
    _repair(folder, os.fstat(folder), 0o700)
    if os.fstat(folder).st_uid != uid:
        os.fchown(folder, uid, gid)
    for entries, (parent, name, status) in enumerate(_entries(folder, repair=True, most=most), 1):
        if most is not None and entries > most:
            raise TooLargeError
        if status.st_uid != uid or status.st_gid != gid:
            os.chown(name, uid, gid, dir_fd=parent, follow_symlinks=False)


class Loans:
    """Which folders sandboxes have, how many have each, and whose they were."""

    def __init__(self) -> None:
        self._loans: dict[tuple[int, int], list[int]] = {}

    def lend(self, folders: Iterable[int]) -> None:
        """Remember the owner of each folder, and that one more sandbox has it."""
        for folder in folders:
            status = os.fstat(folder)
            self._loans.setdefault((status.st_dev, status.st_ino), [0, status.st_uid, status.st_gid])[0] += 1

    def owner(self, folder: int) -> tuple[int, int]:
        """Return the user and the group of a lent folder."""
        status = os.fstat(folder)
        _, uid, gid = self._loans[status.st_dev, status.st_ino]
        return uid, gid

    def returned(self, folders: Iterable[int]) -> list[tuple[int, int, int]]:
        """Return (folder, uid, gid) of those of *folders* that no other sandbox has any more."""
        found = []
        for folder in folders:
            uid, gid = self.owner(folder)
            status = os.fstat(folder)
            loan = self._loans[status.st_dev, status.st_ino]
            loan[0] -= 1
            if not loan[0]:
                del self._loans[status.st_dev, status.st_ino]
                found.append((folder, uid, gid))
        return found


def measure(folder: int) -> Iterator[int]:
    """Yield the bytes on disk so far, now and then, while walking the open *folder*; the last is the sum.

    Raises `TooLargeError`.
    """
    total = 0
    for entries, (_, _, status) in enumerate(_entries(folder, strict=True), 1):
        total += status.st_blocks * 512
        if entries > MAX_ENTRIES:
            raise TooLargeError
        if entries % 500 == 0:
            yield total
    yield total


def _entries(
    folder: int, *, strict: bool = False, repair: bool = False, most: int | None = None
) -> Iterator[tuple[int, str, os.stat_result]]:
    """Yield (descriptor of its folder, name, status) of everything below.

    *strict* minds the depth; *repair* makes all accessible for its owner on the way. At most one more than *most*
    are listed of each folder.
    """
    own = _opened_anew(folder)
    stack = [(own, iter(_names(own, most)))]
    try:
        while stack:
            parent, names = stack[-1]
            name = next(names, None)
            if name is None:
                os.close(stack.pop()[0])
                continue
            try:
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            except OSError:
                continue
            if repair:
                _repair_entry(parent, name, status)
            yield parent, name, status
            if stat.S_ISDIR(status.st_mode):
                if len(stack) >= MAX_DEPTH:
                    if strict:
                        raise TooLargeError
                    continue
                try:
                    child = os.open(name, _FOLDER, dir_fd=parent)
                except OSError:
                    continue
                stack.append((child, iter(_names(child, most))))
    finally:
        for parent, _ in stack:
            os.close(parent)


def _opened_anew(folder: int) -> int:
    """Return a descriptor with a place of its own in the list of entries.

    Duplicates share one, also with other processes: of two that list at once, each would miss entries.
    """
    try:
        return os.open(".", _FOLDER, dir_fd=folder)
    except PermissionError:  # an ordinary user's guest may have closed it to us, too
        return os.dup(folder)


def _names(folder: int, most: int | None) -> list[str]:
    try:
        if most is None:
            return os.listdir(folder)
        with os.scandir(folder) as entries:
            return [entry.name for entry in itertools.islice(entries, most + 1)]
    except OSError:
        return []


def _repair_entry(parent: int, name: str, status: os.stat_result) -> None:
    needed = 0o700 if stat.S_ISDIR(status.st_mode) else 0o400 if stat.S_ISREG(status.st_mode) else 0
    if not needed & ~status.st_mode:
        return
    with contextlib.suppress(OSError):
        # A guest may swap the entry for a link after the look at it, so the mode of what was opened is changed,
        # never that of a name.
        descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            found = os.fstat(descriptor)
            if stat.S_IFMT(found.st_mode) == stat.S_IFMT(status.st_mode):
                os.chmod(f"/proc/self/fd/{descriptor}", stat.S_IMODE(found.st_mode) | needed)
        finally:
            os.close(descriptor)


def _repair(descriptor: int, status: os.stat_result, needed: int) -> None:
    if needed & ~status.st_mode:
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode) | needed)
