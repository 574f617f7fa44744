"""Which lost tests a busy machine may have failed."""

import sys
from pathlib import Path

import pytest

from groundup.domain.verdicts import TestResult
from groundup.environments.requests import Layer, PythonEnvironment
from groundup.grading.library.haste import gave_up_for_good, is_certain, may_be_late
from groundup.grading.library.hidden import HiddenTests, LibraryUnderTest
from groundup.grading.library.report import RunnerReport
from groundup.sandbox.protocol import CommandResult, Ending
from tests.grading.library.laboratory import write_tree

HIDDEN = HiddenTests(packages=("calc",), arguments=("tests/test_calc.py::test_add",), protected=("tests",))
KEPT = frozenset(["calc", "calc/__init__.py", "setup.py"])
PLAIN = "import calc\ndef test_add(): assert calc.add(1, 2) == 3\n"
STARTS = {"test_cli.py": "import subprocess\n"}
WITHOUT_CLOCK = [
    "",
    "from urllib.parse import quote\nimport urllib, http\n",
    "import time_zones, datetime\n",
    "timer = runtime = 1\n",
    "from threading import Lock\nlock = Lock()\n",
]
WITH_CLOCK = [
    "import time\n",
    "    from time import sleep\n",
    "import os, sys as system, threading\n",
    "import concurrent.futures\n",
    "from threading import Lock, Thread\n",
    "from urllib import error, request\n",
    "import urllib.request\n",
    "from datetime import datetime\nnow = datetime.now()\n",
    "import os\nos.system('true')\n",
    "async def f(): ...\n",
    "@pytest.mark.timeout(3)\ndef test(): ...\n",
    "from hypothesis import given\n",
]


def library(tmp_path: Path, code: str = "", tests: str = PLAIN) -> LibraryUnderTest:
    """Return a submission with *code*, and the original's *tests*."""
    submission = write_tree(tmp_path / "submission", {"calc/__init__.py": code})
    original = write_tree(tmp_path / "original", {"tests/test_calc.py": tests, "calc/__init__.py": "import time"})
    layer = Layer(digest="sha256:0", kind="python", path=tmp_path)
    environment = PythonEnvironment(layer=layer, mounts=(), path=(), python_version=sys.version.split()[0])
    return LibraryUnderTest(submission, original, HIDDEN, environment)


def lost(
    message: str = "assert 4 == 3", outcome: str = "failed", duration_s: float | None = 1.0, name: str = "t"
) -> TestResult:
    """Return a test that was lost, slowly."""
    given = {"id": name, "outcome": outcome, "expected": True, "message": message, "duration_s": duration_s}
    return TestResult.model_validate(given)


@pytest.mark.parametrize("code", WITHOUT_CLOCK)
def test_who_asks_no_clock_loses_on_every_machine(tmp_path: Path, code: str) -> None:
    """However slow the test was: nothing in it can tell."""
    assert is_certain([lost()], library(tmp_path, code), KEPT)


@pytest.mark.parametrize(
    ("tests", "files", "answer"),
    [
        (PLAIN, STARTS, True),
        (PLAIN + "from .test_cli import run\n", STARTS, False),
        (PLAIN + "from .test_io import run\n", {"test_io.py": "from .test_cli import run\n", **STARTS}, False),
        (PLAIN, {"conftest.py": "from . import test_cli\n", **STARTS}, False),
        (PLAIN, {"helpers.py": "import time\n"}, False),
        (PLAIN + "import time\n", {}, False),
    ],
)
def test_files_in_which_nothing_was_lost_make_no_test_late(
    tmp_path: Path, tests: str, files: dict[str, str], answer: bool
) -> None:
    """Unless the file of a lost test, or one that is no test file, names them."""
    known = library(tmp_path, tests=tests)
    write_tree(tmp_path / "original/tests", files)
    assert is_certain([lost(name="tests/test_calc.py::test_add")], known, KEPT) is answer


