"""Each program of groundup.inside is carried into a sandbox alone."""

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from groundup import inside
from groundup.environments.interpreters import present_interpreter

PROGRAMS = sorted(path.name for path in Path(inside.__file__).parent.glob("*.py") if path.name != "__init__.py")
BESIDE_TESTS = (
    "runner.py", "demands.py", "lacking.py", "origins.py", "spectrum.py", "changes.py", "missing.py", "live.py",
    "mends.py", "failing.py", "undoing.py", "exchanges.py", "afar.py", "watched.py",
)  # fmt: skip
"""What an environment's own Python loads, of which tasks have 3.7."""
BROUGHT = {"pytest", "_pytest"}
"""pytest is in the environment of tests; the stopwatch is written into what imports it."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_imports_nothing_that_is_not_there(name: str) -> None:
    """The standard library, and what is brought along on purpose."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(inside.source_of(name))):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or ".")
    imported.discard("groundup.inside.stopwatch")
    assert {one.split(".")[0] for one in imported} - set(sys.stdlib_module_names) <= BROUGHT


def test_each_program_is_named_where_the_folder_is_described() -> None:
    """The package's docstring is the list of what runs beside strangers."""
    lines = (inside.__doc__ or "").replace(",", " ").replace("`", " ").replace(";", " ").split()
    assert {name.removesuffix(".py") for name in PROGRAMS} <= set(lines)


@pytest.mark.parametrize("name", BESIDE_TESTS)
def test_what_runs_beside_hidden_tests_is_python_3_7(name: str) -> None:
    """Tasks have environments as old as that; a file that one cannot load would lose every point of a task."""
    tree = ast.parse(inside.source_of(name), feature_version=(3, 7))
    for node in ast.walk(tree):  # what the parser takes whatever the version
        if isinstance(node, ast.Yield | ast.Return) and isinstance(node.value, ast.Tuple):
            is_open = node.value.col_offset == node.value.elts[0].col_offset
            assert not (is_open and any(isinstance(one, ast.Starred) for one in node.value.elts)), node.lineno


@pytest.mark.needs("Python 3.7")
def test_python_3_7_compiles_them(tmp_path: Path) -> None:
    """What the parser of today lets pass is for the old one to say."""
    found = asyncio.run(present_interpreter("3.7", tmp_path / "none"))
    assert found is not None
    files = [Path(inside.__file__).parent / name for name in BESIDE_TESTS]
    text = "import sys; [compile(open(name).read(), name, 'exec') for name in sys.argv[1:]]"
    done = subprocess.run([found.executable, "-c", text, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
