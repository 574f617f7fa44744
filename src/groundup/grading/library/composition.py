"""Which files of a submission and of an original make the tree that is tested: pure, decided from names alone.

The submission's sources lie below; what the recipe protects comes from the original. Everything by which a
submission could speak to pytest or to the interpreter instead of being tested is absent.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.domain.errors import TaskError
from groundup.domain.names import printable
from groundup.grading.library.hidden import HiddenTests
from groundup.trees.walking import Kind

_GONE_FROM_STDLIB = frozenset(
    [
        "_bootlocale",
        "aifc",
        "asynchat",
        "asyncore",
        "audioop",
        "binhex",
        "cgi",
        "cgitb",
        "chunk",
        "crypt",
        "distutils",
        "dummy_threading",
        "formatter",
        "imghdr",
        "imp",
        "lib2to3",
        "macpath",
        "mailcap",
        "msilib",
        "nis",
        "nntplib",
        "ossaudiodev",
        "parser",
        "pipes",
        "smtpd",
        "sndhdr",
        "spwd",
        "sunau",
        "symbol",
        "telnetlib",
        "uu",
        "xdrlib",
    ]
)
"""Modules that some interpreter from 3.7 on has, whatever groundup itself runs on."""

_ALWAYS_TAKEN = frozenset(
    ["pytest", "_pytest", "pluggy", "iniconfig", "py", "conftest", "sitecustomize", "usercustomize"]
)
_IN_TEST_FOLDER = re.compile(r"conftest\.py|test.*\.py|.*_test\.py")
_CONFTEST = frozenset(["conftest.py", "conftest.pyc", "conftest.so"])
_PYTEST_FILES = frozenset(["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini"])
_PROJECT_FILES = frozenset(["setup.cfg", "pyproject.toml"])
_START_UP = frozenset(["sitecustomize", "usercustomize"])
_METADATA = (".dist-info", ".egg-info", ".egg-link", ".egg")
_BYTECODE = (".pyc", ".pyo")
_MODULE = (".py", ".so", ".pyd")


class FoundEntry(NamedTuple):
    """One entry of a tree, by its path relative to the root; names need not be valid text."""

    path: str
    kind: Kind


class Dropped(NamedTuple):
    """What was left out of a submission, and why. The path is made printable."""

    path: str
    why: str


class CompositionPlan(NamedTuple):
    """The composed tree: which paths come from where."""

    kept: frozenset[str] = frozenset()
    dropped: tuple[Dropped, ...] = ()
    restored: frozenset[str] = frozenset()


def plan(
    submission: Iterable[FoundEntry],
    original: Iterable[FoundEntry],
    hidden: HiddenTests,
    occupied: frozenset[str] = frozenset(),
) -> CompositionPlan:
    """Decide what is kept, dropped and restored. *occupied*: top-level modules that the environment holds.

    Folders must come before what lies in them. Raises `TaskError` when the original lacks a protected path.
    """
    kept: set[str] = set()
    dropped: dict[str, str] = {}
    restored = _restored(original, hidden)
    rules = _Rules(hidden, occupied | _importable(restored), {path.partition("/")[0] for path in restored})
    for found in submission:
        path = PurePosixPath(found.path)
        if str(path.parent) in dropped:
            dropped[found.path] = ""  # went with its folder, which is reported once
            continue
        why = rules.why_dropped(path, found.kind)
        if why is None:
            kept.add(found.path)
        else:
            dropped[found.path] = why
    return CompositionPlan(
        kept=frozenset(kept),
        dropped=tuple(Dropped(path=printable(path), why=why) for path, why in dropped.items() if why),
        restored=restored,
    )


SHADOWS = "would stand in for the module"


class _Rules:
    """What of a submission may not come along."""

    def __init__(self, hidden: HiddenTests, occupied: frozenset[str], folders: set[str]) -> None:
        self._withheld = frozenset(map(_normal, hidden.protected + hidden.absent))
        self._above_withheld = frozenset(
            str(above) for path in self._withheld for above in PurePosixPath(path).parents
        )
        governed = [_normal(path) for path in (*hidden.arguments, *hidden.import_roots, hidden.cwd, ".")]
        self._governing = frozenset(governed) | {
            str(up) for path in governed for up in PurePosixPath(path).parents
        }
        self._roots = frozenset(map(_normal, (*hidden.import_roots, hidden.cwd, ".")))
        # A folder without __init__ never comes before a module of the standard library, so one that only leads to
        # the packages, as `code` of `code/py`, may stay.
        leading = {str(up) for root in self._roots for up in PurePosixPath(root).parents}
        self._leading = frozenset(path for path in leading if path in sys.stdlib_module_names)
        own = {name.split(".")[0] for name in hidden.packages}
        self._folders = frozenset(folders - own)
        # What is under test may have the name of any of these, such as a backport of a standard module.
        self._taken = (
            occupied
            | sys.stdlib_module_names
            | _GONE_FROM_STDLIB
            | _ALWAYS_TAKEN
            | {n.split(".")[0] for n in hidden.plugins}
        ) - own

    def why_dropped(self, path: PurePosixPath, kind: Kind) -> str | None:
        """Say why *path* is left out, or None when it stays."""
        if kind not in ("file", "folder", "link"):
            return f"a {kind}"
        if str(path) in self._withheld:
            return "the original's tests or data lie here"
        if kind != "folder" and str(path) in self._above_withheld:
            return "stands where a folder of the original's is needed"
        return self._by_name(path) or self._by_shadow(path)

    def _by_name(self, path: PurePosixPath) -> str | None:
        name = path.name
        stem = name.split(".")[0]
        if name in _CONFTEST:
            return "a conftest"
        if name in _PYTEST_FILES or (name in _PROJECT_FILES and str(path.parent) in self._governing):
            return "configuration of tests"
        if stem in _START_UP or name.endswith(".pth"):
            return "run by the interpreter at its start"
        if name.endswith(_METADATA):
            return "metadata of a distribution"
        if name == "__pycache__" or name.endswith(_BYTECODE):
            return "bytecode without its source"
        return None

    def _by_shadow(self, path: PurePosixPath) -> str | None:
        name = path.name
        if str(path.parent) in self._leading and name.split(".")[0] == "__init__":
            return f"{SHADOWS} {path.parent}"
        if str(path.parent) not in self._roots or str(path) in self._leading:
            return None
        is_module = name.endswith(_MODULE)
        module = name.split(".")[0] if is_module else name
        # A folder of tests without __init__ would come after a module of its name.
        taken = self._taken | self._folders if is_module else self._taken
        if module in taken and str(path) not in self._roots:
            return f"{SHADOWS} {module}"
        return None


def _importable(restored: frozenset[str]) -> frozenset[str]:
    """Return the top-level names of restored modules: pytest searches a folder of tests that is no package."""
    paths = [PurePosixPath(path) for path in restored if path.endswith(".py")]
    searched = {path.parent for path in paths if _IN_TEST_FOLDER.fullmatch(path.name)}
    searched = {folder for folder in searched if str(folder / "__init__.py") not in restored}
    return frozenset(path.stem for path in paths if path.parent in searched)


def _restored(original: Iterable[FoundEntry], hidden: HiddenTests) -> frozenset[str]:
    protected = frozenset(map(_normal, hidden.protected))
    missing = set(protected)
    restored = set()
    for found in original:
        path = PurePosixPath(found.path)
        inside = protected & {found.path, *map(str, path.parents)}
        if not inside:
            continue
        missing -= inside
        if "__pycache__" not in path.parts and not found.path.endswith(_BYTECODE):
            restored.add(found.path)
    if missing:
        raise TaskError(f"the original has no {min(missing)!r}, which its recipe protects; mend the recipe")
    return frozenset(restored)


def _normal(path: str) -> str:
    return str(PurePosixPath(path))
