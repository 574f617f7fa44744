"""Where the tests of a project are and what they need beside it, by the files alone; nothing of it is run.

Extras, groups of all tools, requirements files, tox, nox and the install steps of CI. What is kept for tests is
taken whole. Of what is kept for developers, who also format and publish, counts what the tests import, and
plugins of pytest.
"""

import ast
import configparser
import contextlib
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from groundup.grammars import python_tree
from groundup.languages.formats import FORMATS, find_manifests
from groundup.languages.python.requirement import group_kind
from groundup.manifests.records import DependencyKind, DependencySource, ManifestError
from groundup.sources.names import is_standard, python_provider
from groundup.sources.project_files import table_at, toml_of
from groundup.trees.walking import read_regular
from groundup_factory.recipes.project import requirement_line, text_at, without_extra

_TEST_FOLDERS = ("tests", "test", "testing", "t")
_TEST_FILES = ("test_*.py", "*_test.py", "tests.py")


def requires_python(root: Path) -> SpecifierSet:
    """Return which versions of Python the project at *root* allows; all where it does not say."""
    texts = [
        *re.findall(r"^Requires-Python:\s*(.+)$", _text(root / "PKG-INFO"), re.MULTILINE),
        *_declared_pythons(root),
    ]
    for text in texts:
        try:
            return SpecifierSet(text)
        except InvalidSpecifier:
            continue
    return SpecifierSet()


def _declared_pythons(root: Path) -> Iterator[str]:
    found = table_at(toml_of(_text(root / "pyproject.toml")), "project").get("requires-python")
    if isinstance(found, str):
        yield found
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(_text(root / "setup.cfg"))
    except configparser.Error:
        return
    if parser.has_option("options", "python_requires"):
        yield parser.get("options", "python_requires")


def places_of_tests(root: Path) -> tuple[str, ...]:
    """Return where the tests of the project at *root* are: its pytest configuration first, then usual folders."""
    configured = [path for path in _configured(root) if (root / path).exists()]
    usual = [name for name in _TEST_FOLDERS if any(files_of_tests(root / name))]
    single = [path.name for pattern in _TEST_FILES for path in root.glob(pattern)]
    return tuple(dict.fromkeys(configured or usual or single))


