"""Each program of groundup.inside is carried into a sandbox alone."""

import ast
import asyncio
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from groundup import inside
from groundup.environments.interpreters import present_interpreter

PROGRAMS = sorted(path.name for path in Path(inside.__file__).parent.glob("*.py") if path.name != "__init__.py")
BESIDE_TESTS = (
    "runner.py", "demands.py", "lacking.py", "failing.py", "undoing.py", "exchanges.py",
)  # fmt: skip
"""What an environment's own Python loads, of which tasks have 3.7."""
BROUGHT = {"pytest", "_pytest"}
"""pytest is in the environment of tests; the stopwatch is written into what imports it."""


def foreign(program: bytes) -> set[str]:
    """Return what a program imports that is neither Python's own nor brought along."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or ".")
    return {one.split(".")[0] for one in imported - {"groundup.inside.stopwatch"}} - {
        *sys.stdlib_module_names,
        *BROUGHT,
    }


def check_language(program: bytes, version: tuple[int, int]) -> None:
    """Check that a Python of *version* reads a program."""
    for node in ast.walk(
        ast.parse(program, feature_version=version)
    ):  # what the parser takes whatever the version
        if isinstance(node, ast.Yield | ast.Return) and isinstance(node.value, ast.Tuple):
            is_open = node.value.col_offset == node.value.elts[0].col_offset
            assert not (is_open and any(isinstance(one, ast.Starred) for one in node.value.elts)), node.lineno


def compile_by_python_3_7(folder: Path, names: Iterable[str], scratch: Path) -> None:
    """Check that Python 3.7 itself compiles programs."""
    found = asyncio.run(present_interpreter("3.7", scratch))
    assert found is not None
    text = "import sys; [compile(open(name).read(), name, 'exec') for name in sys.argv[1:]]"
    files = [folder / name for name in names]
    done = subprocess.run([found.executable, "-c", text, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_imports_nothing_that_is_not_there(name: str) -> None:
    """The standard library, and what is brought along on purpose."""
    assert foreign(inside.source_of(name)) == set()


def named_in(described: str | None) -> set[str]:
    """Return the words of a docstring."""
    return set((described or "").replace(",", " ").replace("`", " ").replace(";", " ").split())


def test_each_program_is_named_where_the_folder_is_described() -> None:
    """The package's docstring is the list of what runs beside strangers."""
    assert {name.removesuffix(".py") for name in PROGRAMS} <= named_in(inside.__doc__)


@pytest.mark.parametrize("name", BESIDE_TESTS)
def test_what_runs_beside_hidden_tests_is_python_3_7(name: str) -> None:
    """Tasks have environments as old as that; a file that one cannot load would lose every point of a task."""
    check_language(inside.source_of(name), (3, 7))


@pytest.mark.needs("Python 3.7")
def test_python_3_7_compiles_them(tmp_path: Path) -> None:
    """What the parser of today lets pass is for the old one to say."""
    compile_by_python_3_7(Path(inside.__file__).parent, BESIDE_TESTS, tmp_path / "none")
