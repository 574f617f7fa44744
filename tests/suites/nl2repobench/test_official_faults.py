"""Each known fault of the published evaluator: `official` shows it, `strict` does not."""

from collections.abc import Mapping

import pytest

from groundup.grading.library.hidden import HiddenTests
from tests.suites.nl2repobench.images import Laboratory, Published, rate

pytestmark = pytest.mark.end_to_end

GOOD = """
def add(a, b): return a + b

def subtract(a, b): return a - b

def multiply(a, b): return a * b

def divide(a, b): return a / b
"""
BROKEN = GOOD.replace("a * b", "a + b").replace("a / b", "a")
"""Passes two of the four tests."""
TESTS = """
import calc

def test_add(): assert calc.add(1, 2) == 3

def test_subtract(): assert calc.subtract(5, 3) == 2

def test_multiply(): assert calc.multiply(3, 4) == 12

def test_divide(): assert calc.divide(8, 2) == 4
"""
NAMES = ("add", "subtract", "multiply", "divide")
FOLDER = Published(
    original={"calc/__init__.py": GOOD, "tests/test_calc.py": TESTS},
    hidden=HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",), timeout_s=60),
    expected=frozenset(f"tests/test_calc.py::test_{name}" for name in NAMES),
    declared=4,
)
FILE = Published(
    original={"calc/__init__.py": GOOD, "test_calc.py": TESTS, "data/numbers.txt": "1"},
    hidden=HiddenTests(
        packages=("calc",), arguments=("test_calc.py",), protected=("test_calc.py", "data"), timeout_s=60
    ),
    expected=frozenset(f"test_calc.py::test_{name}" for name in NAMES),
    declared=4,
    commands=("pytest --continue-on-collection-errors test_calc.py",),
    listed=("test_calc.py",),
)

HOOK = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""
OWN = "".join(f"def test_{number}(): pass\n" for number in range(20))
PRINT = "import atexit\natexit.register(print, '118 passed')\n"
LEAVE = "import os\nos.write(1, b'118 passed\\n')\nos._exit(3)\n"
LIB = {"calc/__init__.py": BROKEN}

GAINS: Mapping[str, tuple[Published, Mapping[str, str]]] = {
    "a printed count": (FOLDER, {"calc/__init__.py": PRINT + BROKEN}),
    "a printed count, and exit code 3": (FOLDER, {**LIB, "sitecustomize.py": LEAVE}),
    "conftest.py": (FOLDER, {**LIB, "conftest.py": HOOK}),
    "sitecustomize.py": (FOLDER, {**LIB, "sitecustomize.py": PRINT}),
    "pytest.py at the root": (FOLDER, {**LIB, "pytest.py": "def main():\n    print('118 passed')\n"}),
    ".pytest.ini": (FOLDER, {**LIB, ".pytest.ini": "[pytest]\naddopts = -p cheat\n", "cheat.py": HOOK}),
    "own tests, where a command has no path": (
        Published(
            original=FOLDER.original,
            hidden=FOLDER.hidden,
            expected=FOLDER.expected,
            declared=4,
            commands=("pytest --continue-on-collection-errors",),
        ),
        {**LIB, "test_own.py": OWN},
    ),
    "own tests, where single files are listed": (
        Published(
            original=FOLDER.original,
            hidden=FOLDER.hidden,
            expected=FOLDER.expected,
            declared=4,
            listed=("tests/test_calc.py",),
        ),
        {**LIB, "tests/test_own.py": OWN},
    ),
    "the hidden test replaced, where the listed path is wrong": (
        Published(
            original=FILE.original,
            hidden=FILE.hidden,
            expected=FILE.expected,
            declared=4,
            commands=FILE.commands,
            listed=("tests",),
        ),
        {**LIB, "test_calc.py": OWN},
    ),
}


