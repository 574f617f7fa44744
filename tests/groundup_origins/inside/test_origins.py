"""The line that made a wrong value is found by running the lost test again, which changes nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from groundup.grading.library.report import RunnerReport
from groundup_origins.inside import origins, source_of
from groundup_origins.inside.origins import ChildClock, LostItem, chosen
from tests.inside.test_runner import run_told

LIBRARY = """
import collections
import os

class Shelf:
    def __init__(self):
        self.titles = []

    def add(self, title):
        self.titles.append(clean(title))

    def __len__(self):
        return count(self.titles) + 1

    def label(self):
        return "; ".join(self.titles)

def count(things):
    return len(things)

def clean(text):
    return trimmed(text).upper()

def trimmed(text):
    return text.strip()

def is_open(day):
    return checked(day)

def checked(day):
    return day == "monday"

def nested(n):
    return {"pages": [{"number": numbered(n)}], "n": n}

def numbered(n):
    return 1000 + n

def open_days(days):
    return [day for day in days if not is_open(day)]

def counts(words):
    found = collections.defaultdict(int)
    for word in words:
        found[word] += 2
    return found

def initial(name):
    name = name[:2]
    return name

def due(start, days):
    due = start + 100 * days
    return max(due, 0)

def wide(n):
    return (
        7100
        + n
    )

def refused(day):
    return checked_name(day)

def checked_name(day):
    if not day:
        return None
    raise ValueError(day)

def opened(day):
    if day != "monday":
        raise LookupError(day)

def reopened(day):
    try:
        return opened(day)
    except LookupError as problem:
        raise ValueError(day) from problem

def asked(ask):
    return ask()

def lines(n):
    for number in range(n):
        yield "line-%d" % (number * 2)

def hostile():
    if os.path.exists("second"):
        os._exit(0)
    open("second", "w").close()
    return 77
"""
TESTS = """
import pytest
import unittest
import lib

def test_text():
    shelf = lib.Shelf()
    shelf.add(" a title ")
    assert shelf.label() == "A Title"

def test_small_number():
    shelf = lib.Shelf()
    shelf.add("b")
    assert len(shelf) == 1

def test_truth():
    assert lib.is_open("sunday")

def test_part():
    assert lib.nested(5) == {"pages": [{"number": 5}], "n": 5}

def test_generator():
    assert list(lib.lines(3)) == ["line-0", "line-1", "line-2"]

def test_length():
    assert len(lib.open_days(["monday", "sunday", "tuesday"])) == 1

def test_default_dict():
    assert lib.counts("aab") == {"a": 2, "b": 1}

def test_short_text():
    assert lib.initial("boat") == "b"

def test_variable():
    assert lib.due(7, 3) == 37

def test_no_error():
    lib.count([1])
    with pytest.raises(ValueError):
        lib.refused("")

def test_raised():
    lib.reopened("sunday")

def test_raised_by_the_test():
    lib.asked(lambda: 1 / 0)

def test_wide():
    assert lib.wide(3) == 3

def test_own_value():
    assert "abc" == "abd"

class TestOld(unittest.TestCase):
    def test_text(self):
        self.assertEqual(lib.clean("Wide boat"), "Wide boat")

def test_passes():
    assert lib.count([1]) == 1
"""


def with_origins(tree: Path, library: str = LIBRARY, tests: str = TESTS, until_s: float = 60.0) -> RunnerReport:
    beside = tree.with_name(f"{tree.name}-beside")
    beside.mkdir()
    for name in ("listener.py", "values.py", "origins.py"):
        (beside / name).write_bytes(source_of(name))
    listener = {"program": str(beside / "listener.py"), "until_s": until_s, "helpers": [], "tried": []}
    return run_told(tree, library, tests, listener=listener)


def _told(report: RunnerReport, tree: Path) -> dict[str, str]:
    return {
        str(test).rpartition("::")[2] + ("_old" if "TestOld" in str(test) else ""): one.probably.replace(
            f"{tree}/", ""
        ).partition(": ")[2]
        for test, one in report.results.items()
        if one.probably
    }


def test_each_wrong_value_leads_to_the_line_that_made_it(tmp_path: Path) -> None:
    """Texts, numbers, truth values, parts of containers, lengths, generators, and what returned but should raise.

    So does an exception, to the first of a chain. Nothing where a test has the value itself.
    """
    assert _told(with_origins(tmp_path), tmp_path) == {
        "test_text": "return trimmed(text).upper()",
        "test_small_number": "return count(self.titles) + 1",
        "test_truth": 'return day == "monday"',
        "test_part": "return 1000 + n",
        "test_length": "return [day for day in days if not is_open(day)]",
        "test_default_dict": "found[word] += 2",
        "test_short_text": "name = name[:2]",
        "test_variable": "due = start + 100 * days",
        "test_wide": "return ( 7100 + n )",
        "test_no_error": "return checked_name(day)",
        "test_raised": "raise LookupError(day)",
        "test_generator": 'yield "line-%d" % (number * 2)',
        "test_text_old": "return trimmed(text).upper()",
    }


def test_results_are_the_same_with_and_without(tmp_path: Path) -> None:
    """Nothing of the second run is reported but places: no outcome, no second result, no line of another."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with_them, without = with_origins(tmp_path / "a"), with_origins(tmp_path / "b", until_s=0)
    assert _told(without, tmp_path / "b") == {}
    outcomes = [{str(test): one.outcome for test, one in run.results.items()} for run in (with_them, without)]
    assert outcomes[0] == outcomes[1]
    for run in (with_them, without):
        assert (run.exit_code, run.repeated, run.foreign) == (1, 0, 0)
        assert run.observed is not None
        assert (run.observed.changed, run.observed.frames) == ((), ())


