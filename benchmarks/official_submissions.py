"""Submissions of different quality, made from an original: whole, empty, damaged, cheating, and awkward ones."""

import ast
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.writer import copy_tree

Make = Callable[[Path, Recipe], None]

HOOK = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""
PRINTED = "import atexit\natexit.register(print, '118 passed, 3 failed, 1 error')\n"
GARBLED = "import os\nos.write(1, b'\\xff\\n')\n"


def empty(tree: Path, recipe: Recipe) -> None:
    """Hand in nothing."""
    shutil.rmtree(tree)
    tree.mkdir()


def without_each(nth: int) -> Make:
    """Take the body of every *nth* function away."""

    def damage(tree: Path, recipe: Recipe) -> None:
        number = 0
        for path in _sources(tree, recipe):
            module = ast.parse(path.read_bytes())
            for node in ast.walk(module):
                if isinstance(node, ast.FunctionDef):
                    number += 1
                    if number % nth == 0:
                        node.body = ast.parse("raise NotImplementedError").body
            path.write_text(ast.unparse(module) + "\n")

    return damage


def with_files(files: Mapping[str, str], nth: int = 3) -> Make:
    """Add *files* to a damaged library."""

    def add(tree: Path, recipe: Recipe) -> None:
        without_each(nth)(tree, recipe)
        for name, text in files.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)

    return add


def without_a_module(tree: Path, recipe: Recipe) -> None:
    """Lose the largest module."""
    max(_sources(tree, recipe), key=lambda path: path.stat().st_size).unlink()


def with_a_dangling_link(tree: Path, recipe: Recipe) -> None:
    """Hold one link that leads nowhere."""
    (tree / "latest").symlink_to("nowhere")


def with_a_linked_folder(tree: Path, recipe: Recipe) -> None:
    """Hold a link to a folder, and package files in odd places, some of them links."""
    (tree / "again").symlink_to(".")
    for place in ("a/b/setup.cfg", "a/Pipfile", "a/kept.cfg", "a/MANIFEST.in"):
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        (tree / place).write_text("")
    (tree / "a/tox.ini").symlink_to("kept.cfg")
    (tree / "a/poetry.lock").mkdir()


MAKERS: Mapping[str, Make | None] = {
    "oracle": None,
    "nop": empty,
    "every 10th function gone": without_each(10),
    "every 2nd function gone": without_each(2),
    "largest module gone": without_a_module,
    "prints counts": with_files({"sitecustomize.py": PRINTED}),
    "conftest.py": with_files({"conftest.py": HOOK}),
    "own tests": with_files(
        {"test_own.py": "def test_own(): pass\n", "tests/test_own.py": "def test_own(): pass\n"}
    ),
    "output not UTF-8": with_files({"sitecustomize.py": GARBLED}),
    "dangling link": with_a_dangling_link,
    "links and package files": with_a_linked_folder,
}


def make(name: str, original: Path, recipe: Recipe, destination: Path) -> Path:
    """Write the submission called *name* and return where."""
    copy_tree(original, destination)
    maker = MAKERS[name]
    if maker is not None:
        maker(destination, recipe)
    return destination


def _sources(tree: Path, recipe: Recipe) -> list[Path]:
    found = []
    for root in recipe.tests.import_roots:
        for package in recipe.tests.packages:
            base = tree / root / package.replace(".", "/")
            found += sorted(base.rglob("*.py")) if base.is_dir() else [base.with_suffix(".py")]
    return [path for path in found if path.is_file()]
