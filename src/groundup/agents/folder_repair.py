"""Mends folders of an attempt in which no further command could run: closed to their owner, or too full.

Only while no sandbox is open are they groundup's own; what lies there is hostile, so walks follow no link.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from groundup.trees.walking import FOLDER, Parts, remove_tree, walk

_DEPTH = 200
_MOST_ENTRIES = 500_000
"""Half of what the sandbox's watcher measures."""
_KEPT = 0.75
"""The share of the limit that is left full."""
_SPARE_BYTES = 512 * 2**20
"""Of the disk itself, so that another sandbox can be opened."""
_NAMED = 3


class _File(NamedTuple):
    bytes: int
    parts: Parts


def open_closed(folders: Iterable[tuple[str, Path]]) -> list[str]:
    """Open those of *folders* that a command closed to their owner; return where they are seen."""
    closed = []
    for target, folder in folders:
        mode = folder.stat().st_mode
        if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
            folder.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
            closed.append(target)
    return closed


def make_room(folders: Iterable[tuple[str, Path]], limit_bytes: int) -> list[str]:
    """Remove the largest files of each folder that has hardly room left within *limit_bytes*; return which."""
    removed = []
    for target, folder in folders:
        files, crowded = _measured(folder)
        used = sum(file.bytes for file in files)
        free = os.statvfs(folder)
        most = min(limit_bytes, used + free.f_bavail * free.f_frsize - _SPARE_BYTES) * _KEPT
        gone = [f"{target}/{name}" for name in crowded]
        for name in crowded:
            remove_tree(folder / name)
        left = [file for file in files if file.parts[0] not in crowded]
        over = sum(file.bytes for file in left) - most
        for file in sorted(left, key=lambda file: (-file.bytes, file.parts)):
            if over <= 0:
                break
            _unlink(folder, file.parts)
            over -= file.bytes
            gone.append(f"{target}/{'/'.join(file.parts)} ({file.bytes / 2**20:,.0f} MB)")
        more = len(gone) - _NAMED
        removed += [*gone[:_NAMED], *([f"{more} more in {target}"] if more > 0 else [])]
    return removed


def _measured(folder: Path) -> tuple[list[_File], set[str]]:
    """Return the regular files of *folder*, and entries of its own that are too deep or hold too many others."""
    files, entries, deep = list[_File](), Counter[str](), set[str]()
    root = os.open(folder, FOLDER)
    try:
        for entry in walk(root, _DEPTH):
            entries[entry.parts[0]] += 1
            if entry.kind == "folder" and len(entry.parts) >= _DEPTH:
                deep.add(entry.parts[0])
            elif entry.kind == "file":
                size = os.stat(entry.parts[-1], dir_fd=entry.parent, follow_symlinks=False).st_blocks * 512
                files.append(_File(size, entry.parts))
    finally:
        os.close(root)
    left = entries.total()
    for name, count in entries.most_common():
        if left <= _MOST_ENTRIES:
            break
        deep.add(name)
        left -= count
    return files, deep


def _unlink(root: Path, parts: Parts) -> None:
    """Remove a file by its folders' descriptors: a link that lies in its place goes nowhere."""
    folder = os.open(root, FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        os.unlink(parts[-1], dir_fd=folder)
    finally:
        os.close(folder)
