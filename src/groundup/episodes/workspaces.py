"""The folder that an agent works in: seeds at the start, a stranger's tree afterwards."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from groundup.domain.tasks import Task
from groundup.suites.base import Suite
from groundup.trees.digest import TreeDigest, entry_digests, tree_digest
from groundup.trees.limits import told_dropped
from groundup.trees.removal import remove_tree
from groundup.trees.writer import copy_tree, in_thread


class Taken(NamedTuple):
    """What was taken in."""

    digest: TreeDigest
    dropped: tuple[str, ...]


class Workspace:
    """One attempt's workspace below a scratch folder. Its methods block."""

    def __init__(self, suite: Suite, task: Task, scratch: Path) -> None:
        self.path = scratch / "workspace"
        self._suite = suite
        self._task = task
        self._scratch = scratch
        self._seeded: dict[str, bytes] = {}
        self._copies = count(1)

    def prepare(self) -> None:
        """Write the task's seeds."""
        self.path.mkdir()
        self._suite.write_seeds(self._task, self.path)
        _remove_histories(self.path)
        if self._task.deliverable == "edits":
            self._seeded = entry_digests(self.path)

    def take_in(self, destination: Path) -> Taken:
        """Copy what is there now into the empty folder *destination*: of edits, only what is not as it was.

        Raises `SubmissionError` for a tree beyond all limits.
        """
        taken = copy_tree(self.path, destination)
        if self._seeded:
            self._remove_unchanged(destination)
        return Taken(tree_digest(destination), told_dropped(taken))

    @asynccontextmanager
    async def copied(self) -> AsyncIterator[Path]:
        """Yield a copy of what is there now, later removed."""
        copy = self._scratch / f"submitted-{next(self._copies)}"
        copy.mkdir()
        try:
            await in_thread(lambda: self.take_in(copy))
            yield copy
        finally:
            await in_thread(lambda: remove_tree(copy))

    def _remove_unchanged(self, tree: Path) -> None:
        for name, digest in entry_digests(tree).items():
            if self._seeded.get(name) == digest:
                (tree / name).unlink()
        for folder, _, _ in os.walk(tree, topdown=False):
            if Path(folder) != tree and not any(Path(folder).iterdir()):
                Path(folder).rmdir()


def _remove_histories(tree: Path) -> None:
    """Remove what Git knows of a seeded repository: an original's history has what its seeds leave out."""
    for folder, folders, files in os.walk(tree):
        if ".git" in files:
            (Path(folder) / ".git").unlink()
        if ".git" in folders:
            folders.remove(".git")
            place = Path(folder) / ".git"
            if place.is_symlink():
                place.unlink()
            else:
                remove_tree(place)
