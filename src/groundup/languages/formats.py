"""The known manifest formats, which file is of which format, and finding a repository's manifests."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from groundup.domain.records import Record
from groundup.languages import LANGUAGES
from groundup.languages.csharp.nuget import is_sdk_style
from groundup.manifests.records import Language
from groundup.manifests.sections import ManifestFormat

FORMATS: dict[str, ManifestFormat] = {
    item.name: item for language in LANGUAGES.values() for item in language.formats()
}
"""Every format by its name. Importing a format imports no parser."""


def format_of(path: str | PurePosixPath) -> ManifestFormat | None:
    """Return the format of the file at a relative *path*, or None for a file that is no manifest."""
    relative = PurePosixPath(path)
    return next((item for item in FORMATS.values() if item.recognises(relative)), None)


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
    """Yield the relative paths of regular files below *root*, those in *skipped* folders left out."""
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(root / folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        pending += [folder + name + "/" for name in reversed(below) if name not in skipped]
        yield from (folder + entry.name for entry in entries if entry.is_file(follow_symlinks=False))


_PROJECTS = (".csproj", ".fsproj", ".vbproj")


def is_stale(root: Path, path: str) -> bool:
    """Whether no client reads the manifest at *path*: a packages.config beside projects that are all SDK-style."""
    if PurePosixPath(path).name.lower() != "packages.config":
        return False
    beside = [one for one in (root / path).parent.iterdir() if one.suffix.lower() in _PROJECTS and one.is_file()]
    return bool(beside) and all(is_sdk_style(_start_of(one)) for one in beside)


def _start_of(project: Path) -> str:
    with project.open("rb") as file:
        return file.read(64 * 1024).decode("utf-8", "replace")


def find_manifests(root: Path, language: Language | None = None) -> tuple[FoundManifest, ...]:
    """Return the manifests below *root*, of one *language* or of all."""
    found = []
    for path in files_of(root):
        known = format_of(path)
        if known is not None and language in (None, known.language) and not is_stale(root, path):
            found.append(FoundManifest(path=path, format=known.name, language=known.language))
    return tuple(found)
