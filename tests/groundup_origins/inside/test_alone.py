"""Each program of this package is carried into a sandbox alone, like those of groundup.inside."""

from pathlib import Path

import pytest

from groundup_origins import inside
from tests.inside.test_alone import check_language, compile_by_python_3_7, foreign, named_in

FOLDER = Path(inside.__file__).parent
PROGRAMS = sorted(path.name for path in FOLDER.glob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_imports_nothing_that_is_not_there_and_is_python_3_7(name: str) -> None:
    """What stands beside hidden tests of old tasks is loaded by their Python."""
    assert foreign(inside.source_of(name)) == set()
    check_language(inside.source_of(name), (3, 7))


def test_each_program_is_named_where_the_folder_is_described() -> None:
    """The package's docstring is the list of them."""
    assert {name.removesuffix(".py") for name in PROGRAMS} <= named_in(inside.__doc__)


@pytest.mark.needs("Python 3.7")
def test_python_3_7_compiles_them(tmp_path: Path) -> None:
    """What the parser of today lets pass is for the old one to say."""
    compile_by_python_3_7(FOLDER, PROGRAMS, tmp_path / "none")
