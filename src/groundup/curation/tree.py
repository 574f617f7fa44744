"""A repository's files as curation sees them: names and contents, wherever they lie. Nothing is written."""

from pathlib import Path
from typing import Protocol

from groundup.manifests.discovery import files_of

_LARGEST = 1024 * 1024


class Tree(Protocol):
    """A repository at one moment."""

    def paths(self) -> frozenset[str]:
        """Return the relative paths of all files."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None when there is none, or when it is too large to be a script."""
        ...


class FolderTree:
    """A repository in a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths: frozenset[str] | None = None

    def paths(self) -> frozenset[str]:
        """Return the relative paths of all files, links left out."""
        if self._paths is None:
            self._paths = frozenset(files_of(self._root))
        return self._paths

    def read(self, path: str) -> bytes | None:
        """Return the content of a file that `paths` names and that is small enough."""
        if path not in self.paths():
            return None
        file = self._root / path
        return file.read_bytes() if file.stat().st_size <= _LARGEST else None


def text_of(tree: Tree, path: str) -> str | None:
    """Return a file as text; None when there is none."""
    data = tree.read(path)
    return None if data is None else data.decode("utf-8-sig", errors="replace")
