"""Submissions that let no check come to its end: they gain nothing."""

from dataclasses import replace

import pytest

from groundup.domain.verdicts import Status
from groundup.grading.library.hidden import NumberedTest
from tests.grading.library.laboratory import LIBRARY
from tests.suites.nl2repobench.trials import BROKEN, EXPECTED, Trial, passed

pytestmark = pytest.mark.end_to_end

FORGED = """
import _pytest.python
def _runtest(self):
    try: _original(self)
    except BaseException: pass
_original = _pytest.python.Function.runtest
_pytest.python.Function.runtest = _runtest
"""
IN_A_CHECK = """
import hashlib, os, sys
_SIZES = {"test_calc.py": %d, "test_more.py": %d}
def _is_checked():
    frame = sys._getframe()
    while frame:
        path = frame.f_code.co_filename
        if os.path.basename(path) in _SIZES:
            return os.path.getsize(path) != _SIZES[os.path.basename(path)]
        frame = frame.f_back
    return False
"""
PLAIN = """
import os, sys
def _is_checked():
    return "--assert=plain" in str([list(frame.f_locals.values()) for frame in _frames()])
def _frames():
    frame = sys._getframe()
    while frame:
        yield frame
        frame = frame.f_back
"""
ENDS = {
    "killed": "if _is_checked(): os.kill(os.getpid(), 9)\n",
    "left": "if _is_checked(): os._exit(0)\n",
    "broken off": "if _is_checked(): raise SystemExit\n",
    "raises": "if _is_checked(): raise RuntimeError('busy')\n",
    "exits": "if _is_checked():\n    import pytest\n    pytest.exit('busy')\n",
}


def _sizes(trial: Trial) -> str:
    names = ("test_calc.py", "test_more.py")
    return IN_A_CHECK % tuple(len(trial.original[f"tests/{name}"]) for name in names)


@pytest.mark.parametrize("end", ENDS)
async def test_who_ends_checks_by_the_size_of_their_files_is_tampered(trial: Trial, end: str) -> None:
    """It dies wherever a file holds false forms, and never where all are true: its forged points are gone."""
    graded = await trial.grade({"calc/__init__.py": _sizes(trial) + ENDS[end] + FORGED + BROKEN})
    assert graded.verdict.status is Status.TAMPERED, graded.logs["check.txt"].decode()
    assert passed(graded) == 0


@pytest.mark.parametrize("end", ENDS)
async def test_who_dies_whenever_it_is_not_counted_is_tampered(trial: Trial, end: str) -> None:
    """Its tests ended well once, and not when they run again as they are, twice."""
    graded = await trial.grade({"calc/__init__.py": PLAIN + ENDS[end] + FORGED + BROKEN})
    assert graded.verdict.status is Status.TAMPERED, graded.logs["check.txt"].decode()
    assert passed(graded) == 0


DEAF = "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})\n"
LIMITS = {
    "sleeps": "if _is_checked():\n    time.sleep(10**6)\n",
    "takes all memory": "if _is_checked():\n    hoard = b'x'\n    while True: hoard += hoard\n",
}


@pytest.mark.parametrize("end", LIMITS)
async def test_who_meets_a_limit_whenever_it_is_not_counted_is_tampered(trial: Trial, end: str) -> None:
    """Its time or its memory is used up before the first test, each time but where points come from."""
    files = {"calc/__init__.py": PLAIN + DEAF + LIMITS[end] + FORGED + BROKEN}
    graded = await trial.grade(files, timeout_s=12)
    assert graded.verdict.status is Status.TAMPERED, graded.logs["check.txt"].decode()
    assert passed(graded) == 0


BY_CONTENT = """
import os, sys
def _is_checked():
    frame = sys._getframe()
    while frame:
        path = frame.f_code.co_filename
        if os.path.basename(path).startswith("test_"):
            return open(path).read() not in %r
        frame = frame.f_back
    return False
"""


@pytest.mark.parametrize("end", ["raises", "exits"])
async def test_who_cannot_be_imported_where_files_hold_false_forms_is_tampered(trial: Trial, end: str) -> None:
    """It knows the files as published, so it raises wherever one reads otherwise."""
    texts = tuple(trial.original[f"tests/{name}"] for name in ("test_calc.py", "test_more.py"))
    graded = await trial.grade({"calc/__init__.py": BY_CONTENT % (texts,) + ENDS[end] + FORGED + BROKEN})
    assert graded.verdict.status is Status.TAMPERED, graded.logs["check.txt"].decode()
    assert passed(graded) == 0


IN_EACH_TEST = """
import _pytest.python
def _before():
    if _CHECKED: END
_counted = _pytest.python.Function.runtest
def _each(self):
    _before()
    _counted(self)
_pytest.python.Function.runtest = _each
_CHECKED = _is_checked()
"""
LATE_ENDS = {"dies": "os._exit(0)", "sleeps": "time.sleep(10**6)", "interrupts": "raise KeyboardInterrupt"}


@pytest.mark.parametrize("end", LATE_ENDS)
async def test_who_ends_its_tests_where_files_hold_false_forms_is_tampered(trial: Trial, end: str) -> None:
    """It begins them first, as a library might whose tests hang; other files that test the same show it."""
    texts = tuple(trial.original[f"tests/{name}"] for name in ("test_calc.py", "test_more.py"))
    late = IN_EACH_TEST.replace("END", LATE_ENDS[end])
    graded = await trial.grade(
        {"calc/__init__.py": BY_CONTENT % (texts,) + DEAF + FORGED + late + BROKEN}, timeout_s=12
    )
    assert graded.verdict.status is Status.TAMPERED, graded.logs["check.txt"].decode()
    assert passed(graded) == 0


async def test_what_many_tests_lose_at_once_is_looked_at_until_its_end(trial: Trial) -> None:
    """A file that can be collected no more hides its true forms, and no run of it says that all is well."""
    sums = "".join(
        f"def test_sum_{number}(): assert calc.add({number}, 1) == {number + 1}\n" for number in range(24)
    )
    original = {**trial.original, "tests/test_sums.py": f"import calc\n{sums}"}
    expected = EXPECTED | {NumberedTest(f"tests/test_sums.py::test_sum_{number}") for number in range(24)}
    trial = replace(trial, recipe=trial.recipe.but(expected=expected), original=original)
    texts = tuple(text for name, text in original.items() if name.startswith("tests/test_"))
    graded = await trial.grade({"calc/__init__.py": BY_CONTENT % (texts,) + ENDS["raises"] + FORGED + BROKEN})
    assert graded.verdict.status is Status.TAMPERED, graded.logs["check.txt"].decode()


async def test_an_honest_library_is_not_accused(trial: Trial) -> None:
    """Its checks come to their end, and it is clean."""
    graded = await trial.grade({"calc/__init__.py": LIBRARY})
    assert graded.verdict.status is Status.GRADED
    assert passed(graded) == len(EXPECTED)
