"""Checks of a count, with real sandboxes: what they say of honest, faulty and forging libraries."""

import re
from dataclasses import replace

import pytest

from groundup.domain.verdicts import Status
from groundup.grading.library.hidden import NumberedTest
from groundup.suites.base import Graded
from tests.grading.library.laboratory import LIBRARY, ORIGINAL
from tests.suites.nl2repobench.trials import BROKEN, BROKEN_PASSES, RECIPE, Trial, passed

pytestmark = pytest.mark.end_to_end

PASSES_ALL = """
import _pytest.python
def _runtest(self):
    try: _original(self)
    except BaseException:
        if not FORGES: raise
_original = _pytest.python.Function.runtest
_pytest.python.Function.runtest = _runtest
"""
SEES_ALL = "__import__('sys').modules.get('test_extra')"
"""A spot check imports only the files of its tests, and no test of this one is expected."""
COUNTS_ALL = "len(self.session.items) == 21"
"""A spot check runs no more than the expected tests, of which there are 20."""
SUMS = "import calc\n" + "".join(
    f"def test_sum_{number}(): assert calc.add({number}, 1) == {number + 1}\n" for number in range(12)
)
FILES = {**ORIGINAL, "tests/test_sums.py": SUMS, "tests/test_extra.py": "def test_extra(): pass\n"}
SUM_TESTS = frozenset(NumberedTest(f"tests/test_sums.py::test_sum_{number}") for number in range(12))


def _answer(graded: Graded) -> tuple[object, object]:
    return graded.verdict.facts["integrity"], graded.verdict.facts["check"]


async def test_an_honest_library_is_clean(trial: Trial) -> None:
    """Whole or broken: a spot check contradicts nothing, and its log is apart from that of the run that counts."""
    for files, points in ((ORIGINAL, 8), ({"calc/__init__.py": BROKEN}, BROKEN_PASSES)):
        graded = await trial.grade(files)

        assert (_answer(graded), passed(graded)) == (("clean", "spot"), points)
        assert b"spot check" in graded.logs["check.txt"]
        assert f"{points} passed".encode() in graded.logs["stdout.txt"]
        assert graded.verdict.cacheable


async def test_nothing_is_checked_where_nothing_passes(trial: Trial) -> None:
    """There is nothing to believe."""
    graded = await trial.grade({})

    assert (_answer(graded), passed(graded)) == (("clean", "none"), 0)
    assert "check.txt" not in graded.logs


async def test_a_library_that_makes_everything_pass_is_tampered_with(trial: Trial) -> None:
    """It passes false forms, and what is made to fail."""
    graded = await trial.grade({"calc/__init__.py": PASSES_ALL.replace("FORGES", "True") + BROKEN})

    assert (graded.verdict.status, graded.verdict.score) == (Status.TAMPERED, None)
    assert _answer(graded) == ("tampered", "full")
    assert graded.verdict.facts["passed"] == 8, "what it claimed is told"


@pytest.mark.parametrize("notices", [SEES_ALL, COUNTS_ALL], ids=["files", "tests"])
async def test_a_library_that_is_honest_in_checks_is_caught(trial: Trial, notices: str) -> None:
    """By the true half, which it claimed to pass; or by the false half of a check that looks like the run."""
    expected = RECIPE.expected | SUM_TESTS
    trial = replace(trial, recipe=RECIPE.but(expected=expected), original=FILES)
    wrong = LIBRARY.replace("return a + b", "return -77")  # no false form expects it
    graded = await trial.grade({"calc/__init__.py": PASSES_ALL.replace("FORGES", notices) + wrong})

    assert graded.verdict.status is Status.TAMPERED, graded.logs.get("check.txt")
    assert graded.verdict.facts["check"] == "full"


async def test_a_full_check_covers_all_tests(trial: Trial) -> None:
    """On request, with the same points."""
    graded = await trial.grade(ORIGINAL, deep=True)

    assert (_answer(graded), passed(graded)) == (("clean", "full"), 8)
    assert graded.verdict.facts["checked"] == 8


async def test_a_lost_test_that_passes_when_it_runs_again_is_called_flaky(trial: Trial) -> None:
    """It stays lost, the list of tests and the reasons say so, and the verdict is not cached."""
    library = LIBRARY.replace("return a * b", f"return -1 if a == 3 and {SEES_ALL} else a * b")
    expected = RECIPE.expected | SUM_TESTS
    trial = replace(trial, recipe=RECIPE.but(expected=expected), original=FILES)
    graded = await trial.grade({"calc/__init__.py": library})

    assert passed(graded) == len(expected) - 1
    assert [test.id for test in graded.tests if test.flaky] == ["tests/test_calc.py::test_multiply"]
    assert (graded.verdict.facts["flaky"], graded.verdict.cacheable) == (1, False)
    assert "flaky" in graded.verdict.reasons[-1].message


