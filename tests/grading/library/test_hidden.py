"""Names of hidden tests."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.grading.library.hidden import MAX_ID_CHARS, HiddenTests, NumberedTest, shortened, source_files
from tests.grading.library.laboratory import write_tree


@given(
    st.text(max_size=60) | st.from_regex(r"t( #[0-9]{1,3}){0,3}", fullmatch=True),
    st.integers(min_value=1, max_value=999),
)
def test_a_written_name_reads_back(name: str, ordinal: int) -> None:
    """Whatever pytest puts into an id, the text of a numbered test names that test and no other."""
    test = NumberedTest(name, ordinal)

    assert NumberedTest.parse(str(test)) == test


@pytest.mark.parametrize("node_id", ["a" * (MAX_ID_CHARS + 1), "b" * 100_000, "\ud800" * 500])
def test_a_very_long_id_is_shortened_and_stays_itself(node_id: str) -> None:
    """Parametrised ids of any length fit into a recipe, and two that differ at their end stay different."""
    assert len(shortened(node_id)) <= MAX_ID_CHARS
    assert shortened(node_id) != shortened(node_id + "x")


def test_an_ordinary_id_stays_as_pytest_names_it() -> None:
    """A reader of a recipe finds the ids that pytest prints."""
    assert str(NumberedTest.of("tests/test_a.py::test_b[1]")) == "tests/test_a.py::test_b[1]"
    assert str(NumberedTest.of("tests/test_a.py::test_b", 2)) == "tests/test_a.py::test_b #2"


def test_the_sources_of_an_original_are_those_of_its_packages(tmp_path: Path) -> None:
    """A module or a folder below an import root, without the tests in it and what only lies beside it."""
    names = ("src/calc/__init__.py", "src/calc/deep/a.py", "src/calc/tests/test_a.py", "src/calc/data.txt")
    original = write_tree(tmp_path, dict.fromkeys((*names, "src/solo.py", "src/other.py", "calc.py"), ""))
    tests = HiddenTests(
        packages=("calc", "solo", "absent"),
        import_roots=("src",),
        arguments=("src/calc/tests",),
        protected=("src/calc/tests",),
    )
    found = [str(path.relative_to(original)) for path in source_files(original, tests)]
    assert found == ["src/calc/__init__.py", "src/calc/deep/a.py", "src/solo.py"]
