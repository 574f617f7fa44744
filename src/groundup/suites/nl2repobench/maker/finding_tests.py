"""Where the tests of a project are, and which interpreters it allows, by its files alone."""

import configparser
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from packaging.specifiers import InvalidSpecifier, SpecifierSet

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
    try:
        found = tomllib.loads(_text(root / "pyproject.toml")).get("project", {}).get("requires-python")
    except tomllib.TOMLDecodeError:
        found = None
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
    try:
        options = tomllib.loads(_text(root / "pyproject.toml")).get("tool", {}).get("pytest", {})
    except tomllib.TOMLDecodeError:
        return []
    paths = options.get("ini_options", {}).get("testpaths", [])
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
    if path.is_symlink() or not path.is_file():
        return ""
    return path.read_text(encoding="utf-8", errors="replace")
