"""Each program of groundup.inside is carried into a sandbox alone."""

import ast
import sys
from pathlib import Path

import pytest

from groundup import inside

PROGRAMS = sorted(path.name for path in Path(inside.__file__).parent.glob("*.py") if path.name != "__init__.py")
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
