"""A repository's files as a job's plan reads them, before anything of the repository runs."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from pathlib import Path, PurePosixPath

_LARGEST = 16 * 1024 * 1024


class RepositoryFiles:
    """Reads below one folder and nowhere else."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, path: str) -> bytes | None:
        """Return a regular file's content; None where there is none inside the repository."""
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts:
            return None
        file = self.root / parts
        try:
            if not file.resolve(strict=True).is_relative_to(self.root.resolve()) or not file.is_file():
                return None
            return file.read_bytes() if file.stat().st_size <= _LARGEST else None
        except OSError:
            return None

    def hash_files(self, patterns: tuple[str, ...]) -> str:
        """Return one digest of all files that match *patterns*, as `hashFiles` would; nothing where none does."""
        matching = [path for path in self._paths() if _matches(path, patterns)]
        if not matching:
            return ""
        digest = hashlib.sha256()
        for path in sorted(matching):
            digest.update(hashlib.sha256(self.read(path) or b"").digest())
        return digest.hexdigest()

    def _paths(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name != ".git"]
            for name in names:
                yield str(PurePosixPath(os.path.relpath(Path(folder) / name, self.root)))


def _matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether the last pattern that fits *path* takes it in; `!` takes out."""
    taken = False
    for pattern in patterns:
        wanted = pattern.removeprefix("!").removeprefix("./")
        rule = translate(wanted.replace("**/", "*"))
        if re.fullmatch(rule, path) and ("**" in wanted or path.count("/") == wanted.count("/")):
            taken = not pattern.startswith("!")
    return taken
