"""Taking out of a program's HOME the files that say what it did. What lies there was written by a stranger."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from groundup.domain.errors import InfrastructureError
from groundup.trees.walking import FOLDER, Entry, read_chunks, walk

_MOST_FILES = 200
_MOST_BYTES = 64 * 1024 * 1024
_DEPTH = 12


def kept_files(home: Path, patterns: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the regular files below *home* whose path matches, in order.

    Links are not followed; at most 200 files with 64 MiB together are read, of larger ones the beginning.
    """
    if not patterns:
        return
    try:
        root = os.open(home, FOLDER)
    except OSError as error:
        raise InfrastructureError(f"cannot read the folder {home}: {error.strerror or error}") from error
    left = _MOST_BYTES
    count = 0
    try:
        for entry in walk(root, _DEPTH):
            if entry.kind != "file" or not _matches(entry.parts, patterns):
                continue
            content = _beginning(entry, left)
            if content is None:
                continue
            count += 1
            left -= len(content)
            yield "-".join(("trajectory", *(part.lstrip(".") for part in entry.parts))), content
            if count >= _MOST_FILES or left <= 0:
                return
    finally:
        os.close(root)


def _matches(parts: tuple[str, ...], patterns: Sequence[str]) -> bool:
    """Whether a path matches, part by part."""
    for pattern in patterns:
        wanted = pattern.split("/")
        if len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted)):
            return True
    return False


def _beginning(entry: Entry, most: int) -> bytes | None:
    try:
        descriptor = entry.open()
    except OSError:
        return None
    try:
        content = bytearray()
        for chunk in read_chunks(descriptor):
            content += chunk
            if len(content) >= most:
                break
        return bytes(content[:most])
    finally:
        os.close(descriptor)