def _configured(root: Path) -> list[str]:
    parser = configparser.RawConfigParser()
    for name, section in (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        try:
            parser.read_string(_text(root / name))
        except configparser.Error:
            continue
        if parser.has_option(section, "testpaths"):
            return _inside(parser.get(section, "testpaths").split())
    options = table_at(toml_of(_text(root / "pyproject.toml")), "tool", "pytest", "ini_options")
    paths = options.get("testpaths", [])
    return _inside(paths.split() if isinstance(paths, str) else map(str, paths))


def _inside(paths: "list[str] | map[str]") -> list[str]:
    pure = [PurePosixPath(path) for path in paths]
    return [str(path) for path in pure if not path.is_absolute() and ".." not in path.parts and path.parts]


def files_of_tests(place: Path) -> Iterator[Path]:
    """Yield the files of tests in a folder by their names, or the one file *place*."""
    if place.is_file():
        yield place
        return
    for pattern in _TEST_FILES:
        yield from sorted(place.rglob(pattern))


def _text(path: Path) -> str:
    return text_at(path, math.inf) or ""


_FOR_NOBODY = frozenset({DependencyKind.RUNTIME, DependencyKind.BUILD, DependencyKind.OVERRIDE})
_DEPTH = 3
"""Parts of a manifest's path: deeper ones are of examples and documents."""
_BESIDE = frozenset({"docs", "doc", "examples", "example", "demo", "benchmarks", "samples"})
_CI = (".travis.yml", "appveyor.yml", ".appveyor.yml", "azure-pipelines.yml", ".gitlab-ci.yml", "Makefile")
_CI_FOLDERS = (".github/workflows", ".github/actions", ".circleci")
_INSTALL = re.compile(r"\bpip3?(?:\.exe)?[\"']?\s+install\s+([^\n&|;]+)")
_SECTION = re.compile(r"^\[(testenv[^\]]*)\]\s*$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_DEPS = re.compile(r"^deps\s*=\s*(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_OF_EXTRA = re.compile(r"^Requires-Dist:\s*([^;\n]+;.*?extra\s*==\s*['\"]([\w.-]+)['\"].*)$", re.MULTILINE)
_FACTOR = re.compile(r"^[!\w.,{}-]+:\s+(?=\S)")


class _Line(NamedTuple):
    requirement: str
    for_tests: bool
    """Whether the place in which it stands is for tests alone."""


def needs_of_tests(root: Path, places: Iterable[str]) -> tuple[str, ...]:
    """Return requirement lines for the tests in *places* of the project at *root*; the first of a name counts."""
    imported = {str(python_provider(name).name) for name in imported_by_tests(root, places)}
    found: dict[str, str] = {}
    lines = [*_of_manifests(root), *_of_tox(root), *_of_metadata(root), *_of_nox(root), *_of_ci(root)]
    for line in sorted(lines, key=lambda line: not line.for_tests):  # stable: the order above within each
        parsed = _parsed(line.requirement)
        if parsed is None:
            continue
        name = str(canonicalize_name(parsed.name))
        if line.for_tests or name in imported or _is_plugin(name):
            found.setdefault(name, str(parsed))
    return tuple(found.values())


def imported_by_tests(root: Path, places: Iterable[str]) -> frozenset[str]:
    """Return the modules that the tests in *places* import; of the standard library none."""
    found: set[str] = set()
    for place in places:
        folder = root / place
        files = {*files_of_tests(folder), *(folder.rglob("*.py") if folder.is_dir() else ())}
        for path in files:
            try:
                tree = python_tree(read_regular(path))
            except (OSError, SyntaxError, ValueError, RecursionError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    found.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    found.add(node.module)
                elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("importorskip"):
                    found.update(_texts(node.args[:1]))
    return frozenset(name for name in found if not is_standard(name))


def _texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _parsed(text: str) -> Requirement | None:
    try:
        found = Requirement(text.strip())
    except InvalidRequirement:
        return None
    return None if found.url else found


def _is_plugin(name: str) -> bool:
    return name.startswith("pytest-") or name == "pytest"


def _of_manifests(root: Path) -> Iterator[_Line]:
    for manifest in find_manifests(root, "python"):
        pure = PurePosixPath(manifest.path)
        if len(pure.parts) > _DEPTH or _BESIDE & set(pure.parts):
            continue
        try:
            read = FORMATS[manifest.format].read((root / pure).read_bytes(), manifest.path)
        except (ManifestError, OSError):
            continue
        for one in read.dependencies:
            if one.source is DependencySource.REGISTRY and one.kind not in _FOR_NOBODY:
                with contextlib.suppress(ManifestError):
                    line = requirement_line(one)
                    yield _Line(line, one.kind is DependencyKind.TEST or _is_for_tests(one.group))


def _is_for_tests(group: str) -> bool:
    return group_kind(group) is DependencyKind.TEST


def _of_metadata(root: Path) -> Iterator[_Line]:
    """Read the extras that a build left in the tree."""
    path = root / "PKG-INFO"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for line, extra in _OF_EXTRA.findall(text):
        yield _Line(without_extra(line), _is_for_tests(extra))


def _of_tox(root: Path) -> Iterator[_Line]:
    for name in ("tox.ini", "setup.cfg", "pyproject.toml"):
        path = root / name
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        for section, body in _SECTION.findall(text):
            usual = section == "testenv" or _is_for_tests(section.removeprefix("testenv"))
            for block in _DEPS.findall(body):
                for line in block.splitlines():
                    bare = _FACTOR.sub("", line.partition(" #")[0].strip())
                    words = bare.split() if bare.startswith("-") else [bare]
                    yield from _of_words(words, root, for_tests=usual)


def _of_nox(root: Path) -> Iterator[_Line]:
    try:
        tree = python_tree(read_regular(root / "noxfile.py"))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "install":
            yield from _of_words(list(_texts(node.args)), root, for_tests=False)


def _of_ci(root: Path) -> Iterator[_Line]:
    paths = [root / name for name in _CI]
    paths += [path for folder in _CI_FOLDERS for path in sorted((root / folder).rglob("*.y*ml"))]
    for path in paths:
        if path.is_file() and not path.is_symlink():
            for words in _INSTALL.findall(path.read_text(encoding="utf-8", errors="replace")):
                yield from _of_words([word.strip("\"'") for word in words.split()], root, for_tests=False)


def _of_words(words: list[str], root: Path, *, for_tests: bool) -> Iterator[_Line]:
    """Yield what `pip install WORDS` would: requirements, and those of files."""
    takes_file = False
    for word in words:
        file = word if takes_file else word.removeprefix("-r") if re.match(r"-r.", word) else ""
        if word.startswith("--requirement="):
            file = word.partition("=")[2]
        takes_file = word in ("-r", "--requirement")
        if file:
            yield from _of_file(root, file.removeprefix("{toxinidir}/"), for_tests=for_tests)
        elif not word.startswith(("-", ".", "/", "{", "$")):
            yield _Line(word, for_tests)


def _of_file(root: Path, name: str, *, for_tests: bool, depth: int = 0) -> Iterator[_Line]:
    path = root / name
    if ".." in PurePosixPath(name).parts or depth > _DEPTH or path.is_symlink() or not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        bare = line.partition(" #")[0].strip()
        if bare.startswith(("-r", "--requirement")):
            inner = str(PurePosixPath(name).parent / re.sub(r"^(-r|--requirement)[\s=]*", "", bare))
            yield from _of_file(root, inner, for_tests=for_tests, depth=depth + 1)
        elif bare and not bare.startswith(("-", "#")):
            yield _Line(bare, for_tests or _is_for_tests(PurePosixPath(name).stem))
