"""One digest for a tree: paths, contents, executable bits and links; not times, owners or other modes."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from groundup.domain.digests import ALGORITHM
from groundup.domain.errors import InfrastructureError
from groundup.trees.walking import FOLDER, Entry, read_chunks, walk

_MAX_DEPTH = 500  # deeper than any tree that was taken in


class TreeDigest(NamedTuple):
    """What a tree is, in short."""

    digest: str
    files: int
    bytes: int


def tree_digest(path: Path) -> TreeDigest:
    """Digest the tree at *path*. Two trees have one digest exactly when `copy_tree` makes the same of both.

    Anything but files, folders and links is refused: take the tree in first. Raises `InfrastructureError`.
    """
    try:
        root = os.open(path, FOLDER)
    except OSError as error:
        raise InfrastructureError(f"cannot read the folder {path}: {error.strerror or error}") from error
    files = size = 0
    lines: list[bytes] = []
    try:
        for entry in walk(root, _MAX_DEPTH):
            line, length = _line(entry)
            lines.append(line)
            files += entry.kind != "folder"
            size += length
    except OSError as error:
        raise InfrastructureError(f"cannot read the tree {path}: {error.strerror or error}") from error
    finally:
        os.close(root)
    # Each line starts with its own length, so no name can imitate the end of one and the start of the next.
    whole = hashlib.sha256()
    for line in sorted(lines):
        whole.update(b"%d:" % len(line) + line)
    return TreeDigest(f"{ALGORITHM}:{whole.hexdigest()}", files, size)


def _line(entry: Entry) -> tuple[bytes, int]:
    """Return an entry's part of the digest, and how many bytes its content has."""
    name = os.fsencode("/".join(entry.parts)) + b"\0"
    if entry.kind == "folder":
        return name + b"folder", 0
    if entry.kind == "link":
        return name + b"link " + os.fsencode(entry.target()), 0
    if entry.kind != "file":
        raise OSError(f"it holds a {entry.kind}")
    digest, size = hashlib.sha256(), 0
    descriptor = entry.open()
    try:
        for chunk in read_chunks(descriptor):
            digest.update(chunk)
            size += len(chunk)
    finally:
        os.close(descriptor)
    return name + (b"program " if entry.executable else b"file ") + digest.digest(), size
