"""What can be read in hidden tests without running them: tests that assert nothing, names that nobody was given.

Reads Python by its syntax, and paths of addresses in any language. What is computed at run time is not seen, so a
finding is a reason to look and no verdict.
"""

import ast
import re
from collections.abc import Iterator, Mapping

from groundup.domain.records import Record
from groundup.suites.base import HiddenCode

_CHECKS = re.compile(
    r"assert|check|verif|expect|raises|warns|fail|should|validate|compare|ensure|equal|eq_", re.IGNORECASE
)
_PATH = re.compile(r"""["'`](/[A-Za-z][\w./{}$<>:-]*)""")
_SEGMENT = re.compile(r"[A-Za-z][\w-]*")
_WORD = re.compile(r"\w+")


class Readings(Record):
    """What was found in the hidden tests of one task."""

    tests: int = 0
    """Test functions that were read."""
    assert_nothing: tuple[str, ...] = ()
    """`file::Class::function` of those without a visible check."""
    hidden_names: tuple[str, ...] = ()
    """Dotted names, or paths of addresses, that tests use and the specification does not mention."""


def read_hidden_tests(code: HiddenCode) -> Readings:
    """Return what the tests in *code* show."""
    trees = {path: tree for path, text in code.files.items() if (tree := _parsed(path, text)) is not None}
    nothing = [name for path, tree in trees.items() for name in _asserting_nothing(path, tree)]
    count = sum(1 for tree in trees.values() for _ in _tests(tree))
    names: list[str] = []
    if code.specification is not None:
        known = set(_WORD.findall(code.specification.lower()))
        used = {name for tree in trees.values() for name in _names_used(tree, code.packages)}
        if not code.packages:
            used = {path for text in code.files.values() for path in _PATH.findall(text)}
        names = sorted(name for name in used if not _is_given(name, known))
    return Readings(tests=count, assert_nothing=tuple(sorted(nothing)), hidden_names=tuple(names))


def _parsed(path: str, text: str) -> ast.Module | None:
    if not path.endswith(".py"):
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _tests(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in tree.body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, Function) and item.name.startswith("test"):
                    yield f"{node.name}::{item.name}", item


def _asserting_nothing(path: str, tree: ast.Module) -> Iterator[str]:
    checking = _checking_helpers(tree)
    for name, function in _tests(tree):
        if not _checks(function, checking):
            yield f"{path}::{name}"


def _checking_helpers(tree: ast.Module) -> set[str]:
    """Return the names of functions of the file that check something, also through each other."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    found: set[str] = set()
    while more := {one.name for one in functions if one.name not in found and _checks(one, found)}:
        found |= more
    return found


def _checks(function: Function, helpers: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert | ast.Raise):
            return True
        if isinstance(node, ast.Call):
            called = _last_name(node.func)
            if called in helpers or _CHECKS.search(called):
                return True
        if isinstance(node, ast.arg) and node.arg in helpers:  # a fixture that checks
            return True
    return False


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _names_used(tree: ast.Module, packages: tuple[str, ...]) -> Iterator[str]:
    """Yield dotted names of *packages* that a file imports, or reaches as attributes of what it imported."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_own(alias.name, packages):
                    yield alias.name
                    bound[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_own(node.module or "", packages):
            for alias in node.names:
                if alias.name != "*":
                    yield f"{node.module}.{alias.name}"
                    bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound:
            yield f"{bound[node.value.id]}.{node.attr}"


def _is_own(module: str, packages: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def _is_given(name: str, known: set[str]) -> bool:
    """Whether the last part of a dotted name, or all fixed parts of a path, are words of the specification."""
    if name.startswith("/"):
        fixed = [part for part in name.split("/") if not re.search(r"[{}$<>:]", part)]
        words = [word for part in fixed for segment in _SEGMENT.findall(part) for word in _WORD.findall(segment)]
        return all(word.lower() in known for word in words)
    last = name.rpartition(".")[2]
    return last.lower() in known or (last.startswith("__") and last.endswith("__"))


def tests_by_function(names: Mapping[str, object]) -> Mapping[str, list[str]]:
    """Return test ids by the function that they are cases of."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.partition("[")[0].partition(" #")[0], []).append(name)
    return found
