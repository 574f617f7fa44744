"""Finding the manifests of a repository."""

import os
from collections.abc import Iterator
from pathlib import Path

from groundup.domain.records import Record
from groundup.manifests.formats import format_of
from groundup.manifests.records import Language

SKIPPED_FOLDERS = frozenset({
    ".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", "target", "site-packages",
    ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache",
})  # fmt: skip
"""Folders that hold other people's manifests or none: histories, environments, packages, build results."""


class FoundManifest(Record):
    """A manifest of a repository."""

    path: str
    format: str
    language: Language


def files_of(root: Path, skipped: frozenset[str] = SKIPPED_FOLDERS) -> Iterator[str]:
    """Yield the relative paths of all regular files below *root*, in name order; links are not followed."""
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(root / folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        pending += [folder + name + "/" for name in reversed(below) if name not in skipped]
        yield from (folder + entry.name for entry in entries if entry.is_file(follow_symlinks=False))


def find_manifests(root: Path, language: Language | None = None) -> tuple[FoundManifest, ...]:
    """Return the manifests below *root*, of one *language* or of all."""
    found = []
    for path in files_of(root):
        known = format_of(path)
        if known is not None and language in (None, known.language):
            found.append(FoundManifest(path=path, format=known.name, language=known.language))
    return tuple(found)
