"""Which packages source code needs, and writing what is missing into a repository's manifests."""

import os
import posixpath
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import Field

from groundup.api.flags import AnyPath
from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record
from groundup.languages.formats import FORMATS, find_manifests
from groundup.manifests.records import DependencyKind, Language
from groundup.store.files import write_atomically
from groundup.trees.walking import read_regular
from groundup_infer import inference
from groundup_infer.inference import INFERERS
from groundup_infer.records import Inference, imported_name
from groundup_infer.written import WRITABLE, write_inferred


def infer(path: AnyPath, language: str | None = None) -> tuple[Inference, ...]:
    """Return which packages *path*, a repository, file, notebook or diff, needs and why, by language.

    Declarations are not read; nothing is run. Raises `UsageError` where there is no source code.
    """
    if language is not None and language not in INFERERS:
        raise UsageError(unknown("language", language, INFERERS))
    found = inference.infer(Path(path), None if language is None else {language})
    if not found:
        raise UsageError(f"{path} holds no source code of {language or 'a known language'}")
    return found


class Declaration(Record):
    """Where a manifest declares a package."""

    name: str
    kind: DependencyKind
    path: str
    line: int | None


class Declarations(Record):
    """What the manifests of one language declare, beside what its source code needs."""

    language: Language
    declarations: tuple[Declaration, ...]
    unread: tuple[str, ...] = Field(default=(), description="why manifests cannot be read, a sentence each")

    def of(self, package: str) -> tuple[Declaration, ...]:
        """Return where *package* is declared, whatever the spelling."""
        wanted = imported_name(self.language, package)
        return tuple(one for one in self.declarations if imported_name(self.language, one.name) == wanted)

    def unused(self, found: Inference) -> tuple[Declaration, ...]:
        """Return what is declared for run time and imported nowhere, such as plugins and what is left over."""
        imported = {imported_name(self.language, item.name) for item in found.dependencies}
        referred = {
            (project.path, _joined(project.path, one.path))
            for project in found.projects
            for one in project.references
        }
        runtime = (one for one in self.declarations if one.kind is DependencyKind.RUNTIME)
        return tuple(
            one
            for one in runtime
            if imported_name(self.language, one.name) not in imported
            and (one.path, _joined(one.path, one.name.replace("\\", "/"))) not in referred
        )


def _joined(project: str, path: str) -> str:
    """Return the path from the root of what *project* refers to as *path*."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(project), path))


def declared(root: Path, languages: Iterable[Language]) -> dict[Language, Declarations]:
    """Return what the manifests of *languages* below *root* declare. What cannot be read is named, not raised."""
    found: dict[Language, list[Declaration]] = {language: [] for language in languages}
    unread: dict[Language, list[str]] = {language: [] for language in found}
    for manifest in find_manifests(root):
        if manifest.language not in found:
            continue
        try:
            read = FORMATS[manifest.format].read(_content(root / manifest.path), manifest.path)
        except UsageError as error:
            unread[manifest.language].append(str(error))
            continue
        for item in read.dependencies:
            if item.name and item.kind not in (DependencyKind.CONSTRAINT, DependencyKind.OVERRIDE):
                line = item.location.line if item.location else None
                one = Declaration(name=item.name, kind=item.kind, path=manifest.path, line=line)
                found[manifest.language].append(one)
    return {
        language: Declarations(language=language, declarations=tuple(ones), unread=tuple(unread[language]))
        for language, ones in found.items()
    }


def write_missing(root: Path, found: Sequence[Inference], kinds: Sequence[str]) -> tuple[list[str], list[str]]:
    """Add what is missing to each language's manifests; return sentences on what was done and what not."""
    done: list[str] = []
    failed: list[str] = []
    for one in found:
        language = one.language
        manifests = [file for file in find_manifests(root, language) if file.format in WRITABLE]
        paths = [file.path for file in manifests]
        paths = paths if language == "csharp" else _one_per_folder(paths)  # each of its projects is one
        needed = [item.name for item in one.dependencies if item.kind.value in kinds]
        if not paths and needed:
            failed.append(f"{language}: there is no manifest to write {', '.join(needed[:5])} to; make one first")
        wanted = {DependencyKind(kind) for kind in kinds}
        files = write_inferred(root, language, paths, lambda path: _content(root / path), wanted, guesses=False)
        for file in files:
            problem = file.problem or (_put(root / file.path, file.content) if file.added else "")
            if problem:
                failed.append(f"{file.path}: left as it is: {problem}")
            else:
                nothing = "nothing is missing" if not file.guessed else "nothing more is surely missing"
                change = f"added {', '.join(file.added)}" if file.added else nothing
                done.append(f"{file.path}: {change}")
            if file.guessed and not file.problem:
                names = ", ".join(file.guessed)
                failed.append(
                    f"{file.path}: left out {names}: such names are guesses; add what the packages are called"
                )
    return done, failed


def _content(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; mend that or remove it") from error


def _put(path: Path, content: bytes) -> str:
    """Write a manifest in place, its mode kept; return why that failed, empty when it did not."""
    if not os.access(path, os.W_OK):
        return "it cannot be written: permission denied"
    mode = path.stat().st_mode
    try:
        write_atomically(path, content)
        path.chmod(mode & 0o7777)
    except OSError as error:
        return str(error)
    return ""


def _one_per_folder(paths: Sequence[str]) -> list[str]:
    """Return the manifest of each folder that a project's dependencies belong in: the first in this order."""
    order = ("pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "package.json", "Cargo.toml")

    def rank(path: str) -> tuple[int, str]:
        name = path.rpartition("/")[2]
        return (order.index(name) if name in order else len(order)), path

    chosen: dict[str, str] = {}
    for path in sorted(paths, key=rank):
        chosen.setdefault(path.rpartition("/")[0], path)
    return sorted(chosen.values())