def test_a_library_that_ends_the_second_run_costs_only_its_places(tmp_path: Path) -> None:
    """The child that runs tests again may end or hang; the report is whole all the same."""
    tests = "import lib\n\ndef test_a():\n    assert lib.hostile() == 78\n\n"
    tests += "def test_b():\n    assert lib.count([]) == 50\n"
    report = with_origins(tmp_path, tests=tests)
    assert report.exit_code == 1
    assert [one.outcome for one in report.results.values()] == ["failed", "failed"]


def test_where_no_process_can_be_made_only_the_places_are_missing(tmp_path: Path) -> None:
    """Neither a refused fork nor a warning that a suite makes an error reaches the end of the session."""
    library = (
        "import os\n\ndef refused():\n    raise BlockingIOError('no process is left')\n\n"
        "def f():\n    os.fork = refused\n    return 77\n"
    )
    tests = "import lib\n\ndef test_a():\n    assert lib.f() == 78\n"
    report = with_origins(tmp_path, library, tests)
    assert (report.exit_code, report.broken_off) == (1, None)
    assert [one.outcome for one in report.results.values()] == ["failed"]


def test_a_second_run_that_hangs_is_ended(tmp_path: Path) -> None:
    """It has a few seconds, and leaves no process."""
    library = (
        "import os, time\n\ndef f():\n    if os.path.exists('second'):\n"
        "        with open('number', 'w') as file:\n            file.write(str(os.getpid()))\n"
        "        time.sleep(600)\n"
        "    with open('second', 'a') as file:\n        file.write('x')\n    return 77\n"
    )
    tests = "import lib\n\ndef test_a():\n    assert lib.f() == 78\n"
    report = with_origins(tmp_path, library, tests)
    assert report.exit_code == 1
    assert not Path("/proc", (tmp_path / "number").read_text()).exists()


CONFTEST = '''
import importlib.util, sys

spec = importlib.util.spec_from_file_location("origins", "origins.py")
origins = importlib.util.module_from_spec(spec)
spec.loader.exec_module(origins)

class Clock:
    """Each look takes a second."""
    looks = 0
    def now(self):
        self.looks += 1
        return self.looks

class Calls:
    def __init__(self, *given): pass
    def origin(self): return None

class Spectrum:
    class LineTracer:
        last = states = {}
        begun = ()
        def __init__(self, *given, **more): pass
        def __call__(self, *event): return None

class Live:
    prepared = 0
    @classmethod
    def renew_loop(cls): cls.prepared += 1

def pytest_sessionfinish(session):
    lost = [origins.LostItem((one.nodeid, 1), one, [], [], "") for one in session.items[:2]]
    passed = [origins.PassedItem((one.nodeid, 1), one, 0.01) for one in session.items[2:4]]
    ran = origins.SecondRun(Calls, lost, passed, ["/nowhere"], [], [Spectrum, Live, None])
    again = [*origins._followed(ran, Clock(), 0), *origins._passing(ran, Clock(), 1.5)]
    print("\\nagain", len(again), "of", Live.prepared, "still up", len(session._setupstate.stack))
'''


def test_when_the_time_ends_between_two_tests_nothing_of_them_stays_set_up(tmp_path: Path) -> None:
    """The trials that follow run tests of other files; pytest fails them beside what is still set up."""
    (tmp_path / "origins.py").write_bytes(source_of("origins.py"))
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_lost.py").write_text("def test_a():\n    assert 0\n\ndef test_b():\n    assert 0\n")
    (tmp_path / "test_passed.py").write_text("def test_c():\n    pass\n\ndef test_d():\n    pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-s"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "again 2 of 2 still up 0" in done.stdout, done.stdout + done.stderr


def test_slow_tests_run_again_where_no_short_one_passed() -> None:
    """The few that are named most like a lost one: each takes from the time that is left for changes."""
    names = ("test_a.py::test_read_post", "test_a.py::test_update_post_twice", "test_b.py::test_update_user",
             "test_a.py::test_update_post", "test_c.py::test_login", "test_c.py::test_logout")  # fmt: skip
    passed = {(name, 1): name for name in names}
    lost = {key: LostItem(key, None, [], [], "") for key in [("test_a.py::test_update_post_unauthorized", 1)]}
    slow = dict.fromkeys(passed, 0.6)
    _, beside = chosen(lost, passed, slow)
    assert {one.key[0] for one in beside} == {*names[:4]}
    _, beside = chosen(lost, passed, {**slow, **dict.fromkeys([*passed][2:], 0.01)})
    assert {one.key[0] for one in beside} == {*names[2:]}


def test_what_is_lost_before_it_begins_runs_again_last() -> None:
    """A network that is not here takes time on each try, and few lines of the submission run before it."""
    lost = {
        key: LostItem(key, None, [], [], "") for key in [("test_a.py::test_fetch", 1), ("test_a.py::test_b", 1)]
    }
    lost["test_a.py::test_fetch", 1].never_began = True
    again, _ = chosen(lost, {}, dict.fromkeys(lost, 0.1))
    assert [one.key[0] for one in again] == ["test_a.py::test_b", "test_a.py::test_fetch"]


def test_the_clock_goes_on_in_a_process_that_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its parent waited for a processor stays left out, or time is over there on a busy machine."""
    waited = {"self": 40.0, "7": 2.0}
    monkeypatch.setattr(origins, "waited_s", waited.__getitem__)
    clock = ChildClock()
    began = clock.now()
    waited["self"] = 0.0
    clock.fork()
    assert clock.now() == pytest.approx(began, abs=5)
    clock.excuse(7)
    assert clock.now() == pytest.approx(began - 2, abs=5)
