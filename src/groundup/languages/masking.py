"""Taking the answer out of a whole repository: manifests masked, lock files removed.

Source code is not looked at: what it imports is what a dependency is to be inferred from.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import get_args

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.languages import LANGUAGES
from groundup.languages.formats import FORMATS, SKIPPED_FOLDERS, files_of, format_of, is_stale
from groundup.manifests.records import Dependency, DependencyKind, Language, Manifest, ManifestError, Note
from groundup.manifests.sections import ManifestFormat
from groundup.trees.walking import read_regular, remove_tree

_METADATA = ("PKG-INFO", "METADATA")
_REQUIRES = re.compile(rb"^(?:Requires-Dist|Requires|Provides-Extra):[^\n]*(?:\n[ \t][^\n]*)*\n?", re.MULTILINE)
_NOT_LISTS = frozenset({".py", ".md", ".rst", ".toml", ".cfg", ".json", ".ini", ".yml", ".yaml"})


class MaskedFile(Record):
    """A manifest whose declarations were taken out."""

    path: str
    format: str
    dependencies: tuple[Dependency, ...]
    """What was taken out: the answer."""
    notes: tuple[Note, ...] = ()


class MaskReport(Record):
    """What `mask_repository` did and what it could not do."""

    masked: tuple[MaskedFile, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Manifests that could not be understood and were left as they are: one sentence each."""


def mask_repository(
    root: Path,
    destination: Path | None = None,
    language: Language | None = None,
    kinds: Collection[DependencyKind] | None = None,
) -> MaskReport:
    """Take the declarations of *kinds* (None: what each format masks) out of the repository at *root*.

    Works on a copy at *destination*, which must not exist, or in place without one. Raises `UsageError`.
    """
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder; name the root of a repository")
    if destination is not None:
        from groundup.trees.writer import copy_tree

        if destination.exists():
            raise UsageError(f"{destination} exists already; name a new folder for the masked copy")
        copy_tree(root, destination)
        root = destination
    return _Masking(root, language, kinds).run()


class _Masking:
    def __init__(self, root: Path, language: Language | None, kinds: Collection[DependencyKind] | None) -> None:
        self.root = root
        self.language = language
        self.kinds = kinds
        self.masked: list[MaskedFile] = []
        self.removed: list[str] = []
        self.refused: list[str] = []

    def run(self) -> MaskReport:
        languages: tuple[Language, ...] = (self.language,) if self.language else get_args(Language)
        is_lock = matching(pattern for item in languages for pattern in LANGUAGES[item].lock_files)
        # First, so that the walk does not mask what dependencies themselves declare.
        self._remove_installed(languages)
        for path in list(files_of(self.root, SKIPPED_FOLDERS)):
            known = format_of(path)
            name = path.rpartition("/")[2]
            if is_lock(path) or (known is not None and known.language in languages and is_stale(self.root, path)):
                self._remove(path)
            elif known is not None and known.language in languages:
                if self.kinds is None or known.held_kinds & set(self.kinds):
                    self._mask(known, path, self.kinds)
            elif name in _METADATA and "python" in languages:
                self._mask_metadata(path)
        if "python" in languages:
            self._mask_references()
        return MaskReport(masked=tuple(self.masked), removed=tuple(self.removed), refused=tuple(self.refused))

    def _remove_installed(self, languages: Collection[Language]) -> None:
        for path in list(files_of(self.root, SKIPPED_FOLDERS)):
            known = format_of(path)
            folder = path.rpartition("/")[0]
            for name in (
                LANGUAGES[known.language].installed_folders if known and known.language in languages else ()
            ):
                installed = self.root / folder / name
                if installed.is_dir() and not installed.is_symlink():
                    remove_tree(installed)
                    self.removed.append(f"{folder}/{name}/" if folder else f"{name}/")

    def _remove(self, path: str) -> None:
        (self.root / path).unlink()
        self.removed.append(path)

    def _mask(self, known: ManifestFormat, path: str, kinds: Collection[DependencyKind] | None) -> None:
        file = self.root / path
        try:
            data = read_regular(file)
        except OSError as error:
            self.refused.append(f"{path} cannot be read: {error.strerror}")
            return
        try:
            manifest = known.read(data, path)
            masked = known.mask(data, path, kinds)
        except ManifestError as error:
            self.refused.append(str(error))
            return
        if masked != data:
            file.write_bytes(masked)
        self.masked.append(_record(known, path, manifest, masked))

    def _mask_metadata(self, path: str) -> None:
        file = self.root / path
        data = file.read_bytes()
        # Below the first empty line is the description, which may quote such headers.
        head, blank, body = data.partition(b"\n\n")
        masked = _REQUIRES.sub(b"", head + b"\n") if blank else _REQUIRES.sub(b"", data)
        masked = masked + blank[1:] + body if blank else masked
        if masked != data:
            file.write_bytes(masked)
            self.removed.append(f"{path} (Requires-Dist)")

    def _mask_references(self) -> None:
        """Mask the files that manifests refer to under names that no format recognises."""
        known = FORMATS["requirements.txt"]
        seen = {item.path for item in self.masked}
        done = {item.path for item in self.masked if item.dependencies or item.format != known.name}
        pending = [
            (item, note.target)
            for item in self.masked
            for note in item.notes
            if note.target and (self.kinds is None or note.kind in self.kinds)
        ]
        for item, target in pending:
            # Some tools look beside the manifest, others from the root.
            for base in (PurePosixPath(item.path).parent, PurePosixPath()):
                path = _inside(base, target)
                if path is None or path in done or PurePosixPath(path).suffix in _NOT_LISTS:
                    continue
                if path in seen and item.format == known.name:  # as `-c` names constraints, which stay
                    continue
                file = self.root / path
                if file.is_file() and not file.is_symlink() and known.language == FORMATS[item.format].language:
                    done.add(path)
                    self.masked = [one for one in self.masked if one.path != path]
                    self._mask(known, path, None)


def _record(known: ManifestFormat, path: str, manifest: Manifest, masked: bytes) -> MaskedFile:
    # Counted, because a file may declare the same thing twice and lose it once.
    left = Counter(item.identity for item in known.read(masked, path).dependencies)
    gone = []
    for item in manifest.dependencies:
        left[item.identity] -= 1
        if left[item.identity] < 0:
            gone.append(item)
    return MaskedFile(path=path, format=known.name, dependencies=tuple(gone), notes=manifest.notes)


def matching(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a test whether a relative path ends in one of *patterns*."""
    joined = re.compile("|".join(f"(?:{translate(pattern)})" for pattern in patterns))
    return lambda path: bool(joined.match(path.rpartition("/")[2]) or ("/" in path and joined.match(path)))


def _inside(base: PurePosixPath, target: str) -> str | None:
    """Return *target* relative to the repository, or None where it leads outside of it."""
    parts: list[str] = []
    for part in (base / target).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part == "/" or ":" in part:
            return None
        else:
            parts.append(part)
    return "/".join(parts) or None
