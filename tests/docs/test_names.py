"""What docstrings, comments and pages for developers name is there: modules, classes, members, errors, files."""

import ast
import builtins
import importlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from unittest.mock import patch

import pytest

from groundup.extensions import EXTENSIONS
from tests.docs.pages import ROOT
from tests.needs import need

SOURCES = ROOT / "src"
PAGES = (ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "developers").rglob("*.md")))
STRANGERS = (SOURCES / "groundup/suites/repogenesis/oracles",)
"""Code that is not ours: reference services."""

OTHERS = {
    "Reschedule",  # Dask's
    "SSHCluster",
    "SpecCluster",
    "UseSqlServer",  # EF Core's
    "PyYAML",
    "Exists",  # MSBuild's elements and conditions
    "FrameworkReference",
    "Include",
    "Otherwise",
    "ProjectReference",
    "Reference",
    "Remove",
    "Update",
    "When",
    "pip.__main__",  # where pip is installed
    "google.cloud.x",  # packages that a sentence invents, or that nobody has to have installed
    "lazy_loader.attach_stub",
    "pandas.DataFrame",
    "polars.DataFrame",
    "soda.common",
    "airflow.providers.http",
    "router.add_resource",
    "cors.add",
    "project.dependencies",  # keys of other people's files
    "project.dynamic",
    "tool.poetry.dependencies",
    "strategy.matrix",
    "groundup.suite",  # groups of entry points
    "groundup.agent",
    "groundup.sandbox",
    "outer.inner",  # code that a sentence invents
    "path.startswith",
    "requirements.append",
    "requirements.extend",
    "A.C",
    "App.start",  # of tests in measurements.md
    "org.junit.jupiter.api.Assertions",
    "Parser._expression",
}
"""Names of other people's that stand in our sentences."""
FILES = re.compile(
    r"\.(py|md|toml|json|jsonl|txt|sh|cfg|yml|yaml|html|xml|java|rs|lock|ini|config|exe|cs|gz|js|ts|diff)$|^go\.mod$"
)
DOTTED = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\([^`]*\))?`")
CLASS = re.compile(r"`([A-Z][a-z]\w*)`")
ERROR = re.compile(r"(?<![\w.])(_?[A-Z]\w+Error)\b")
IN_FILE = re.compile(r"`(\w+)` in `([\w/]+\.py)`")
COMMENTED = re.compile(r"(?<![\w./`-])([a-z_]\w+\.[a-z_]\w+(?:\.\w+)*)(?![\w/])")


class Known(NamedTuple):
    """What the sources define."""

    modules: dict[str, list[set[str]]]
    """Top-level names, those that are imported included, by the end of the module's dotted name."""
    members: dict[str, set[str]]
    """Attributes by class, of its bases, too."""
    top: set[str]
    """Top-level names of all modules."""


@cache
def sources() -> list[Path]:
    """Return our modules."""
    return [
        path
        for path in sorted(SOURCES.rglob("*.py"))
        if not any(path.is_relative_to(folder) for folder in STRANGERS) and "__pycache__" not in path.parts
    ]


@cache
def known() -> Known:
    """Return what our modules define."""
    modules: dict[str, list[set[str]]] = defaultdict(list)
    members: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for path in sources():
        text = path.read_text(encoding="utf-8")
        tree, lines = ast.parse(text), text.splitlines()
        parts = [part for part in path.relative_to(SOURCES).with_suffix("").parts if part != "__init__"]
        names = set(_bound(tree.body))
        for first in range(len(parts)):
            modules[".".join(parts[first:])].append(names)
        for found in (one for one in tree.body if isinstance(one, ast.ClassDef)):
            itself = "\n".join(lines[found.lineno : found.end_lineno])
            members[found.name] |= {*_bound(found.body), *re.findall(r"\bself\.(\w+)", itself)}
            bases[found.name] |= {ast.unparse(base).partition("[")[0] for base in found.bases}
    for _ in range(5):
        for name, above in bases.items():
            members[name] |= {one for base in above for one in members.get(base, ())}
    top = {name for found in modules.values() for names in found for name in names}
    return Known(dict(modules), dict(members), top)


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements bind."""
    for one in body:
        match one:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in names)
            case ast.Assign(targets=targets):
                yield from (
                    part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)
                )
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If() | ast.Try():
                yield from _bound([part for part in ast.iter_child_nodes(one) if isinstance(part, ast.stmt)])


@cache
def _written(path: Path) -> frozenset[str]:
    """Return the identifiers that stand in a file."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", path.read_text(encoding="utf-8")))