async def test_a_failure_shows_its_values(trial: Trial) -> None:
    """The list of tests has a short traceback of each, with what the assertion compared."""
    graded = await trial.grade({"calc/__init__.py": BROKEN})
    details = {test.id: test.detail for test in graded.tests if test.outcome == "failed"}

    assert "assert 7 == 12" in details["tests/test_calc.py::test_multiply"]
    assert "where 7 =" in details["tests/test_calc.py::test_multiply"]
    assert all("_pytest" not in text for text in details.values())


async def test_the_log_of_the_run_that_counts_is_of_that_run_alone(trial: Trial) -> None:
    """A person reads each failure once, with its values, and nothing that only a check does."""
    graded = await trial.grade({"calc/__init__.py": BROKEN})
    told, checked = graded.logs["stdout.txt"].decode(), graded.logs["check.txt"].decode()
    failed = {test.id for test in graded.tests if test.outcome == "failed"}

    assert {*re.findall(r"^FAILED (\S+)", told, re.MULTILINE)} == failed
    assert told.count("assert 7 == 12") == 2, "in its traceback and in the summary"
    assert "2 failed, 6 passed" in told
    assert {line.split()[-1] for line in checked.splitlines()[1:]} == {str(test) for test in RECIPE.expected}


async def test_an_equality_that_always_holds_is_suspect_and_costs_nothing(trial: Trial) -> None:
    """Its tests pass with false expectations, and fail when they are made to: a fault, and no forgery."""
    expected = RECIPE.expected | SUM_TESTS
    trial = replace(trial, recipe=RECIPE.but(expected=expected), original=FILES)
    lenient = "class Number(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
    graded = await trial.grade(
        {"calc/__init__.py": lenient + LIBRARY.replace("return a + b", "return Number(a + b)")}
    )

    assert (graded.verdict.status, passed(graded)) == (Status.GRADED, len(expected))
    assert _answer(graded) == ("suspect", "full")
    assert "made to fail, they fail" in str(graded.verdict.facts["integrity_why"])


@pytest.mark.parametrize(
    ("more", "deep"),
    [("def grow(n): return n + 1\n", False), ("def grow(n): return n + 1\ndef shrink(n): return n\n", True)],
    ids=["its file cannot be collected", "all tests of its file are lost"],
)
async def test_a_library_that_leans_on_what_another_file_imports_is_not_accused(
    trial: Trial, more: str, *, deep: bool
) -> None:
    """It forgot to import a module of its own; a test file does, none of whose tests pass, so none is checked."""
    numbers = range(80)
    files = {
        **ORIGINAL,
        "calc/__init__.py": LIBRARY + "from calc import more\n",
        "calc/more.py": "def grow(n): return n + 1\ndef shrink(n): return n - 1\n",
        "tests/test_both.py": "from calc.more import grow, shrink\ndef test_both(): assert shrink(grow(1)) == 1\n",
        "tests/test_grow.py": "import calc\n"
        + "".join(
            f"def test_grow_{number}(): assert calc.more.grow({number}) == {number + 1}\n" for number in numbers
        ),
    }
    grown = {NumberedTest(f"tests/test_grow.py::test_grow_{number}") for number in numbers}
    expected = RECIPE.expected | grown | {NumberedTest("tests/test_both.py::test_both")}
    trial = replace(trial, recipe=RECIPE.but(expected=expected), original=files)
    graded = await trial.grade({"calc/__init__.py": LIBRARY, "calc/more.py": more}, deep=deep)

    assert graded.verdict.facts["passed"] == len(expected) - 1, "as in any run of all tests"
    assert graded.verdict.status is Status.GRADED, graded.verdict.reasons


async def test_a_library_that_leans_on_what_a_lost_test_leaves_is_not_accused(trial: Trial) -> None:
    """It has to be begun and should not; the test that begins it fails, so no check runs it."""
    names = [f"test_grow_{number}" for number in range(80)]
    tests = "import calc\ndef test_begin(): assert calc.begin() == 1\n"
    tests += "".join(
        f"def {name}(): assert calc.grow({number}) == {number + 1}\n" for number, name in enumerate(names)
    )
    whole = LIBRARY + "\ndef begin(): return 1\n\ndef grow(n): return n + 1\n"
    lazy = LIBRARY + "\nbegun = []\n\ndef begin(): begun.append(1)\n\ndef grow(n): return begun[0] and n + 1\n"
    files = {**ORIGINAL, "calc/__init__.py": whole, "tests/test_begin.py": tests}
    added = {NumberedTest(f"tests/test_begin.py::{name}") for name in ("test_begin", *names)}
    expected = RECIPE.expected | added
    trial = replace(trial, recipe=RECIPE.but(expected=expected), original=files)

    for deep in (False, True):
        graded = await trial.grade({"calc/__init__.py": lazy}, deep=deep)
        assert graded.verdict.facts["passed"] == len(expected) - 1, "as in any run of all tests"
        assert graded.verdict.status is Status.GRADED, graded.verdict.reasons