def test_a_test_without_a_result_may_have_been_late_in_any_file(tmp_path: Path) -> None:
    """So may one whose file is not known."""
    known = library(tmp_path)
    write_tree(tmp_path / "original/tests", STARTS)
    assert not is_certain([lost(name="tests/test_calc.py::test_add", outcome="missing")], known, KEPT)
    assert not is_certain([lost(name="elsewhere/test_calc.py::test_add")], known, KEPT)


@pytest.mark.parametrize("code", WITH_CLOCK)
def test_who_asks_a_clock_may_be_late(tmp_path: Path, code: str) -> None:
    """In the submission or in the tests; what the original's own code does is no matter."""
    assert not is_certain([lost()], library(tmp_path / "one", code), KEPT)
    assert not is_certain([lost()], library(tmp_path / "two", tests=PLAIN + code), KEPT)


@pytest.mark.parametrize(
    "test",
    [
        lost("NameError: name 'add' is not defined"),
        lost("not collected: SyntaxError: invalid syntax", "missing", None),
        lost("not collected: ValueError: no codec", "missing", None),
        lost(duration_s=0.01),
    ],
    ids=["an absent name", "no syntax", "a failing import", "soon"],
)
def test_a_failure_that_waited_for_nothing_is_certain(tmp_path: Path, test: TestResult) -> None:
    """Though the submission asks clocks elsewhere."""
    assert is_certain([test], library(tmp_path, "import time\n"), KEPT)


@pytest.mark.parametrize(
    "test",
    [
        lost("", "missing", None),
        lost("the test timed out", duration_s=0.01),
        lost("not collected: TimeoutError: timed out", "missing", None),
        lost(duration_s=None),
    ],
    ids=["never ran", "says so", "an import that says so", "of unknown length"],
)
def test_one_doubtful_loss_is_enough(tmp_path: Path, test: TestResult) -> None:
    """Of many that are certain."""
    assert not is_certain([lost(duration_s=0.01), test], library(tmp_path, "import time\n"), KEPT)


def test_what_no_test_can_reach_is_no_matter(tmp_path: Path) -> None:
    """The submission's own tests, which were left out, and its setup.py; what lay beside the tests counts."""
    known = library(tmp_path)
    write_tree(known.submission, {"tests/test_own.py": "import time\n", "setup.py": "import os\nos.system('x')\n"})
    assert is_certain([lost()], known, KEPT)
    assert not is_certain([lost()], known, {*KEPT, "tests/test_own.py"})
    assert may_be_late(known.hidden, known.original, known.submission)


@pytest.mark.parametrize(
    ("code", "said", "answer"),
    [
        (4, "TypeError: __init__() should return None", True),
        (4, "TimeoutError: timed out", False),
        (1, "TypeError: __init__() should return None", False),
        (4, "", False),
    ],
)
def test_a_conftest_that_cannot_be_imported_is_certain(code: int, said: str, answer: bool) -> None:
    """As a file of tests that cannot be: unless its error speaks of time, or nothing tells it."""
    stderr = f"ImportError while loading conftest '/workspace/tests/conftest.py'.\nE   {said}\n" if said else ""
    result = CommandResult(
        ending=Ending.EXITED, exit_code=code, stdout=b"", stderr=stderr.encode(), truncated=False, duration_s=1.0
    )
    assert gave_up_for_good(RunnerReport(exit_code=code), result) is answer


def test_what_cannot_be_read_or_is_compiled_may_be_late(tmp_path: Path) -> None:
    """A source file that is too large, and a program beside the tests."""
    known = library(tmp_path, "x = 1\n" * 400_000)
    assert may_be_late(known.hidden, known.original, known.submission)
    (known.submission / "calc/__init__.py").write_text("")
    assert not may_be_late(known.hidden, known.original, known.submission)
    assert may_be_late(known.hidden.but(programs=("git",)), known.original, known.submission)
