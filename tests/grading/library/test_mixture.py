"""Which tests are false in which of two mixed runs: no more together than must be."""

import pytest

from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.twin import HiddenSuite

SEEDS = [str(number) for number in range(30)]
CLASSES = "".join(
    f"class Test{name}:\n    def test_it(self):\n        assert f() == '{name}'\n\n" for name in "ABCD"
)
HELPER = "def check(x):\n    assert x\n\ndef test_other():\n    check(f())\n\n"
TABLE = (
    "import pytest\n\n"
    "@pytest.mark.parametrize('number, letters', [(1, 'one'), (2, 'two'), (3, 'three')])\n"
    "def test_it(number, letters):\n    assert f(number) == letters\n"
)
CASES = [NumberedTest(f"t.py::test_it[{case}]") for case in ("1-one", "2-two", "3-three")]


def _suite(source: str, *tests: str) -> HiddenSuite:
    return HiddenSuite({"t.py": source.encode()}, [NumberedTest(f"t.py::{test}") for test in tests])


def _swapped(suite: HiddenSuite, seed: str, *tests: str) -> list[bool]:
    mixture = suite.mixture(seed)
    keys = [NumberedTest(f"t.py::{test}") for test in tests]
    return [mixture.is_swapped(key, suite.lot_of(key)) for key in keys]


def test_functions_of_one_name_are_drawn_apart() -> None:
    """Where one of them passes, that tells nothing of the others."""
    tests = [f"Test{name}::test_it" for name in "ABCD"]
    suite = _suite(CLASSES, *tests)

    drawn = {tuple(_swapped(suite, seed, *tests)) for seed in SEEDS}

    assert len(drawn) > 4
    assert {one[0] != one[1] for one in drawn} == {True, False}


@pytest.mark.parametrize(
    "more", ["class TestE(TestA):\n    pass\n", "class TestE:\n    def test_it(self):\n        pass\n"]
)
def test_functions_that_no_id_tells_apart_stay_together(more: str) -> None:
    """A class inherits a test, or a function of that name is no test: which one an id means is not known."""
    tests = [f"Test{name}::test_it" for name in ("ABCDE" if "TestA" in more else "ABCD")]
    suite = _suite(CLASSES + more, *tests, "test_other")

    assert all(len({*_swapped(suite, seed, *tests)}) == 1 for seed in SEEDS)


def test_the_cases_of_a_table_are_drawn_one_by_one() -> None:
    """Each row is false in one of the two runs, under its own name there, and true in the other."""
    suite = _suite(TABLE, *(case.id.rpartition("::")[2] for case in CASES))
    drawn = set()
    for seed in SEEDS:
        mixture = suite.mixture(seed)
        runs = [
            (suite.falsified(seed, (), spared, mixture.crossed), suite.renamed(seed, spared, mixture.crossed))
            for spared in (mixture.first, mixture.second)
        ]
        false = [{*names.values()} for _, names in runs]
        assert false[0] | false[1] == {*CASES}
        assert not false[0] & false[1]
        assert false[0] == {case for case in CASES if mixture.is_swapped(case, suite.lot_of(case))}
        for (changed, names), cases in zip(runs, false, strict=True):
            text = changed.get("t.py", TABLE.encode()).decode()
            assert all(f"'{case.id[:-1].rpartition('-')[2]}'" in text for case in {*CASES} - cases)
            assert all(f"'{name.id[:-1].rpartition('-')[2]}'" in text for name in names)
        drawn.add(frozenset(false[0]))

    assert len(drawn) > 4


def test_a_table_with_a_tail_stays_whole() -> None:
    """The tail at the end of a false function makes all of its cases fail."""
    suite = _suite(TABLE, *(case.id.rpartition("::")[2] for case in CASES))

    assert not any(suite.mixture(seed, {"test_it"}).crossed for seed in SEEDS)


def test_a_table_whose_test_has_a_helper_stays_whole() -> None:
    """Where the helper is false, cases with true values fail as well."""
    helped = TABLE.replace("    assert", "    check(number)\n    assert")
    suite = _suite(HELPER + helped, "test_other", *(case.id.rpartition("::")[2] for case in CASES))

    assert suite.renamed("a")
    assert not any(suite.mixture(seed).crossed for seed in SEEDS)


def test_how_many_tests_are_false_is_chance() -> None:
    """Who knows the form of all tests but one must not know that of the last by counting."""
    suite = _suite("".join(f"def test_{name}():\n    assert f() == 1\n" for name in "abcdefgh"))

    counts = {len(suite.mixture(seed).second) for seed in SEEDS}

    assert len(counts) > 2
    assert counts <= {*range(2, 7)}