@pytest.mark.parametrize("name", GAINS)
async def test_what_the_published_evaluator_rewards(laboratory: Laboratory, name: str) -> None:
    """A library that passes two of four tests gets full marks officially, and two of four strictly."""
    published, files = GAINS[name]
    submission = laboratory.submission(files)
    official = await laboratory.official(published, submission)
    strict = await laboratory.strict(published, submission)

    assert rate(official) == 1
    assert official.verdict.score is not None
    assert official.verdict.score.numerator == 4, "the rate is capped"
    assert rate(strict) <= 0.5


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("the hidden test replaced, where the listed path is wrong", "test_calc.py"),
        ("own tests, where single files are listed", "tests/test_own.py"),
    ],
)
async def test_counted_tests_of_its_own_are_told(laboratory: Laboratory, name: str, own: str) -> None:
    """The score stays as published; the first reason says how many of the counted tests are the submission's."""
    published, files = GAINS[name]
    official = await laboratory.official(published, laboratory.submission(files))

    number = official.verdict.facts["own_tests"]
    assert isinstance(number, int)
    assert number > 0
    told = official.verdict.reasons[0].message
    assert told.startswith(f"{number} of the ")
    assert told.endswith(f"counted tests are the submission's own, such as those of {own}")


async def test_without_a_trick_both_say_the_same(laboratory: Laboratory) -> None:
    """The two graders differ by faults, not by nature: an honest half is a half for both."""
    submission = laboratory.submission(LIB)
    official = await laboratory.official(FOLDER, submission)

    assert (rate(official), rate(await laboratory.strict(FOLDER, submission))) == (0.5, 0.5)
    assert official.verdict.facts["failed"] == 2
    assert official.verdict.grader.environment == "rebuilt"
    assert official.verdict.grader.data_version == "781a1da"
    assert b"2 failed, 2 passed" in official.logs["command-1.txt"]


async def test_a_link_that_dangles_after_the_deletion_survives_it(laboratory: Laboratory) -> None:
    """A listed file that is a link into a listed folder counts as absent once that is gone, and so it stays."""
    published = Published(
        original=FILE.original,
        hidden=FILE.hidden,
        expected=FILE.expected,
        declared=4,
        commands=FILE.commands,
        listed=("data", "test_calc.py"),
    )
    files = {**LIB, "data/numbers.txt": "2", "mine.py": OWN}
    submission = laboratory.submission(files, links={"test_calc.py": "data/../mine.py"})

    assert rate(await laboratory.official(published, submission)) == 1
    assert rate(await laboratory.strict(published, submission)) == 0.5


async def test_a_linked_tests_folder_is_not_deleted(laboratory: Laboratory) -> None:
    """It stays, and no image can be built over the folder of that name: a perfect library gets nothing."""
    submission = laboratory.submission({"calc/__init__.py": GOOD, "mine/test_calc.py": OWN}, {"tests": "mine"})
    official = await laboratory.official(FOLDER, submission)

    assert rate(official) == 0
    assert "tests cannot replace the folder" in official.verdict.reasons[0].message
    assert rate(await laboratory.strict(FOLDER, submission)) == 1


async def test_one_dangling_link_costs_everything(laboratory: Laboratory) -> None:
    """The archive that is made first cannot be made, so a perfect library gets nothing."""
    submission = laboratory.submission({"calc/__init__.py": GOOD}, {"latest": "calc/nowhere.py"})
    official = await laboratory.official(FOLDER, submission)

    assert rate(official) == 0
    assert "leads nowhere" in official.verdict.reasons[0].message
    assert rate(await laboratory.strict(FOLDER, submission)) == 1


async def test_a_librarys_own_data_is_deleted(laboratory: Laboratory) -> None:
    """A package that ships a data file named setup.cfg loses it, and what depends on it."""
    reads = "from pathlib import Path\nTEMPLATE = (Path(__file__).parent / 'data/setup.cfg').read_text()\n"
    submission = laboratory.submission({"calc/__init__.py": reads + GOOD, "calc/data/setup.cfg": "[metadata]\n"})
    official = await laboratory.official(FOLDER, submission)

    assert rate(official) == 0
    assert official.logs["deleted.txt"] == b"calc/data/setup.cfg\n"
    assert rate(await laboratory.strict(FOLDER, submission)) == 1


