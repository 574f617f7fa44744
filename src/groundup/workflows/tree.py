"""A repository's files: names and contents, wherever they lie. Nothing is written.

Names and contents are a stranger's: a path or a link that leads out of the repository reads as missing.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import Protocol

from groundup.languages.formats import files_of

_LARGEST = 16 * 1024 * 1024
_LARGEST_SCRIPT = 1024 * 1024
_LONGEST_LINE = 20_000


class RepositoryTree(Protocol):
    """A repository at one moment."""

    def paths(self) -> frozenset[str]:
        """Return the relative paths of all files."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None when it is missing or too large."""
        ...


class FolderTree:
    """A repository in a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths: frozenset[str] | None = None

    def paths(self) -> frozenset[str]:
        """Return the relative paths of all files, links and installed packages left out."""
        if self._paths is None:
            self._paths = frozenset(files_of(self._root))
        return self._paths

    def read(self, path: str) -> bytes | None:
        """Return a regular file's content; None where there is none inside the repository."""
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts:
            return None
        file = self._root / parts
        try:
            if not file.resolve(strict=True).is_relative_to(self._root.resolve()) or not file.is_file():
                return None
            return file.read_bytes() if file.stat().st_size <= _LARGEST else None
        except OSError:
            return None

    def hash_files(self, patterns: tuple[str, ...]) -> str:
        """Return one digest of all files that match *patterns*, as `hashFiles` would; "" where none does."""
        matching = [path for path in self._everything() if _matches(path, patterns)]
        if not matching:
            return ""
        digest = hashlib.sha256()
        for path in sorted(matching):
            digest.update(hashlib.sha256(self.read(path) or b"").digest())
        return digest.hexdigest()

    def _everything(self) -> Iterator[str]:
        """Yield also what `paths` leaves out: a cache's key may depend on installed packages."""
        for folder, folders, names in os.walk(self._root):
            folders[:] = [name for name in folders if name != ".git"]
            for name in names:
                yield str(PurePosixPath(os.path.relpath(Path(folder) / name, self._root)))


class WithFile:
    """A repository with one more file, which lies nowhere."""

    def __init__(self, tree: RepositoryTree, path: str, data: bytes) -> None:
        self._tree = tree
        self._path = path
        self._data = data

    def paths(self) -> frozenset[str]:
        return self._tree.paths() | {self._path}

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None when it is missing or too large."""
        return self._data if path == self._path else self._tree.read(path)


class InFolder:
    """A repository as a job has it that checks it out into the folder *place* below its workspace."""

    def __init__(self, tree: RepositoryTree, place: str) -> None:
        self._tree = tree
        self._place = place

    def paths(self) -> frozenset[str]:
        """Return the paths of all files, relative to the workspace."""
        return frozenset(f"{self._place}/{path}" for path in self._tree.paths())

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None when it is missing or too large."""
        inner = path.removeprefix(f"{self._place}/")
        return self._tree.read(inner) if inner != path else None


def text_of(tree: RepositoryTree, path: str) -> str | None:
    """Return a script or configuration file as text; None when it is missing, or too large to be one.

    Overlong lines are cut, so that no pattern has to walk through a megabyte that no person wrote.
    """
    data = tree.read(path)
    if data is None or len(data) > _LARGEST_SCRIPT:
        return None
    lines = data.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    return "".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}\n" for line in lines)


def _matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether the last pattern that fits *path* takes it in; `!` takes out."""
    taken = False
    for pattern in patterns:
        wanted = pattern.removeprefix("!").removeprefix("./")
        rule = translate(wanted.replace("**/", "*"))
        if re.fullmatch(rule, path) and ("**" in wanted or path.count("/") == wanted.count("/")):
            taken = not pattern.startswith("!")
    return taken
