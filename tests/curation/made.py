"""Repositories in memory, for what only reads."""

from collections.abc import Mapping

from groundup.curation.locating import JobCandidate, Located, locate


class MadeTree:
    """Files by path."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = dict(files)

    def paths(self) -> frozenset[str]:
        """Return all paths."""
        return frozenset(self._files)

    def read(self, path: str) -> bytes | None:
        """Return a file."""
        text = self._files.get(path)
        return None if text is None else text.encode()


def located(workflow: str, **files: str) -> Located:
    """Locate in a repository of one workflow and *files*, whose names have `__` for `/` and `_dot_` for `.`."""
    named = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    return locate(MadeTree({".github/workflows/ci.yml": workflow, **named}))


def best(workflow: str, **files: str) -> JobCandidate:
    """Return the best candidate, which there must be."""
    found = located(workflow, **files).best
    assert found is not None
    return found
