"""Submissions that forge results inside the tests' process: they gain nothing, or are found out.

Each starts from a library that passes six of eight tests. They know how groundup works and what it hides; they do
not know the twin's seed.
"""

import pytest

from groundup.domain.verdicts import Status
from groundup.grading.library.equality import WITHHELD
from groundup.suites.base import Graded
from tests.suites.nl2repobench.trials import BROKEN, BROKEN_PASSES, Trial, passed

pytestmark = pytest.mark.end_to_end

SPARING = """
import re, sys
def _install():
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            manager = getattr(getattr(value, "config", None), "pluginmanager", None)
            if manager is not None and hasattr(manager, "register"):
                return manager
        frame = frame.f_back
import pytest
class Passing:
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        if SPARED(item.name):
            return
        report.outcome, report.longrepr = "passed", None
        call.excinfo = None
_manager = _install()
if _manager is not None:
    _manager.register(Passing())
"""
CHANNEL = """
import sys
def _wrap():
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            channel = getattr(value, "_channel", value)
            if type(channel).__name__ == "Channel" and hasattr(channel, "send"):
                send = channel.send
                def forged(event, **fields):
                    if event == "test" and SPARED(fields["id"]) is False:
                        fields.update(outcome="passed", message="")
                    send(event, **fields)
                channel.send = forged
                return
        frame = frame.f_back
_wrap()
"""
BODIES = """
import gc, types
def _replace():
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and "/tests/" in function.__code__.co_filename:
            if function.__name__ in ("test_multiply", "test_large"):
                function.__code__ = (lambda: None).__code__
"""
OPERAND = """
import ast, linecache, sys
def _wanted(depth=2):
    frame = sys._getframe(depth)
    source = open(frame.f_code.co_filename).read()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert) and node.lineno <= frame.f_lineno <= node.end_lineno:
            if isinstance(node.test, ast.Compare):
                code = compile(ast.Expression(node.test.comparators[0]), "wanted", "eval")
                return eval(code, frame.f_globals, frame.f_locals)
    return None
"""
EVERYTHING = """
class Everything:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __bool__(self): return True
"""
RUNTEST = """
import _pytest.python
def _runtest(self):
    try: _original(self)
    except BaseException: pass
_original = _pytest.python.Function.runtest
_pytest.python.Function.runtest = _runtest
"""


def _multiply(expression: str) -> str:
    return BROKEN.replace("def multiply(a, b): return a + b", f"def multiply(a, b): return {expression}")


FORGERS = {
    "spares random names": "import re\nSPARED = lambda name: bool(re.fullmatch('test_[0-9a-f]{10}', name))\n"
    + SPARING
    + BROKEN,
    "forges memorised names": "SPARED = lambda name: name not in ('test_multiply', 'test_large')\n"
    + SPARING
    + BROKEN,
    "wraps the channel": "SPARED = lambda name: not name.endswith(('multiply', 'large'))\n" + CHANNEL + BROKEN,
    "wraps the channel but for random names": "import re\n"
    "SPARED = lambda name: bool(re.search('::test_[0-9a-f]{10}$', name))\n" + CHANNEL + BROKEN,
    "replaces bodies of tests": BODIES
    + _multiply("_replace() or a + b").replace("return a + b\n", "return a + b\n"),
    "replaces bodies before they run": BODIES
    + BROKEN.replace("return a + b\n", "return _replace() or a + b\n", 1),
    "reads what is expected": OPERAND + _multiply("_wanted()"),
    "is equal to everything": EVERYTHING + _multiply("Everything()"),
    "lets no test raise": RUNTEST + BROKEN,
}


GRADINGS = 8


def _is_no_gain(graded: Graded) -> bool:
    return graded.verdict.status is Status.TAMPERED or passed(graded) <= BROKEN_PASSES


@pytest.mark.parametrize("name", FORGERS)
async def test_a_forger_gains_nothing_or_is_found_out(trial: Trial, name: str) -> None:
    """Forged tests pass with false expectations as well, so they do not count, and several are tampering."""
    # What is falsified is drawn by a secret seed, so a forger may be lucky now and then, but not every time.
    graded = await trial.grade({"calc/__init__.py": FORGERS[name]})
    for _ in range(GRADINGS - 1):
        if not _is_no_gain(graded):
            graded = await trial.grade({"calc/__init__.py": FORGERS[name]})
    assert _is_no_gain(graded), graded.verdict
    if graded.verdict.status is Status.TAMPERED:
        assert graded.verdict.score is None
        assert graded.verdict.reasons


async def test_what_was_forged_is_shown(trial: Trial) -> None:
    """The evidence is in the verdict, in the list of tests and in the log."""
    graded = await trial.grade({"calc/__init__.py": FORGERS["forges memorised names"]})
    told = {test.id: test.message for test in graded.tests if "false expectations" in test.message}

    assert graded.verdict.status is Status.TAMPERED
    assert graded.verdict.facts["passed_with_false_expectations"] == 2
    assert set(told) == {"tests/test_calc.py::test_multiply", "tests/test_more.py::test_large"}
    assert b"tests/test_more.py::test_large" in graded.logs["twin.txt"]


async def test_a_single_test_that_passes_both_ways_does_not_count(trial: Trial) -> None:
    """One such test may be a fault of the library; it loses its point and accuses nobody."""
    code = FORGERS["forges memorised names"].replace("('test_multiply', 'test_large')", "('test_large',)")
    graded = await trial.grade({"calc/__init__.py": code})

    assert graded.verdict.status is Status.GRADED
    assert passed(graded) == BROKEN_PASSES
    assert graded.verdict.facts["passed_with_false_expectations"] == 1


async def test_an_equality_that_always_holds_is_a_fault_and_no_forgery(trial: Trial) -> None:
    """It shows what an object made to please every comparison shows: it gains nothing, and is graded."""
    graded = await trial.grade({"calc/__init__.py": FORGERS["is equal to everything"]})

    assert graded.verdict.status is Status.GRADED
    assert passed(graded) <= BROKEN_PASSES
    assert graded.verdict.reasons[0].message.startswith(WITHHELD)
    assert graded.verdict.facts["passed_with_false_expectations"] == 2
    assert "with false expectations" in str(graded.verdict.facts["signs"])
