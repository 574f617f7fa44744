"""Taking the answer out of a whole repository: manifests masked, lock files removed, leaks reported.

Source code is not looked at: what it imports is what a dependency is to be inferred from.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from fnmatch import translate
from pathlib import Path, PurePosixPath
from typing import get_args

from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.languages import LANGUAGES, canonical_name
from groundup.languages.formats import FORMATS, SKIPPED_FOLDERS, files_of, format_of, is_stale
from groundup.manifests.records import Dependency, DependencyKind, Language, Manifest, ManifestError, Note
from groundup.manifests.sections import ManifestFormat
from groundup.trees.walking import read_regular, remove_tree

_TELLTALES_OF_ALL = (
    ".pre-commit-config.yaml", "Dockerfile*", "*.dockerfile", "Containerfile*", "Makefile", "justfile", "*.sh",
    "dependabot.yml", ".readthedocs.y*ml", ".gitlab-ci.yml", ".travis.yml", "appveyor.yml", "azure-pipelines.yml",
)  # fmt: skip
_WORKFLOWS = ".github/workflows/"
_INSTALLS = re.compile(
    r"\b(?:pip3?|pipx|uv|conda|mamba|poetry|pdm|npm|pnpm|yarn|bun|cargo|dotnet|nuget)\b.*?\s(?:install|add|i)\s"
    r"|\.install\(|\bdeps\s*=|additional_dependencies|\brequires\s*="
)
_ITEM = re.compile(
    r"""[\s#]*(?:-\s+)?["']?(?P<name>@?[\w./-]+)(?:\[[^\]]*\])?\s*(?:[=<>~!^;].*)?["',\]]*\s*(?:\s#.*)?$"""
)
_WORD = re.compile(r"@?[\w./-]+")
_HEADER = re.compile(r"\s*\[\s*(?P<name>[^\[\]]+?)\s*\]\s*(?:#.*)?$")
_ENABLED = re.compile(r"""["'](?:dep:)?([\w-]+)(?:\??/[\w-]+)?["']""")
"""An item of a feature: `"serde"`, `"dep:serde"`, `"serde/std"`, `"serde?/std"`."""
_OF_PACKAGE = re.compile(r"\$\((?:Pkg(\w+)|NuGetPackageRoot)\)[\\/]*([\w.-]*)", re.IGNORECASE)
"""How a C# project names a file of a package: `$(PkgXunit_Core)`, or `$(NuGetPackageRoot)xunit.core`."""
_METADATA = ("PKG-INFO", "METADATA")
_REQUIRES = re.compile(rb"^(?:Requires-Dist|Requires|Provides-Extra):[^\n]*(?:\n[ \t][^\n]*)*\n?", re.MULTILINE)
_NOT_LISTS = frozenset({".py", ".md", ".rst", ".toml", ".cfg", ".json", ".ini", ".yml", ".yaml"})
_LARGEST = 5_000_000
_MOST_LEAKS = 500


class MaskedFile(Record):
    """A manifest whose declarations were taken out."""

    path: str
    format: str
    dependencies: tuple[Dependency, ...]
    """What was taken out: the answer."""
    notes: tuple[Note, ...] = ()


class Leak(Record):
    """A line that installs or lists a dependency which was masked elsewhere."""

    path: str
    line: int
    name: str
    text: str


class MaskReport(Record):
    """What `mask_repository` did and what it could not do."""

    masked: tuple[MaskedFile, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    """Manifests that could not be understood and were left as they are: one sentence each."""
    leaks: tuple[Leak, ...] = ()


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
        telltales: list[str] = []
        is_lock = _matcher(pattern for item in languages for pattern in LANGUAGES[item].lock_files)
        is_telltale = _telltales(languages)
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
                else:
                    telltales.append(path)
            elif name in _METADATA and "python" in languages:
                self._mask_metadata(path)
            elif is_telltale(path):
                telltales.append(path)
        if "python" in languages:
            self._mask_references()
        told = _Told(
            (FORMATS[item.format].language, one.name) for item in self.masked for one in item.dependencies
        )
        leaks = _leaks(self.root, [*telltales, *(item.path for item in self.masked)], told)
        return MaskReport(
            masked=tuple(self.masked), removed=tuple(self.removed), refused=tuple(self.refused), leaks=tuple(leaks)
        )

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


def _telltales(languages: Collection[Language]) -> Callable[[str], bool]:
    """Return what says whether a file, which is no manifest, is one in which names of dependencies stand."""
    is_one = _matcher([*_TELLTALES_OF_ALL, *(name for item in languages for name in LANGUAGES[item].telltales)])
    return lambda path: path.startswith(_WORKFLOWS) or is_one(path)


def leaks_beside(root: Path, language: Language, masked: Iterable[str], names: Iterable[str]) -> list[Leak]:
    """Return what a masked repository still tells of *names*, in its files *masked* and beside them."""
    is_telltale = _telltales((language,))
    paths = [path for path in files_of(root, SKIPPED_FOLDERS) if format_of(path) is None and is_telltale(path)]
    present = [path for path in masked if (root / path).is_file()]
    return list(_leaks(root, [*paths, *present], _Told((language, name) for name in names)))


class _Told:
    """The names that were masked, to be found in whatever spelling their language takes for the same."""

    def __init__(self, names: Iterable[tuple[Language, str]]) -> None:
        self._names: dict[Language, dict[str, str]] = {}
        for language, name in names:
            if len(name) > 1:
                self._names.setdefault(language, {})[canonical_name(language, name)] = name

    def first_of(self, words: Iterable[str]) -> str | None:
        """Return the first name that is among *words*."""
        found = (
            names.get(canonical_name(language, word)) for word in words for language, names in self._names.items()
        )
        return next((name for name in found if name is not None), None)


def _leaks(root: Path, paths: Iterable[str], told: _Told) -> Iterator[Leak]:
    """Yield the lines of *paths* that install a name or list it as an item; the first 500 of them."""
    found = 0
    for path in paths:
        file = root / path
        if file.stat().st_size > _LARGEST:
            continue
        words = _CargoWords() if path.endswith("Cargo.toml") else _words
        if path.endswith(("proj", ".props", ".targets")):
            words = _project_words
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            leaked = told.first_of(words(line))
            if leaked is not None and found < _MOST_LEAKS:
                found += 1
                yield Leak(path=path, line=number, name=leaked, text=line.strip()[:200])


class _CargoWords:
    """What the lines of a Cargo.toml may name, in their order: in `[features]`, what a feature enables."""

    def __init__(self) -> None:
        self._in_features = False

    def __call__(self, line: str) -> list[str]:
        if line.lstrip().startswith("[") and (header := _HEADER.match(line)):
            self._in_features = header["name"] == "features"
        if self._in_features:
            return _ENABLED.findall(line)
        return _words(line)


def _words(line: str) -> list[str]:
    """Return what a line may name: the words of a command that installs, or the item of a list."""
    if _INSTALLS.search(line):
        return _WORD.findall(line)
    item = _ITEM.match(line)
    return [item["name"]] if item else []


def _project_words(line: str) -> list[str]:
    """Return what a line of a C# project may name: also the package in whose folder a file lies."""
    found = _OF_PACKAGE.findall(line)
    return [*_words(line), *(of_property.replace("_", ".") or folder for of_property, folder in found)]


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
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
