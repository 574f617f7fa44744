"""How many tests the sources of a task name, and whether its record says so. Nothing is run."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from groundup.grading.java.hidden import named_tests as named_java_tests
from groundup.grading.java.hidden import sources, varied_tests
from groundup.grading.library.hidden import NumberedTest
from groundup.grammars import python_tree
from groundup.trees.walking import read_regular

_MULTIPLIED = re.compile(
    rb"parametrize|pytest_generate_tests|\bparams\s*=|pytest_collect|\bload_tests\b|unittest|collect_ignore"
    rb"|class Test\w*\((?!object\))|__test__|importorskip|allow_module_level"
)
"""What makes pytest find other tests than functions `test...` at the top and in classes `Test...` say."""


def wrong_count(count: int, folder: Path, *, by_maven: bool) -> str | None:
    """Return what is wrong with the *count* of the hidden tests in *folder*; None where the sources allow it."""
    if by_maven:
        texts = sources(folder)
        varied = varied_tests(texts)
        found, is_all = len(set(named_java_tests(texts)) - varied), not varied
    else:
        paths = [path for path in sorted(folder.rglob("*.py")) if path.is_file()]
        is_varied = any(path.match("*_test.py") or _MULTIPLIED.search(read_regular(path)) for path in paths)
        try:
            found, is_all = len(named_tests(folder, "tests")), not is_varied
        except (SyntaxError, ValueError, RecursionError) as error:
            return f"its hidden tests cannot be read: {error}"
    if count == found or (count > found and not is_all):
        return None
    return f"its record counts {count}, and its hidden tests are {found if is_all else f'at least {found}'}"


def named_tests(folder: Path, place: str) -> frozenset[NumberedTest]:
    """Return the ids of the test functions and methods below *folder*, as pytest would name plain ones."""
    found: set[str] = set()
    for path, tree in parsed(folder):
        name = str(PurePosixPath(place, path.relative_to(folder)))
        if not path.name.startswith("test_"):
            continue
        found.update(f"{name}::{test}" for test in _tests_in(tree.body))
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                found.update(f"{name}::{node.name}::{test}" for test in _tests_in(node.body))
    return frozenset(map(NumberedTest.of, found))


def parsed(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the modules below *folder*."""
    for path in sorted(folder.rglob("*.py")):
        try:
            tree = python_tree(path.read_text(encoding="utf-8"))
        except SyntaxError as error:
            error.filename = path.name
            raise
        yield path, tree


def _tests_in(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name