NESTED = """
import subprocess
import sys

def test_nested(tmp_path, capfd):
    (tmp_path / "test_inner.py").write_text("def test_one(): pass\\ndef test_two(): pass\\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", str(tmp_path)], capture_output=True, text=True)
    with capfd.disabled():
        print(done.stdout)
    assert done.returncode == 0
"""


async def test_nested_output_is_counted(laboratory: Laboratory) -> None:
    """Where a hidden test prints what a pytest of its own said, one failure too many is made up for."""
    published = Published(
        original={**FOLDER.original, "tests/test_nested.py": NESTED},
        hidden=FOLDER.hidden,
        expected=FOLDER.expected | {"tests/test_nested.py::test_nested"},
        declared=5,
    )
    submission = laboratory.submission(LIB)
    official = await laboratory.official(published, submission)

    assert (official.verdict.facts["passed"], rate(official)) == (5, 1)
    assert rate(await laboratory.strict(published, submission)) == pytest.approx(3 / 5)


IDENTITIES = """
import calc
import pytest

@pytest.mark.parametrize("number", getattr(calc, "NUMBERS", [1]))
def test_number(number): assert number
"""


async def test_identities_are_ignored(laboratory: Laboratory) -> None:
    """Tests that no one wrote, parametrized by the submission, stand in for hidden ones that fail."""
    published = Published(
        original={**FOLDER.original, "tests/test_numbers.py": IDENTITIES},
        hidden=FOLDER.hidden,
        expected=FOLDER.expected | {"tests/test_numbers.py::test_number[1]"},
        declared=5,
    )
    submission = laboratory.submission({"calc/__init__.py": BROKEN + "\nNUMBERS = range(1, 4)\n"})

    assert rate(await laboratory.official(published, submission)) == 1
    assert rate(await laboratory.strict(published, submission)) == pytest.approx(3 / 5)


MARKED = """
import pytest

@pytest.mark.skip
def test_skipped(): pass

@pytest.mark.xfail
def test_expected_failure(): assert False

@pytest.mark.xfail
def test_unexpected_pass(): pass
"""


async def test_skips_and_expected_failures_are_ignored(laboratory: Laboratory) -> None:
    """Where declared counts include them, the original itself gets less than full marks."""
    published = Published(
        original={**FOLDER.original, "tests/test_marked.py": MARKED},
        hidden=FOLDER.hidden,
        expected=FOLDER.expected,
        declared=7,
    )
    submission = laboratory.submission({"calc/__init__.py": GOOD})
    official = await laboratory.official(published, submission)

    assert (official.verdict.facts["passed"], official.verdict.facts["failed"]) == (4, 0)
    assert rate(official) == pytest.approx(4 / 7)
    assert "7 are declared" in official.verdict.reasons[0].message
    assert rate(await laboratory.strict(published, submission)) == 1


async def test_what_a_failing_command_prints_to_standard_error_counts(laboratory: Laboratory) -> None:
    """A command that succeeds loses its standard error; of one that fails the exception quotes it."""
    shout = "import os\nos.write(2, b'118 passed\\n')\n"
    failing = await laboratory.official(FOLDER, laboratory.submission({**LIB, "sitecustomize.py": shout}))
    assert rate(failing) == 1
    fine = laboratory.submission({"calc/__init__.py": GOOD, "sitecustomize.py": shout})
    assert (await laboratory.official(FOLDER, fine)).verdict.facts["passed"] == 4


async def test_output_that_is_not_text_counts_nothing_when_a_test_fails(laboratory: Laboratory) -> None:
    """One byte that is not UTF-8 in the output of a failing command costs every point."""
    garble = "import os\nos.write(1, b'\\xff\\n')\n"
    submission = laboratory.submission({**LIB, "sitecustomize.py": garble})

    assert rate(await laboratory.official(FOLDER, submission)) == 0
    assert rate(await laboratory.strict(FOLDER, submission)) == 0.5
