"""Copying a tree that a stranger filled into a new folder of plain files, folders and inner links."""

import os
from pathlib import Path

from groundup.domain.errors import InfrastructureError
from groundup.trees.limits import TakenIn, TreeLimits
from groundup.trees.walking import FOLDER, TreeEntry, read_chunks, walk
from groundup.trees.writer import TreeWriter


def copy_tree(source: Path, destination: Path, limits: TreeLimits | None = None) -> TakenIn:
    """Copy the folder *source* to the absent or empty *destination*.

    Kept: regular files (with their executable bit), folders, links that stay inside. Dropped and named: everything
    else, and what cannot be read. Times, owners, special bits and hard links are not kept. Links are never
    followed, *source* itself included. Raises `SubmissionError` beyond the limits, `InfrastructureError` when the
    disk refuses.
    """
    limits = limits or TreeLimits()
    try:
        root = os.open(source, FOLDER)
    except OSError as error:
        raise InfrastructureError(f"cannot read the folder {source}: {error.strerror or error}") from error
    try:
        with TreeWriter(destination, limits) as writer:
            for entry in walk(root, limits.depth + 1):
                _copy(entry, writer)
            return writer.finish()
    finally:
        os.close(root)


def _copy(entry: TreeEntry, writer: TreeWriter) -> None:
    writer.admit(entry.parts)
    if entry.kind == "file":
        _copy_file(entry, writer)
    elif entry.kind == "folder":
        writer.folder(entry.parts)
    elif entry.kind == "link":
        try:
            target = entry.target()
        except OSError:
            writer.drop(entry.parts, "unreadable")
        else:
            writer.link(entry.parts, target)
    else:
        writer.drop(entry.parts, entry.kind)


def _copy_file(entry: TreeEntry, writer: TreeWriter) -> None:
    try:
        descriptor = entry.open()
    except OSError:
        writer.drop(entry.parts, "unreadable")
        return
    try:
        writer.file(entry.parts, read_chunks(descriptor), executable=entry.executable, size=entry.size)
    finally:
        os.close(descriptor)