def is_there(name: str, file: Path | None = None) -> bool:
    """Whether *name* is a module or class of ours with its members, a variable of *file*, or a library's."""
    parts, ours = name.split("."), known()
    for cut in range(len(parts), 0, -1):
        prefix, rest = ".".join(parts[:cut]), parts[cut:]
        if any((not rest or rest[0] in names) and _has(rest) for names in ours.modules.get(prefix, ())):
            return True
    if any(".".join(parts[:cut]) in ours.modules for cut in range(2, len(parts))):
        return False  # a folder and a module of it are no variable
    if parts[0] in ours.members and _has(parts):
        return True
    if file is not None and parts[0] in _written(file) and parts[0].islower():
        return any(parts[1] in found for found in ours.members.values()) or _is_a_librarys(parts)
    return _is_a_librarys(parts)


def _has(parts: list[str]) -> bool:
    """Whether the second name of *parts* is a member of the first, if that is a class of ours."""
    ours = known().members
    return len(parts) < 2 or parts[0] not in ours or parts[1] in ours[parts[0]]


@cache
def _module(name: str) -> ModuleType | None:
    try:
        with patch.object(sys, "path", [*sys.path]):  # pip's main module takes the checkout off it
            return importlib.import_module(name)
    except ImportError:
        return None


def _is_a_librarys(parts: list[str]) -> bool:
    found: object = getattr(builtins, parts[0], None) or _module(parts[0])
    for at, part in enumerate(parts[1:], start=2):
        if found is None:
            return False
        found = getattr(found, part, None) or _module(".".join(parts[:at]))
    return found is not None


def is_an_error(name: str) -> bool:
    """Whether *name* is a class of ours, of Python's, or imported by one of our modules."""
    ours = known()
    return name in ours.members or hasattr(builtins, name) or name in ours.top


def wrong(text: str, file: Path | None = None, dotted: re.Pattern[str] = DOTTED) -> list[str]:
    """Return what *text* names that is not there."""
    names = [name for name in dotted.findall(text) if not FILES.search(name)]
    found = [name for name in names if not is_there(name, file)]
    found += [name for name in ERROR.findall(text) if not is_an_error(name)]
    found += [name for name in CLASS.findall(text) if not is_an_error(name)]
    for name, place in IN_FILE.findall(text):
        files = [path for path in sources() if path.as_posix().endswith(f"/{place}")]
        if not any(
            re.search(rf"^(class|def|async def)? ?{name}\b", path.read_text(), re.MULTILINE) for path in files
        ):
            found.append(f"{name} in {place}")
    return [name for name in dict.fromkeys(found) if name not in OTHERS]


def sentences(path: Path) -> Iterator[tuple[int, str, re.Pattern[str]]]:
    """Yield docstrings and comments of a module with their lines, and how dotted names look in them."""
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(r'"""(.*?)"""', text, re.DOTALL):
        yield text.count("\n", 0, found.start()) + 1, found[1], DOTTED
    for number, line in enumerate(text.splitlines(), start=1):
        if comment := re.search(r"(?:^ *|  )(# .*)$", line):
            yield number, comment[1], COMMENTED


def test_what_docstrings_and_comments_name_is_there() -> None:
    """Whoever follows a name finds what it names."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sources()
        for line, text, dotted in sentences(path)
        for name in wrong(text, path, dotted)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_pages_for_developers_name_is_there(page: Path) -> None:
    """Whoever follows a name finds what it names."""
    if (package := f"groundup_{page.stem}") in {one.name for one in EXTENSIONS}:
        need(package)
    assert wrong(page.read_text(encoding="utf-8")) == []


def test_the_reference_of_the_api_lists_what_is_there() -> None:
    """The site leaves a member out that its module lacks, without a word."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: (\S+)\n    options:\n      members: \[(.*)\]$", page, re.MULTILINE)
    assert listed
    for module, members in listed:
        assert [name for name in members.split(", ") if not hasattr(importlib.import_module(module), name)] == []


def test_what_names_nothing_is_found() -> None:
    """Modules without such a member, members of no class, errors that nobody raises, things in other files."""
    said = (
        "Raises `PageError`, as `naming.provider_of`, `Assignment.note_turn`; `Lifecycle` in `domain/errors.py`."
    )
    assert wrong(said) == [
        "naming.provider_of",
        "Assignment.note_turn",
        "PageError",
        "Lifecycle in domain/errors.py",
    ]
    # A folder and its module are no variable of the file that imports from it.
    scratch = SOURCES / "groundup/trees/scratch.py"
    assert wrong("as `trees.writer.copy_forest` does", scratch) == ["trees.writer.copy_forest"]
    assert wrong("# naming.provider_of has seen to it", dotted=COMMENTED) == ["naming.provider_of"]
    assert wrong("Raises `UsageError` and `json.JSONDecodeError`, as `settings.load`, `RunPlan.missing`.") == []
    assert wrong("`AgentContext.note_turn`; `UsageError` in `domain/errors.py`") == []
