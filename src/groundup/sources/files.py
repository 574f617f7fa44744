"""The source files of a repository, one file, a notebook or a unified diff, as UTF-8 bytes with relative paths."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from posixpath import splitext
from types import MappingProxyType
from typing import NamedTuple, get_args

from groundup.domain.errors import UsageError
from groundup.domain.languages import DependencyLanguage as Language
from groundup.grammars import Grammar
from groundup.languages import LANGUAGES
from groundup.sources.names import words
from groundup.trees.walking import read_own, read_regular

SUFFIXES = {language: record.suffixes for language, record in LANGUAGES.items() if language in get_args(Language)}
"""What belongs to which language."""
CYTHON = LANGUAGES["python"].also_read
STYLES = LANGUAGES["javascript"].also_read
READ = {language: (*suffixes, *LANGUAGES[language].also_read) for language, suffixes in SUFFIXES.items()}
"""What is read for imports: Cython's modules load others as Python's do, style sheets use those of packages,
projects in F# and Visual Basic stand beside those in C#."""

SKIPPED_FOLDERS = words(
    """
    .git .hg .svn .tox .nox .venv venv env .env node_modules bower_components __pycache__ .mypy_cache
    .pytest_cache .ruff_cache .eggs site-packages .idea .vscode .cargo .terraform
    """
)
LARGEST = 1_500_000
"""Bytes; what is larger was generated."""
MOST_FILES = 60_000


class SourceFile(NamedTuple):
    """One file. `lines` is set for a diff: only what stands on these lines counts."""

    path: str
    data: bytes
    lines: frozenset[int] | None = None

    @property
    def suffix(self) -> str:
        """The last suffix, lower case."""
        return splitext(self.path)[1].lower()  # asked for so often that a path object costs


class SourceFiles(NamedTuple):
    """Everything that inference looks at."""

    sources: tuple[SourceFile, ...]
    manifests: dict[str, bytes]
    """Project files by relative path: read for names, layout and entry points, never for dependencies."""
    whole: bool
    """Whether this is a repository rather than a single file or a diff."""
    beside: Mapping[str, str] = MappingProxyType({})
    """Python modules of the repository's other projects -> the distribution that each is of."""


_MANIFESTS = re.compile(
    r"(^|/)(pyproject\.toml|setup\.cfg|setup\.py|Cargo\.toml|package\.json|[tj]sconfig[^/]*\.json|[^/]+\.(cs|fs|vb)proj"
    r"|Directory\.Build\.(props|targets)|global\.json|stylecop\.json|version\.json|FodyWeavers\.xml|BannedSymbols\.txt"
    r"|PublicAPI\.(Uns|S)hipped\.txt|AnalyzerReleases\.(Uns|S)hipped\.md|[^/]*\.(editorconfig|globalconfig|ruleset)"
    r"|[^/]+\.(runsettings|cake)|\.github/workflows/[^/]+\.ya?ml|build\.(ps1|sh|cmd))$"
)


