"""A repository's files as curation sees them: names and contents, wherever they lie. Nothing is written."""

from pathlib import Path
from typing import Protocol

from groundup.manifests.formats import files_of

_LARGEST = 1024 * 1024
_LONGEST_LINE = 20_000


class RepositoryTree(Protocol):
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


def text_of(tree: RepositoryTree, path: str) -> str | None:
    """Return a file as text; None when there is none.

    Lines that no person wrote are cut, so that no pattern has to walk through a megabyte of them.
    """
    data = tree.read(path)
    if data is None:
        return None
    lines = data.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    return "".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}\n" for line in lines)
