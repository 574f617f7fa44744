"""Which tests' cases count by their place."""

from pathlib import Path

import pytest

from groundup.grading.library.hidden import HiddenTests, NumberedTest
from groundup_factory.recipes.case_order import case_order
from groundup_factory.recipes.freezing import library_files
from tests.grading.library.laboratory import write_tree

TESTS = HiddenTests(packages=("shapes",), arguments=("tests",), protected=("tests",))
LIBRARY = "def square(n): ...\ndef circle(n): ...\nclass Base: ...\nALL = [square, circle]\n"
BODY = "def test_it(one): one(1)\n"
HEAD = "import pytest\nfrom itertools import product\nimport shapes\nfrom shapes import circle, square\n"


def _order(folder: Path, source: str, *cases: str, conftest: str = "", name: str = "test_it") -> dict[str, object]:
    tree = write_tree(
        folder, {"shapes/__init__.py": LIBRARY, "tests/test_a.py": HEAD + source, "tests/conftest.py": conftest}
    )
    collected = [NumberedTest.of(f"tests/test_a.py::{name}[{case}]") for case in cases]
    return dict(case_order(tree, TESTS, library_files(tree, TESTS), collected))


@pytest.mark.parametrize(
    "source",
    [
        f"@pytest.mark.parametrize('one', [square, circle])\n{BODY}",
        f"@pytest.mark.parametrize('one', (shapes.square, pytest.param(shapes.circle)))\n{BODY}",
        f"TABLE = (square, circle)\n@pytest.mark.parametrize('one', TABLE)\n{BODY}",
        f"MARK = pytest.mark.parametrize('one', [square, circle])\n@MARK\n{BODY}",
        f"def table():\n    'Two.'\n    more = [square]\n    more.append(circle)\n    return list(more)\n"
        f"@pytest.mark.parametrize('one', table())\n{BODY}",
        "@pytest.fixture(name='one', params=[square, circle])\ndef _one(request): return request.param\n" + BODY,
        "@pytest.fixture(params=[square, circle])\ndef first(request): return request.param\n"
        "@pytest.fixture\ndef one(first): return first\n" + BODY,
    ],
    ids=["list", "tuple of params", "variable", "mark", "function", "fixture", "fixture behind another"],
)
def test_a_table_that_is_written_out_decides_the_cases(tmp_path: Path, source: str) -> None:
    """Objects of the library only stand in it, so no library can have more cases, or others."""
    assert _order(tmp_path, source, "square", "circle") == {"tests/test_a.py::test_it": ("square", "circle")}


def test_a_number_behind_a_name_is_pytest_s(tmp_path: Path) -> None:
    """Where an object stands twice in a table, pytest counts; who is called `square2` is not so counted."""
    twice = f"@pytest.mark.parametrize('one', [circle, circle])\n{BODY}"

    assert _order(tmp_path, twice, "circle0", "circle1") == {"tests/test_a.py::test_it": ("circle0", "circle1")}
    assert _order(tmp_path, twice, "oval0", "oval1") == {}


@pytest.mark.parametrize(
    "source",
    [
        f"@pytest.mark.parametrize('one', shapes.ALL)\n{BODY}",
        f"@pytest.mark.parametrize('one', [*shapes.ALL])\n{BODY}",
        f"@pytest.mark.parametrize('one', [f for f in (square, circle)])\n{BODY}",
        f"@pytest.mark.parametrize('one', sum([shapes.ALL, [square]], []))\n{BODY}",
        f"@pytest.mark.parametrize('one', shapes.table(square, circle))\n{BODY}",
        f"TABLE = [square]\nTABLE += shapes.ALL\n@pytest.mark.parametrize('one', TABLE)\n{BODY}",
        f"TABLE = [square]\nTABLE.extend(shapes.ALL)\n@pytest.mark.parametrize('one', TABLE)\n{BODY}",
        f"def table():\n    return [square] if shapes.ALL else [circle]\n"
        f"@pytest.mark.parametrize('one', table())\n{BODY}",
        f"@pytest.mark.parametrize('one', [square, circle])\n@pytest.mark.parametrize('n', shapes.ALL)\n{BODY}",
        f"@shapes.twice\n@pytest.mark.parametrize('one', [square, circle])\n{BODY}",
        f"pytestmark = pytest.mark.parametrize('n', shapes.ALL)\n"
        f"@pytest.mark.parametrize('one', [square, circle])\n{BODY}",
        f"def pytest_generate_tests(metafunc): ...\n@pytest.mark.parametrize('one', [square, circle])\n{BODY}",
        "@pytest.fixture(params=shapes.ALL)\ndef one(request): return request.param\n" + BODY,
        f"from .helpers import TABLE\n@pytest.mark.parametrize('one', TABLE)\n{BODY}",
    ],
)
def test_what_the_library_can_lengthen_is_matched_by_name_alone(tmp_path: Path, source: str) -> None:
    """A submission that makes its own list of cases gets none of them by their places."""
    assert _order(tmp_path, source, "square", "circle") == {}


def test_a_fixture_of_another_file_decides_nothing(tmp_path: Path) -> None:
    """Its table is not read."""
    conftest = "import pytest, shapes\n@pytest.fixture(params=shapes.ALL)\ndef more(request): ...\n"
    source = "@pytest.mark.parametrize('one', [square, circle])\ndef test_it(one, more): one(1)\n"

    assert _order(tmp_path, source, "more0-square", "more0-circle", conftest=conftest) == {}


def test_texts_that_look_like_names_need_no_place(tmp_path: Path) -> None:
    """They are the same for every library; a test beside them that names objects keeps its own order."""
    source = (
        "@pytest.mark.parametrize('one', ['Base', shapes.ALL])\ndef test_text(one): ...\n"
        "class TestIt:\n    @pytest.mark.parametrize('one', [circle, square])\n    def test_it(self, one): ...\n"
    )

    assert _order(tmp_path, source, "Base", "one1", name="test_text") == {}
    assert _order(tmp_path, source, "circle", "square", name="TestIt::test_it") == {
        "tests/test_a.py::TestIt::test_it": ("circle", "square")
    }