def as_utf8(data: bytes) -> bytes:
    """Return *data* as UTF-8 without a BOM, whatever text encoding it is in."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1").encode("utf-8")
    return data


def read_tree(path: Path) -> SourceFiles:
    """Read a repository, a source file, a notebook or a diff. Raises `UsageError`."""
    if path.is_dir():
        return _read_folder(path)
    try:
        data = read_regular(path)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}; name a folder, a source file or a diff"
        ) from error
    if path.suffix.lower() in {".diff", ".patch"} or looks_like_diff(data):
        return SourceFiles(tuple(from_diff(data)), {}, whole=False)
    if not any(path.suffix.lower() in suffixes for suffixes in READ.values()):
        raise UsageError(f"{path}: neither a folder, a diff, nor a source file of a known language")
    return SourceFiles(tuple(_source(path.name, data)), {}, whole=False)


def _read_folder(root: Path) -> SourceFiles:
    sources: list[SourceFile] = []
    manifests: dict[str, bytes] = {}
    wanted = {suffix for suffixes in READ.values() for suffix in suffixes}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        base = Path(folder)
        for name in sorted(names):
            relative = (base / name).relative_to(root).as_posix()
            is_manifest = _MANIFESTS.search(relative) is not None
            if not is_manifest and PurePosixPath(name).suffix.lower() not in wanted:
                continue
            data = read_own(base / name, LARGEST)
            if data is None:
                continue
            if is_manifest:
                manifests[relative] = data
            sources.extend(_source(relative, data))
        if len(sources) > MOST_FILES:
            raise UsageError(f"{root}: more than {MOST_FILES} source files; name a smaller folder")
    return SourceFiles(tuple(sources), manifests, whole=True)


def _source(relative: str, data: bytes) -> Iterator[SourceFile]:
    suffix = PurePosixPath(relative).suffix.lower()
    if suffix == ".ipynb":
        yield SourceFile(relative, notebook_source(data))
    elif suffix in {".vue", ".svelte"}:
        yield SourceFile(relative, _scripts_only(as_utf8(data)))
    elif any(suffix in suffixes for suffixes in READ.values()):
        yield SourceFile(relative, as_utf8(data))


def notebook_source(data: bytes) -> bytes:
    """Return the code cells of a notebook, one after another; magics and shell lines become comments."""
    try:
        document = json.loads(as_utf8(data))
    except (ValueError, RecursionError):
        return b""
    cells = document.get("cells") if isinstance(document, dict) else None
    lines: list[str] = []
    for cell in cells if isinstance(cells, list) else ():
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if text.lstrip().startswith("%%") and not re.match(r"\s*%%(time|timeit|capture|prun)", text):
            continue
        lines += [re.sub(r"^(\s*)[%!?]", r"\1# ", line) for line in text.splitlines()]
    return "\n".join(lines).encode("utf-8", "replace")


def _scripts_only(data: bytes) -> bytes:
    """Keep what stands in script elements, on its own lines."""
    kept = bytearray(re.sub(rb"[^\n]", b" ", data))
    for match in re.finditer(rb"<script[^>]*>(.*?)</script", data, re.DOTALL | re.IGNORECASE):
        kept[match.start(1) : match.end(1)] = match.group(1)
    return bytes(kept)


_HUNK = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d{1,18})(?:,(\d{1,18}))? @@")


def looks_like_diff(data: bytes) -> bool:
    """Whether *data* is a unified diff."""
    return re.search(rb"^--- .*\r?\n\+\+\+ .*\r?\n@@ -", data, re.MULTILINE) is not None


def from_diff(data: bytes) -> Iterator[SourceFile]:
    """Yield the new side of each file of a diff, at its own line numbers; only added lines count."""
    path, rows, added, number, left = "", dict[int, bytes](), set[int](), 0, 0

    def finished() -> Iterator[SourceFile]:
        if path and added:
            content = b"\n".join(rows.get(line, b"") for line in range(1, min(max(rows), 200_000) + 1))
            for source in _source(path, content):
                yield source._replace(lines=frozenset(added))

    for line in data.splitlines():
        hunk = _HUNK.match(line)
        if hunk:
            number, left = int(hunk.group(1)), int(hunk.group(2) or 1)
        elif left > 0 and line[:1] in (b"+", b" ", b""):
            rows[number] = line[1:]
            if line[:1] == b"+":
                added.add(number)
            number, left = number + 1, left - 1
        elif line.startswith(b"+++ "):
            yield from finished()
            name = line[4:].split(b"\t")[0].strip().decode("utf-8", "replace")
            path = "" if name == "/dev/null" else re.sub(r"^b/", "", name.strip('"'))
            rows, added = {}, set()
    yield from finished()


def grammar_of(language: Language, suffix: str) -> Grammar:
    """Return the grammar of a source file of *language* by its suffix."""
    return LANGUAGES[language].grammars.get(suffix, language)
