"""One digest for a tree: paths, contents, executable bits and links; not times, owners or other modes."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from groundup.domain.digests import ALGORITHM
from groundup.domain.errors import InfrastructureError, UsageError
from groundup.trees.walking import FOLDER, TreeEntry, read_chunks, walk
from groundup.trees.writer import TreeLimits, shown

_MAX_DEPTH = 500  # deeper than any tree that was taken in


class TreeDigest(NamedTuple):
    """What a tree is, in short."""

    digest: str
    files: int
    bytes: int


def tree_digest(path: Path) -> TreeDigest:
    """Digest the tree at *path*, which was taken in. Two have one digest exactly when their copies are the same.

    Anything but files, folders and links is refused. Raises `InfrastructureError`.
    """
    files = size = 0
    lines: list[bytes] = []
    with _reading(path) as root:
        for entry in walk(root, _MAX_DEPTH):
            line, length = _line(entry)
            lines.append(line)
            files += entry.kind != "folder"
            size += length
    return TreeDigest(_digest(lines), files, size)


def entry_digests(path: Path) -> dict[str, bytes]:
    """Return what stands for each file and link of the tree at *path*, by relative path, to find what changed."""
    with _reading(path) as root:
        return {
            "/".join(entry.parts): _line(entry)[0]
            for entry in walk(root, _MAX_DEPTH)
            if entry.kind in ("file", "link")
        }


def untrusted_digest(path: Path, limits: TreeLimits) -> str:
    """Digest a tree that was not taken in yet, to notice whether it changes: `tree_digest` for tame ones.

    What cannot be taken in counts by its kind. Beyond *limits*, only what comes before counts: such a tree is
    refused anyhow. Raises `UsageError` for a file or folder that may not be read, and `InfrastructureError`.
    """
    lines: list[bytes] = []
    left = limits.bytes
    with _reading(path) as root:
        for entry in walk(root, limits.depth + 1):
            left -= entry.size if entry.kind == "file" else 0
            if left < 0 or len(lines) >= limits.files:
                lines.append(b"beyond the limits")
                break
            try:
                lines.append(_line(entry)[0])
            except OSError as error:
                if entry.kind in ("file", "unreadable"):
                    raise UsageError(
                        f"{shown(entry.parts)} cannot be read; change its mode, or take it away"
                    ) from error
                lines.append(os.fsencode("/".join(entry.parts)) + b"\0not taken: " + entry.kind.encode())
    return _digest(lines)


@contextmanager
def _reading(path: Path) -> Iterator[int]:
    try:
        root = os.open(path, FOLDER)
    except OSError as error:
        raise InfrastructureError(f"cannot read the folder {path}: {error.strerror or error}") from error
    try:
        yield root
    except OSError as error:
        raise InfrastructureError(f"cannot read the tree {path}: {error.strerror or error}") from error
    finally:
        os.close(root)


def _digest(lines: list[bytes]) -> str:
    whole = hashlib.sha256()
    for line in sorted(lines):
        # Its own length first, so no name can imitate the end of one line and the start of the next.
        whole.update(b"%d:" % len(line) + line)
    return f"{ALGORITHM}:{whole.hexdigest()}"


def _line(entry: TreeEntry) -> tuple[bytes, int]:
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
