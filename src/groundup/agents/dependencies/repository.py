"""What a model is shown of a repository, read from the workspace: build files and sources, as text.

What belongs to a task comes with it: its language and the build files that may be edited.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from groundup.agents.answers import fenced
from groundup.agents.dependencies.statements import import_statements
from groundup.domain.errors import TaskError
from groundup.domain.tasks import Task
from groundup.sources.files import SUFFIXES, SourceFile, as_utf8, read_tree
from groundup.sources.records import Language

_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True)
class Repository:
    """One repository whose build files lack their dependencies."""

    root: Path
    language: Language
    build_files: tuple[str, ...]
    sources: tuple[SourceFile, ...]

    def build_file(self, path: str) -> bytes | None:
        """Return the content of a build file as it is; None when it is not there."""
        place = self.root / path
        if place.is_symlink() or not place.is_file() or place.stat().st_size > _LARGEST:
            return None
        return place.read_bytes()

    def shown_build_files(self) -> str:
        """Return all build files as blocks."""
        return "\n".join(self.shown_build_file(path) for path in self.build_files)

    def shown_build_file(self, path: str) -> str:
        """Return one build file as a block."""
        return fenced(path, as_utf8(self.build_file(path) or b"").decode(errors="replace"))

    def shown_sources(self) -> str:
        """Return all sources as blocks."""
        return "\n".join(shown_source(file) for file in self.sources)

    def shown_imports(self) -> str:
        """Return the import statements of each file that has some."""
        found = {file.path: import_statements(file, self.language) for file in self.sources}
        return "\n".join(fenced(path, "\n".join(statements)) for path, statements in found.items() if statements)


def shown_source(file: SourceFile) -> str:
    """Return a source as a block."""
    return fenced(file.path, file.data.decode(errors="replace"))


def read_repository(task: Task, root: Path) -> Repository:
    """Read the workspace of *task*. Raises `TaskError` for one that asks for no dependencies."""
    language, listed = task.metadata.get("language"), task.metadata.get("build_files")
    if language not in get_args(Language) or not isinstance(listed, str):
        raise TaskError(
            f"{task.id} does not say in which language and build files dependencies are missing; use another agent"
        )
    build_files: Sequence[str] = json.loads(listed)
    known = cast(Language, language)
    suffixes = SUFFIXES[known]
    sources = tuple(
        file for file in read_tree(root).sources if file.suffix in suffixes and file.path not in build_files
    )
    return Repository(root, known, tuple(build_files), sources)
