"""Cases that pytest names by objects of the submission, graded in real sandboxes."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from groundup.domain.verdicts import Status
from groundup.grading.library.hidden import NumberedTest
from tests.grading.library.laboratory import LIBRARY, ORIGINAL
from tests.needs import trouble
from tests.suites.nl2repobench.trials import EXPECTED, RECIPE, Trial

pytestmark = pytest.mark.end_to_end

TESTS = """
import pytest
import calc

@pytest.mark.parametrize("function, result", [(calc.add, 8), (calc.subtract, 4), (calc.multiply, 12)])
def test_each(function, result): assert function(6, 2) == result

@pytest.mark.parametrize("function", calc.ALL)
def test_listed(function): assert function(6, 2)
"""
FILES = {**ORIGINAL, "calc/__init__.py": LIBRARY + "\nALL = [add, subtract]\n", "tests/test_each.py": TESTS}
CASES = ("add-8", "subtract-4", "multiply-12")
NAME = "tests/test_each.py::test_each"
LISTED = tuple(f"tests/test_each.py::test_listed[{name}]" for name in ("add", "subtract"))
GRADED = RECIPE.but(
    expected=EXPECTED | {NumberedTest(f"{NAME}[{case}]") for case in CASES} | {*map(NumberedTest, LISTED)},
    tests=RECIPE.tests.but(case_order={NAME: CASES}),
)
MORE = "\nALL = [add, subtract]\n"
OTHERWISE = LIBRARY.replace("def subtract(a, b): return a - b", "subtract = lambda a, b: a - b")


async def _lost(trial: Trial, library: str, tests: Mapping[str, str] = FILES) -> list[str]:
    """Return the new tests that a submission of *library* loses."""
    graded = await replace(trial, recipe=GRADED, original=tests).grade({"calc/__init__.py": library})
    assert graded.verdict.status is Status.GRADED
    assert graded.verdict.facts["integrity"] == ("unchecked" if trouble("groundup_integrity") else "clean")
    return [one.id for one in graded.tests if one.expected and one.outcome != "passed" and "each" in one.id]


async def test_a_function_of_another_name_passes_its_case(trial: Trial) -> None:
    """A lambda, an alias and an object that can be called stand where the original has named functions."""
    whole = (
        OTHERWISE.replace("def multiply(a, b): return a * b", "from operator import mul as multiply")
        + "\nclass _Sum:\n    def __call__(self, a, b): return a + b\nadd = _Sum()\n"
        + MORE
    )
    # What it lists itself is matched by name: a list of one's own says nothing.
    assert await _lost(trial, whole) == [*LISTED]


async def test_a_function_of_another_name_that_is_wrong_loses_its_case_alone(trial: Trial) -> None:
    """Its case is the one in its place, and no other."""
    wrong = OTHERWISE.replace("lambda a, b: a - b", "lambda a, b: b - a") + MORE

    assert await _lost(trial, wrong) == [f"{NAME}[{CASES[1]}]", LISTED[1]]


async def test_nothing_is_gained_by_names_or_by_number(trial: Trial) -> None:
    """One function under all names passes the case that it satisfies; a list of one's own adds none."""
    more = "\nmultiply = subtract = add\nclass Many(list): pass\nALL = Many([add] * 9)\n"

    assert await _lost(trial, LIBRARY + more) == [f"{NAME}[{CASES[2]}]", f"{NAME}[{CASES[1]}]", *LISTED]
