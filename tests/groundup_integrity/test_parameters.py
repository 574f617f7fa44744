"""False tables of parametrised tests: what they say, and what their cases are called."""

import ast
from collections.abc import Mapping

import pytest

from groundup.grading.library.hidden import NumberedTest
from groundup_integrity.false_forms import FalseForms, HiddenSuite

HEAD = "import pytest\n\n"
TABLE = HEAD + '@pytest.mark.parametrize("number, letters", [(1, "one"), (2, "two"), (3, [4])])\n'


def _false(source: str, seed: str, *cases: str) -> tuple[str, Mapping[NumberedTest, NumberedTest]]:
    """Return the source with all *cases* false, and what these are called there -> their own names."""
    keys = [NumberedTest(f"t.py::{case}") for case in cases]
    suite = HiddenSuite(["t.py"], lambda path: source.encode(), keys)
    made = FalseForms(suite, seed).falsified(keys)
    return made.changed["t.py"].decode(), made.renamed


def test_the_table_is_false_and_its_cases_are_known() -> None:
    """Every row has another value, and the names that pytest gives the rows lead to the true ones."""
    source = TABLE + "def test_it(number, letters):\n    assert f(number) == letters\n"
    for seed in "abcde":
        changed, names = _false(source, seed, "test_it[1-one]", "test_it[2-two]", "test_it[3-letters2]")
        rows = ast.literal_eval(changed[changed.index("[(") : changed.index(")\ndef")])
        assert [row[0] for row in rows] == [1, 2, 3]
        assert all(row[1] != true for row, true in zip(rows, ["one", "two", [4]], strict=True))
        assert "assert f(number) == letters" in changed
        assert {str(new): str(old) for new, old in names.items()} == {
            f"t.py::test_it[1-{rows[0][1]}]": "t.py::test_it[1-one]",
            f"t.py::test_it[2-{rows[1][1]}]": "t.py::test_it[2-two]",
            "t.py::test_it[3-letters2]": "t.py::test_it[3-letters2]",
        }


@pytest.mark.parametrize(
    ("body", "cases"),
    [
        ("assert f(letters) == letters", ("test_it[1-one]", "test_it[2-two]", "test_it[3-letters2]")),
        ("if number: assert f(number) == letters", ("test_it[1-one]", "test_it[2-two]", "test_it[3-letters2]")),
        ("assert f(number) == letters", ("test_it[1-one]", "test_it[2-two]")),
    ],
    ids=["another use", "not always", "other names"],
)
def test_a_table_that_is_not_sure_stays(body: str, cases: tuple[str, ...]) -> None:
    """The parameter is used elsewhere, may not be compared, or the names are not those that are expected."""
    changed, names = _false(f"{TABLE}def test_it(number, letters):\n    {body}\n", "seed", *cases)

    assert not names
    assert TABLE in changed
