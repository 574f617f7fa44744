"""Whether a task's record counts its hidden tests as their sources name them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.suites.repogenesis.counting import named_tests, wrong_count
from tests.grading.library.laboratory import write_tree

PLAIN = """
def helper(): ...
def test_a(): ...
async def test_b(): ...
class TestC:
    def test_d(self): ...
    def helper(self): ...
class Other:
    def test_e(self): ...
"""
JAVA = "class A {\n  @Test void one() {}\n  @Test void two() {}\n}\n"
VARIED = "class A {\n  @Test void one() {}\n  @ParameterizedTest void two(int a) {}\n}\n"


def test_tests_are_named_as_pytest_names_plain_ones(tmp_path: Path) -> None:
    """Functions and methods of files and classes whose names say so."""
    write_tree(tmp_path, {"test_x.py": PLAIN, "deep/test_y.py": "def test_z(): ...", "conftest.py": PLAIN})
    assert {str(test) for test in named_tests(tmp_path, "tests")} == {
        "tests/test_x.py::test_a",
        "tests/test_x.py::test_b",
        "tests/test_x.py::TestC::test_d",
        "tests/deep/test_y.py::test_z",
    }


@pytest.mark.parametrize(
    ("files", "count", "said"),
    [
        ({"test_x.py": PLAIN}, 3, None),
        ({"test_x.py": PLAIN}, 4, "its record counts 4, and its hidden tests are 3"),
        ({"test_x.py": PLAIN}, 2, "its record counts 2, and its hidden tests are 3"),
        ({"test_x.py": "import pytest\n@pytest.mark.parametrize('a', [1])\n" + PLAIN.lstrip()}, 4, None),
        (
            {"test_x.py": PLAIN, "conftest.py": "def pytest_generate_tests(metafunc): ..."},
            *(2, "its record counts 2, and its hidden tests are at least 3"),
        ),
        ({"test_x.py": PLAIN, "y_test.py": "def test_more(): ..."}, 4, None),
        ({"test_x.py": "def test_a(:"}, 1, "its hidden tests cannot be read: invalid syntax (test_x.py, line 1)"),
        ({"A.java": JAVA}, 2, None),
        ({"A.java": JAVA}, 3, "its record counts 3, and its hidden tests are 2"),
        ({"A.java": VARIED}, 5, None),
        ({"A.java": VARIED}, 0, "its record counts 0, and its hidden tests are at least 1"),
    ],
)
def test_a_record_that_counts_otherwise_is_wrong(
    tmp_path: Path, files: Mapping[str, str], count: int, said: str | None
) -> None:
    """More than are named are possible where something makes several of one."""
    folder = write_tree(tmp_path, files)
    assert wrong_count(count, folder, by_maven="A.java" in files) == said
