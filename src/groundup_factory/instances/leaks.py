"""What a masked repository still tells of what was taken out: lines that install or list it.

Source code is not looked at: what it imports is what a dependency is to be inferred from.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.languages import LANGUAGES, canonical_name
from groundup.languages.formats import SKIPPED_FOLDERS, files_of, format_of
from groundup.languages.masking import MaskReport, matching
from groundup.manifests.records import DependencyKind, Language
from groundup.suites.base import Auditor
from groundup.suites.dibench.answers import answer
from groundup.suites.dibench.dataset import InstanceProblem

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
_LARGEST = 5_000_000
_MOST_LEAKS = 500


class Leak(Record):
    """A line that installs or lists a dependency which was masked elsewhere."""

    path: str
    line: int
    name: str
    text: str


class InstanceReport(MaskReport):
    """What was masked, and what still tells of it."""

    leaks: tuple[Leak, ...] = ()


def with_leaks(
    report: MaskReport, root: Path, language: Language, kinds: Collection[DependencyKind]
) -> InstanceReport:
    """Return the *report* on masking *kinds* in the repository at *root*, with what it still tells of them."""
    is_telltale = _telltales(language)
    paths = []
    for path in files_of(root, SKIPPED_FOLDERS):
        known = format_of(path)
        if known is not None and known.language == language:
            if not known.held_kinds & set(kinds):
                paths.append(path)
        elif is_telltale(path):
            paths.append(path)
    told = _Told((language, one.name) for item in report.masked for one in item.dependencies)
    leaks = tuple(_leaks(root, [*paths, *(item.path for item in report.masked)], told))
    return InstanceReport(masked=report.masked, removed=report.removed, refused=report.refused, leaks=leaks)


def _telltales(language: Language) -> Callable[[str], bool]:
    """Return what says whether a file, which is no manifest, is one in which names of dependencies stand."""
    is_one = matching([*_TELLTALES_OF_ALL, *LANGUAGES[language].telltales])
    return lambda path: path.startswith(_WORKFLOWS) or is_one(path)


def leaks_beside(root: Path, language: Language, masked: Iterable[str], names: Iterable[str]) -> list[Leak]:
    """Return what a masked repository still tells of *names*, in its files *masked* and beside them."""
    is_telltale = _telltales(language)
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


class DependencyAuditor(Auditor):
    """Reads masked repositories."""

    def __init__(self, problems: Mapping[str, InstanceProblem]) -> None:
        self._problems = problems

    @override
    async def answers(self, task: Task, context: GradingContext) -> Sequence[str]:
        """Return the lines that install or list a masked dependency. Raises `TaskError`."""
        problem = self._problems[task.id]
        files = problem.instance.build_files
        names = {item.name for file in answer(problem, None)[0].files for item in file.expected}
        leaks = await asyncio.to_thread(leaks_beside, problem.folder(), problem.instance.language, files, names)
        return [f"{leak.path}:{leak.line} ({leak.name})" for leak in leaks]
