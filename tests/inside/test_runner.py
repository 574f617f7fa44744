"""The trusted runner, run by the interpreter that runs these tests, outside of any sandbox."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import RunnerReport, parse_report
from groundup.inside import failing, source_of

TOKEN = "0123456789abcdef" * 2
RUNNER = Path(failing.__file__).with_name("runner.py")


def _run(
    tree: Path,
    files: dict[str, str],
    extra: Sequence[str] = (),
    later: Any = None,
    **changes: object,
) -> tuple[RunnerReport, int]:
    """Write *files* and run the hidden tests among them; return the report and the exit code.

    *later*: returns what is said a second after all else.
    """
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    ini = tree / "trusted.ini"
    ini.write_text("[pytest]\n")
    reading, writing = os.pipe()
    spec = {
        "report_fd": writing,
        "token": TOKEN,
        "arguments": [
            "-c",
            str(ini),
            f"--rootdir={tree}",
            "-p",
            "no:cacheprovider",
            "-q",
            *extra,
            str(tree / "tests"),
        ],
        "plugins": [],
        "own_plugins": [],
        "late_filters": [],
        "packages": ["calc"],
        "import_path": [str(tree)],
        "path_order": "last",
        "folders": [],
        "cwd": str(tree),
        "stdin": "empty",
        "environment": {},
        "chosen": None,
        "failing": [],
        "failing_plugin": str(Path(failing.__file__)),
        "left_out_tests": [],
        "left_out_files": [],
        **changes,
    }
    with os.fdopen(reading, "rb") as pipe:
        process = subprocess.Popen(
            [sys.executable, "-s", "-B", str(RUNNER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(writing,),
            env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )
        os.close(writing)
        assert process.stdin is not None
        process.stdin.write(json.dumps(spec).encode() + b"\n")
        if later is not None:
            process.stdin.flush()
            time.sleep(1)
            process.stdin.write(json.dumps(later()).encode())
        process.stdin.close()
        data = pipe.read()
        return parse_report(data, TOKEN), process.wait()


def run_told(tree: Path, library: str, tests: str, *modules: str, **changes: object) -> RunnerReport:
    """Run *tests* of *library*, with `demands` and trusted *modules* that tell more of what was lost."""
    trusted = tree / "trusted"
    trusted.mkdir()
    told = {}
    for name in ("demands", *modules):
        place = trusted / f"{name}.py"
        place.write_bytes(source_of(place.name))
        told[name] = str(place)
    report, _ = _run(
        tree,
        {"lib.py": library, "tests/test_a.py": tests},
        (),
        packages=["lib"],
        trusted=[str(tree / "tests")],
        **told,
        **changes,
    )
    return report


def _outcomes(report: RunnerReport) -> dict[str, str]:
    return {str(test): said.outcome for test, said in report.results.items()}


def test_every_kind_of_outcome_is_reported(tmp_path: Path) -> None:
    """Each test is reported once, whatever its phases did."""
    tests = """
import pytest

def test_passes(): pass
def test_fails(): assert 1 == 2
def test_skips(): pytest.skip("no display")
@pytest.mark.xfail
def test_fails_as_expected(): assert False
@pytest.mark.xfail
def test_passes_against_expectation(): pass
@pytest.fixture
def broken(): raise OSError("disk on fire")
def test_setup_breaks(broken): pass
@pytest.fixture
def late():
    yield
    raise OSError("too late")
def test_teardown_breaks(late): pass
"""
    report, code = _run(tmp_path, {"calc.py": "", "tests/test_a.py": tests})

    assert {name.partition("::")[2]: outcome for name, outcome in _outcomes(report).items()} == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_skips": "skipped",
        "test_fails_as_expected": "xfailed",
        "test_passes_against_expectation": "xpassed",
        "test_setup_breaks": "error",
        "test_teardown_breaks": "error",
    }
    messages = {test.id.partition("::")[2]: said.message for test, said in report.results.items()}
    assert "disk on fire" in messages["test_setup_breaks"]
    assert "no display" in messages["test_skips"]
    assert (report.exit_code, report.collected, code) == (1, 7, 0)


def test_tests_that_share_an_id_are_numbered(tmp_path: Path) -> None:
    """Two items with one id are two results."""
    conftest = """
import pytest

class Twin(pytest.Item):
    def runtest(self):
        assert self.user_properties is not None

def pytest_collection_modifyitems(session, items):
    items += [Twin.from_parent(session, name="twin", nodeid="tests/twin") for _ in range(2)]
"""
    files = {"calc.py": "", "tests/conftest.py": conftest, "tests/test_a.py": "def test_x(): pass\n"}
    report, _ = _run(tmp_path, files)

    assert _outcomes(report) == {
        "tests/test_a.py::test_x": "passed",
        "tests/twin": "passed",
        "tests/twin #2": "passed",
    }


def test_a_name_that_is_shortened_shows_its_parameters_where_it_failed(tmp_path: Path) -> None:
    """Which of a hundred long cases was lost can be read; a whole name is not repeated."""
    case = "x" * 300 + "END"
    marked = f"import pytest\n\n@pytest.mark.parametrize('n', [2, 3], ids=[{case!r}, 'short'])\n"
    tests = f"{marked}def test_x(n):\n    assert n == 1\n"
    report, _ = _run(tmp_path, {"calc.py": "", "tests/test_a.py": tests})
    long, short = (said.detail.splitlines() for said in report.results.values())
    (name, _) = (test.id for test in report.results)
    kept, _, _ = name.partition("...")
    rest = long[0].removeprefix("the name goes on: ")
    assert kept + rest == f"tests/test_a.py::test_x[{case}]"
    assert (long[1], short[0]) == ("n = 2", "n = 3")


def test_a_file_that_cannot_be_collected_is_reported(tmp_path: Path) -> None:
    """The message names the error, not the frames above it."""
    tests = "from calc import nothing\n\ndef test_x(): pass\n"
    report, _ = _run(tmp_path, {"calc.py": "", "tests/test_a.py": tests})

    (message,) = report.collection_errors.values()
    assert "cannot import name 'nothing'" in message


@pytest.mark.parametrize("style", ["short", "native"])
def test_a_broken_import_is_reported_with_its_file_and_line(style: str, tmp_path: Path) -> None:
    """Also where a test comes to it by way of other files; the message has no sign of pytest's before it."""
    files = {"calc.py": "import deep\n", "deep.py": "\n\nimport nowhere\n", "tests/test_a.py": "import calc\n"}
    arguments = ["--rootdir", str(tmp_path), "-p", "no:cacheprovider", f"--tb={style}", str(tmp_path / "tests")]
    report, _ = _run(tmp_path, files, arguments=arguments)

    (message,) = report.collection_errors.values()
    assert message.startswith("ModuleNotFoundError: No module named 'nowhere' (")
    assert message.endswith("deep.py, line 3)")
    assert (
        report.imports["calc"].error
        == f"ModuleNotFoundError: No module named 'nowhere' ({tmp_path}/deep.py, line 3)"
    )


@pytest.mark.parametrize("style", ["short", "native"])
def test_a_syntax_error_is_reported_with_its_file_and_line(style: str, tmp_path: Path) -> None:
    """Who wrote the submission learns where it is broken, also when a test imports it by way of other files."""
    files = {"calc.py": "import deep\n", "deep.py": "\ndef broken(:\n", "tests/test_a.py": "import calc\n"}
    arguments = ["--rootdir", str(tmp_path), "-p", "no:cacheprovider", f"--tb={style}", str(tmp_path / "tests")]
    report, _ = _run(tmp_path, files, arguments=arguments)

    (message,) = report.collection_errors.values()
    assert "SyntaxError" in message
    assert "deep.py" in message
    assert "line 2" in message


def test_a_traceback_in_pythons_form_begins_at_the_test(tmp_path: Path) -> None:
    """Where readable ones took too long, frames of pytest would hide the only one that says something."""
    files = {"calc.py": "", "tests/test_a.py": "def test_x():\n    value = 1\n    assert value == 2\n"}
    arguments = ["--rootdir", str(tmp_path), "-p", "no:cacheprovider", "--tb=native", str(tmp_path / "tests")]
    report, _ = _run(tmp_path, files, arguments=arguments)

    (said,) = report.results.values()
    first, place, statement, *_ = said.detail.splitlines()
    assert (first, statement.strip()) == ("Traceback (most recent call last):", "assert value == 2")
    assert place.endswith('test_a.py", line 3, in test_x')


def test_the_place_of_the_package_is_reported(tmp_path: Path) -> None:
    """The parent can see what was tested; a package that no test imported is imported for that."""
    report, _ = _run(tmp_path, {"calc/__init__.py": "", "tests/test_a.py": "def test_x(): pass\n"})

    assert report.imports["calc"].file == str(tmp_path / "calc/__init__.py")


def test_a_folder_is_not_a_package(tmp_path: Path) -> None:
    """Where the hidden tests lie inside the package, their folder alone does not look like the submission."""
    files = {
        "calc/tests/test_a.py": "def test_x(): pass\n",
        "tests/test_a.py": "import calc\n\ndef test_x(): pass\n",
    }
    report, _ = _run(tmp_path, files)

    assert report.imports["calc"].file is None
    assert report.imports["calc"].error is None


@pytest.mark.parametrize("statement", ["raise SystemExit(0)", "raise KeyboardInterrupt", "1/0", "import nowhere"])
def test_a_package_that_cannot_be_imported_is_reported(tmp_path: Path, statement: str) -> None:
    """Whatever the submission raises while it is imported, the runner lives to tell it."""
    files = {"calc.py": statement + "\n", "tests/test_a.py": "def test_x(): pass\n"}
    report, code = _run(tmp_path, files)

    assert report.imports["calc"].error
    assert _outcomes(report) == {"tests/test_a.py::test_x": "passed"}
    assert code == 0


def test_leaving_while_tests_are_collected_is_reported(tmp_path: Path) -> None:
    """A module that raises SystemExit in collection breaks the session off; no end record calls it complete."""
    report, code = _run(tmp_path, {"calc.py": "raise SystemExit(0)\n", "tests/test_a.py": "import calc\n"})

    # Versions of pytest differ: some let it pass, some call it an interruption, some an internal error.
    assert (report.exit_code, code) in ((None, 70), (2, 0), (3, 0))
    assert "SystemExit" in (report.broken_off or "") + (report.imports["calc"].error or "")


def test_plugins_are_imported_before_the_submission_can_be_found(tmp_path: Path) -> None:
    """A module of the submission with a plugin's name is never the plugin."""
    plugin = tmp_path / "submission/pytest_timeout.py"
    files = {
        "submission/calc.py": "",
        "submission/pytest_timeout.py": "raise RuntimeError('imported from the submission')\n",
        "tests/test_a.py": "import pytest_timeout\n\ndef test_x(): assert pytest_timeout.__file__ != "
        + repr(str(plugin)),
    }
    report, _ = _run(tmp_path, files, plugins=["pytest_timeout"], import_path=[str(tmp_path / "submission")])

    assert _outcomes(report) == {"tests/test_a.py::test_x": "passed"}


def test_the_environment_stands_before_the_submission(tmp_path: Path) -> None:
    """A module that both have is the environment's, unless the recipe says otherwise."""
    files = {
        "sub/calc.py": "",
        "sub/pluggy.py": "mine = True\n",
        "tests/test_a.py": "def test_x():\n    import calc\n",
    }
    tests = files["tests/test_a.py"] + "    import importlib, sys\n    del sys.modules['pluggy']\n"
    look = tests + "    assert hasattr(importlib.import_module('pluggy'), 'mine') is "
    roots = [str(tmp_path / "sub")]
    last, _ = _run(tmp_path, {**files, "tests/test_a.py": look + "False\n"}, import_path=roots)
    first, _ = _run(tmp_path, {**files, "tests/test_a.py": look + "True\n"}, import_path=roots, path_order="first")

    assert _outcomes(last) == _outcomes(first) == {"tests/test_a.py::test_x": "passed"}


def test_late_filters_may_name_classes_of_the_submission(tmp_path: Path) -> None:
    """A warning filter with a class of the library works. One without it loses no other test, and is told so."""
    library = "class Noise(UserWarning): pass\n"
    tests = """
import warnings

def test_x():
    import calc
    warnings.warn(calc.Noise('x'))

def test_y(): pass
"""
    filters = ["error::calc.Noise"]
    heard, _ = _run(tmp_path, {"calc.py": library, "tests/test_a.py": tests}, late_filters=filters)
    lacking, _ = _run(tmp_path, {"calc.py": "", "tests/test_a.py": tests}, late_filters=filters)

    assert _outcomes(heard) == {"tests/test_a.py::test_x": "failed", "tests/test_a.py::test_y": "passed"}
    assert _outcomes(lacking)["tests/test_a.py::test_y"] == "passed"
    assert (heard.filters_left_out, lacking.filters_left_out) == ((), ("error::calc.Noise",))


def test_a_forked_child_tells_nothing(tmp_path: Path) -> None:
    """A test whose forked child runs on into pytest does not report the rest twice."""
    tests = """
import os

def test_x():
    child = os.fork()
    if child:
        os.waitpid(child, 0)

def test_y(): pass
"""
    report, _ = _run(tmp_path, {"calc.py": "", "tests/test_a.py": tests})

    assert _outcomes(report) == {"tests/test_a.py::test_x": "passed", "tests/test_a.py::test_y": "passed"}
    assert report.foreign == 0


def test_nothing_of_the_submission_runs_at_the_end(tmp_path: Path) -> None:
    """What it registered for the interpreter's end is not called, and a hanging thread does not hold the run."""
    library = """
import atexit, pathlib, threading
atexit.register(lambda: pathlib.Path(__file__).with_name("late").touch())
threading.Thread(target=threading.Event().wait).start()
"""
    files = {"calc.py": library, "tests/test_a.py": "import calc\n\ndef test_x(): pass\n"}
    report, code = _run(tmp_path, files)

    assert (report.exit_code, code) == (0, 0)
    assert not (tmp_path / "late").exists()


def test_the_report_is_not_at_its_first_number(tmp_path: Path) -> None:
    """Writing to the descriptors that a program usually has reaches nothing."""
    tests = """
import os

def test_x():
    for number in range(3, 40):
        try:
            os.write(number, b"x")
        except OSError:
            continue
        print(number)
"""
    report, _ = _run(tmp_path, {"calc.py": "", "tests/test_a.py": tests})

    assert report.foreign == 0
    assert report.exit_code == 0


def test_what_is_to_be_left_out_is_not_run(tmp_path: Path) -> None:
    """Single tests are named by id and ordinal, files by path; all others run."""
    tests = "def test_x(): pass\ndef test_y(): pass\n"
    node = "tests/test_a.py::test_x"
    report, _ = _run(
        tmp_path,
        {"calc.py": "", "tests/test_a.py": tests, "tests/test_b.py": tests},
        left_out_tests=[(node, 1)],
        left_out_files=["tests/test_b.py"],
    )

    assert [key.id for key in report.results] == ["tests/test_a.py::test_y"]
    assert report.exit_code == 0


def test_a_plugin_under_test_is_loaded_with_its_options(tmp_path: Path) -> None:
    """The submission's own plugin takes part from before the first conftest, and its options are known."""
    plugin = """
import pytest

def pytest_addoption(parser): parser.addini("greeting", "what to say", default="hello")

@pytest.fixture
def greeting(request): return request.config.getini("greeting")
"""
    files = {
        "calc/__init__.py": "",
        "calc/plugin.py": plugin,
        "tests/test_a.py": "def test_greets(greeting): assert greeting == 'hello'\n",
    }
    report, _ = _run(tmp_path, files, own_plugins=["calc.plugin"])

    assert _outcomes(report) == {"tests/test_a.py::test_greets": "passed"}


def test_a_plugin_under_test_that_does_not_import_costs_its_tests(tmp_path: Path) -> None:
    """A submission without the plugin loses what needs it; the run still comes to its end."""
    files = {
        "calc/__init__.py": "",
        "calc/plugin.py": "raise SystemExit(3)\n",
        "tests/test_a.py": "def test_greets(greeting): pass\ndef test_other(): pass\n",
    }
    report, code = _run(tmp_path, files, own_plugins=["calc.plugin", "absent"])

    assert _outcomes(report) == {"tests/test_a.py::test_greets": "error", "tests/test_a.py::test_other": "passed"}
    assert code == 0


def test_long_values_are_not_compared_line_by_line(tmp_path: Path) -> None:
    """What differs in 1,500 numbers would take difflib minutes, and with false expectations each test fails."""
    tests = """
import unittest
class Test(unittest.TestCase):
    def words(self, length):
        with self.assertRaises(AssertionError) as caught:
            self.assertEqual(list(range(length)), list(range(1, length + 1)))
        return str(caught.exception)
    def test_long(self):
        assert "too long to compare" in self.words(1500)
    def test_short(self):
        assert "+ [1, 2, 3]" in self.words(3)
"""
    report, _ = _run(tmp_path, {"calc.py": "", "tests/test_it.py": tests})

    assert [said.outcome for said in report.results.values()] == ["passed", "passed"]


def test_a_test_that_takes_too_long_fails_alone(tmp_path: Path) -> None:
    """A test that waits for ever in any of its phases costs no other its turn, and may set an alarm itself."""
    tests = """
import asyncio, signal, pytest

def test_waits():
    asyncio.run(asyncio.Event().wait())

@pytest.fixture
def slow():
    yield
    signal.pause()

def test_waits_at_its_end(slow): pass

def test_passes():
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.alarm(1)
    signal.pause()
"""
    report, code = _run(tmp_path, {"calc.py": "", "tests/test_calc.py": tests}, one_test_s=2)

    assert code == 0
    assert report.exit_code == 1
    assert _outcomes(report) == {
        "tests/test_calc.py::test_waits": "failed",
        "tests/test_calc.py::test_waits_at_its_end": "error",
        "tests/test_calc.py::test_passes": "passed",
    }
    assert {said.message for said in report.results.values()} == {"Failed: it took longer than 2 s", ""}


def test_every_test_can_be_made_to_fail_as_it_returns(tmp_path: Path) -> None:
    """Functions, methods, coroutines and decorated tests fail; what their text is not asked for may pass."""
    tests = """
import functools
import unittest
from unittest import mock

import calc
import pytest

def wrapped(test):
    @functools.wraps(test)
    def inner(*given): return test(*given)
    return inner

def helper(): return 1

def test_function(): assert helper() == 1
def test_early():
    if calc.add:
        return
    assert 0
@pytest.mark.parametrize("number", [1, 2])
def test_cases(number): assert number
@wrapped
def test_decorated(): assert 1
@mock.patch("calc.add")
def test_patched(add): assert calc.add is add
def test_raises():
    with pytest.raises(ZeroDivisionError):
        1 / 0
def test_raises_assertion():
    with pytest.raises(AssertionError):
        assert 0
class TestMethods:
    def test_method(self): assert 1
class Cases(unittest.TestCase):
    def test_case(self): self.assertEqual(1, 1)
@calc.forged
def test_forged(): assert 0
def test_spared(): assert 1
"""
    names = ["test_function", "test_early", "test_cases[1]", "test_cases[2]", "test_decorated", "test_patched"]
    names += [
        "test_raises",
        "test_raises_assertion",
        "TestMethods::test_method",
        "Cases::test_case",
        "test_forged",
    ]
    library = "def add(a, b): return a + b\n\ndef forged(test): return lambda: None\n"
    trusted = [str(tmp_path / "tests")]
    report, _ = _run(
        tmp_path,
        {"calc.py": library, "tests/test_a.py": tests},
        failing=[(f"tests/test_a.py::{name}", 1) for name in names],
        trusted=trusted,
    )

    assert len(report.results) == 12
    assert {key.id for key, said in report.results.items() if said.outcome == "passed"} == {
        "tests/test_a.py::test_forged",
        "tests/test_a.py::test_spared",
    }


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_test_that_fails_leaves_nothing_for_those_after_it(tmp_path: Path, is_lost: bool) -> None:
    """What it made, moved, wrote and linked in a writable folder is put back; not where it was lost before."""
    tests = """
import os
import pathlib
import unittest

import pytest

ROOM = pathlib.Path(__file__).parent / "room"

@pytest.fixture(scope="module")
def made():
    (ROOM / "made").mkdir()
    yield ROOM / "made"
    (ROOM / "made").rmdir()

def test_moves(made):
    (ROOM / "kept.txt").rename(ROOM / "moved.txt")
    (ROOM / "again.txt").write_text("other")
    (ROOM / "folder").mkdir()
    (ROOM / "folder" / "link").symlink_to("nowhere")
    (ROOM / "link").unlink()
    os.chmod(ROOM / "folder", 0o500)
    assert 1 == 2

class Cases(unittest.TestCase):
    def test_case(self):
        (ROOM / "case.txt").touch()
        self.assertEqual(1, 2)

def test_makes():
    (ROOM / "passed.txt").touch()

def test_sees(made):
    assert made.is_dir()
    assert (ROOM / "kept.txt").read_text() == "kept"
    assert (ROOM / "again.txt").read_text() == "again"
    assert os.readlink(ROOM / "link") == "kept.txt"
    assert sorted(os.listdir(ROOM)) == ["again.txt", "kept.txt", "link", "made", "passed.txt"]
"""
    room = tmp_path / "tests" / "room"
    room.mkdir(parents=True)
    (room / "link").symlink_to("kept.txt")
    files = {"calc.py": "", "tests/room/kept.txt": "kept", "tests/room/again.txt": "again"}
    lost = ["tests/test_a.py::test_moves", "tests/test_a.py::Cases::test_case"]
    report, _ = _run(
        tmp_path,
        {**files, "tests/test_a.py": tests},
        undone=[str(tmp_path / "tests")],
        undoing_plugin=str(RUNNER.with_name("undoing.py")),
        failed_before=lost if is_lost else [],
    )

    assert list(_outcomes(report).values()) == ["failed", "failed", "passed", "failed" if is_lost else "passed"]


def test_chosen_tests_run_alone_in_their_order(tmp_path: Path) -> None:
    """A check runs a sample; in reverse order it shows which tests lean on others."""
    files = {"calc.py": "", "tests/test_a.py": "".join(f"def test_{name}(): pass\n" for name in "abcd")}
    chosen = [("tests/test_a.py::test_d", 1), ("tests/test_a.py::test_b", 1)]
    report, _ = _run(tmp_path, files, chosen=chosen)

    assert [key.id for key in report.results] == [name for name, _ in chosen]


def test_functions_and_classes_without_a_wanted_test_make_no_items(tmp_path: Path) -> None:
    """The cases of a function that is not wanted are not even generated; those of a class beside it are."""
    tests = """
import pytest, unittest

class Never(list):
    def __iter__(self): raise RuntimeError("asked for cases")

class TestA:
    @pytest.mark.parametrize("x", [1, 2])
    def test_b(self, x): pass

    @pytest.mark.parametrize("x", Never())
    def test_c(self, x): pass

class Case(unittest.TestCase):
    def test_d(self): pass

@pytest.mark.parametrize("x", Never())
def test_e(x): pass
"""
    places = ["tests/test_a.py::TestA", "tests/test_a.py::TestA::test_b", "tests/test_a.py::Case"]
    files = {"calc.py": "", "tests/test_a.py": tests}
    chosen = [("tests/test_a.py::Case::test_d", 1), ("tests/test_a.py::TestA::test_b[2]", 1)]
    all_made, _ = _run(tmp_path, files, chosen=chosen)
    report, _ = _run(tmp_path, files, chosen=chosen, wanted=places)

    assert all_made.collection_errors
    assert not report.collection_errors
    assert [key.id for key in report.results] == [name for name, _ in chosen]


def test_files_without_a_chosen_test_are_not_imported(tmp_path: Path) -> None:
    """The imports of a file may take longer than all tests that a check draws."""
    files = {"calc.py": "", "tests/test_a.py": "raise SystemError\n", "tests/test_b.py": "def test_b(): pass\n"}
    report, _ = _run(tmp_path, files, chosen=[("tests/test_b.py::test_b", 1)], chosen_files=["tests/test_b.py"])

    assert not report.collection_errors
    assert _outcomes(report) == {"tests/test_b.py::test_b": "passed"}


def test_what_is_to_run_may_be_said_when_pytest_is_ready(tmp_path: Path) -> None:
    """Until then nothing of the submission is imported, not even a conftest of the tests."""
    seen = "import os\nos.environ['READ'] = open('said.txt').read()\n"
    tests = "import os\ndef test_a(): assert 0\ndef test_b(): assert os.environ['READ'] == 'said'\n"
    files = {"calc.py": "", "tests/conftest.py": seen, "tests/test_a.py": tests, "said.txt": "not yet"}

    def second() -> dict[str, object]:
        (tmp_path / "said.txt").write_text("said")
        return {"chosen": [("tests/test_a.py::test_b", 1)]}

    report, code = _run(tmp_path, files, later=second)

    assert (_outcomes(report), code) == ({"tests/test_a.py::test_b": "passed"}, 0)
    assert report.python


def test_a_chosen_test_with_a_long_id_is_known_by_its_short_one(tmp_path: Path) -> None:
    """The parent keeps no ids of any length."""
    name = f"test_{'x' * 300}"
    test = f"def {name}(): pass\ndef test_b(): pass\n"
    key = NumberedTest.of(f"tests/test_a.py::{name}")
    report, _ = _run(tmp_path, {"calc.py": "", "tests/test_a.py": test}, chosen=[key])

    assert list(report.results) == [key]


def test_a_failure_comes_with_its_traceback(tmp_path: Path) -> None:
    """The values of the assertion are in it, and no frame of pytest's or of ours; a long one keeps both ends."""
    tests = "import calc\ndef test_a(): assert calc.add(1, 1) == 3\ndef test_b(): assert calc.long() == ''\n"
    library = "def add(a, b): return a + b\ndef long(): raise ValueError('x' * 9000 + 'end')\n"
    report, _ = _run(tmp_path, {"calc.py": library, "tests/test_a.py": tests})
    first, second = (said.detail for said in report.results.values())

    assert "assert 2 == 3" in first
    assert "_pytest" not in first
    assert "runner.py" not in first
    assert len(second) <= 4000
    assert "... cut ..." in second


def test_calls_within_packages_are_one_line_of_a_traceback(tmp_path: Path) -> None:
    """Sixty lines of a client of HTTP would hide the one of the test; where the error was raised stays."""
    lines = "from urllib.request import urlopen\ndef test_asks():\n    urlopen('http://127.0.0.1:1/', timeout=5)\n"
    arguments = ["--rootdir", str(tmp_path), "-p", "no:cacheprovider", "--tb=short", str(tmp_path / "tests")]
    report, _ = _run(tmp_path, {"calc.py": "", "tests/test_calc.py": lines}, arguments=arguments)

    detail = report.results[NumberedTest("tests/test_calc.py::test_asks")].detail
    assert "tests/test_calc.py:3: in test_asks" in detail
    assert re.search(r"^\.\.\. \d+ calls within urllib \.\.\.$", detail, re.MULTILINE)
    assert detail.count("urllib/request.py") == 1
    assert "urllib.error.URLError" in detail


def test_variables_for_python_are_the_tests_own(tmp_path: Path) -> None:
    """The variables for Python that a recipe sets are those of tests and what they start, not the runner's."""
    tests = (
        "import os, subprocess, sys\n"
        "def test_a(): assert os.environ['PYTHONPATH'] == '/somewhere'\n"
        "def test_b(): assert '/somewhere' not in sys.path\n"
        "def test_c(): assert sys.flags.no_user_site\n"
    )
    report, _ = _run(tmp_path, {"calc.py": "", "tests/test_a.py": tests}, environment={"PYTHONPATH": "/somewhere"})

    assert {said.outcome for said in report.results.values()} == {"passed"}


def test_long_texts_that_differ_do_not_hold_the_run_up(tmp_path: Path) -> None:
    """pytest would compare 2,000 lines that differ with each other for minutes."""
    tests = (
        "import calc\n"
        "def test_long(): assert calc.lines(2000, 'a') == calc.lines(2000, 'b')\n"
        "def test_short(): assert calc.lines(2, 'a') == calc.lines(2, 'b')\n"
    )
    library = "def lines(number, word): return '\\n'.join(f'{word * 9}{n * 7919}' for n in range(number))\n"
    report, _ = _run(tmp_path, {"calc.py": library, "tests/test_a.py": tests}, arguments=_arguments(tmp_path))
    long, short = (said.detail for said in report.results.values())

    assert "too long to compare" in long or "truncated" in long, "newer versions of pytest cut it themselves"
    assert "+ aaaaaaaaa7919" in short or "- bbbbbbbbb7919" in short


def test_many_failures_in_a_large_file_are_told_in_time(tmp_path: Path) -> None:
    """pytest reads a whole file for each readable traceback; after a while Python's own have to do."""
    body = "".join(f"def test_{number}():\n    assert {number} == -1\n" for number in range(400))
    tests = body + "".join(f"X{number} = [{', '.join(map(str, range(60)))}]\n" for number in range(1500))
    report, _ = _run(tmp_path, {"calc.py": "", "tests/test_a.py": tests}, arguments=_arguments(tmp_path))
    first, *_, last = (said.detail for said in report.results.values())

    assert len(report.results) == 400
    assert first.startswith("tests/test_a.py:2: in test_0")
    assert "assert 399 == -1" in last
    assert "Traceback" in last


def _arguments(tree: Path) -> list[str]:
    options = ["-c", str(tree / "trusted.ini"), f"--rootdir={tree}", "-p", "no:cacheprovider", "-q", "--tb=short"]
    return [*options, str(tree / "tests")]


def test_rubbish_is_looked_for_while_tests_run(tmp_path: Path) -> None:
    """Tests meet a collector that works; only what was imported before the submission is spared its looks."""
    tests = """
import gc, weakref

def test_gc():
    class Loop: pass
    loop = Loop(); loop.itself = loop; seen = weakref.ref(loop); del loop
    gc.collect()
    assert seen() is None and gc.isenabled() and gc.get_freeze_count() > 1000
"""
    report, _ = _run(tmp_path, {"tests/test_it.py": tests, "calc.py": ""})
    assert _outcomes(report) == {"tests/test_it.py::test_gc": "passed"}


def test_rubbish_of_the_last_test_is_not_looked_for(tmp_path: Path) -> None:
    """It would cost five searches of all objects and, where warnings are errors, the end of the run."""
    tests = """
class Rubbish:
    def __del__(self): raise ValueError

def test_last():
    one = Rubbish()
    one.itself = one
"""
    ini = tmp_path / "errors.ini"
    ini.write_text("[pytest]\nfilterwarnings = error\n")
    arguments = ["-c", str(ini), f"--rootdir={tmp_path}", "-p", "no:cacheprovider", "-q", str(tmp_path / "tests")]
    report, code = _run(tmp_path, {"calc.py": "", "tests/test_a.py": tests}, arguments=arguments)

    assert _outcomes(report) == {"tests/test_a.py::test_last": "passed"}
    assert (report.exit_code, code) == (0, 0)


@pytest.mark.parametrize(
    ("library", "names"),
    [
        ("square = lambda n: n\ndef circle(n): ...\n", ["square", "circle"]),
        ("def square(n): ...\ncircle = square\n", ["square", "circle"]),
        # Of two that are called alike, pytest numbers both.
        ("def circle(n): ...\nsquare = circle\ndef circle(n): ...\n", ["square", "circle"]),
        ("def circle(n): ...\ndef square(n): ...\ncircle, square = square, circle\n", ["circle", "square"]),
    ],
    ids=["lambda", "alias", "twice one name", "exchanged"],
)
def test_cases_are_named_by_their_places_where_these_are_clear(
    tmp_path: Path, library: str, names: list[str]
) -> None:
    """pytest names a case by the submission's own objects; the place in a written table says which case it is."""
    table = "@pytest.mark.parametrize('one', [calc.square, calc.circle])"
    tests = f"import calc, pytest\n{table}\ndef test_it(one): one(1)\n"
    name = "tests/test_a.py::test_it"
    order = {name: [f"{name}[square]", f"{name}[circle]"]}

    report, _ = _run(tmp_path, {"calc.py": library, "tests/test_a.py": tests}, case_order=order)

    assert list(_outcomes(report)) == [f"{name}[{one}]" for one in names]


def test_another_number_of_cases_is_no_place(tmp_path: Path) -> None:
    """A table that is longer or shorter than the original's keeps pytest's names."""
    tests = "import calc, pytest\n@pytest.mark.parametrize('one', calc.ALL)\ndef test_it(one): one(1)\n"
    name = "tests/test_a.py::test_it"
    files = {"calc.py": "ALL = [lambda n: n] * 3\n", "tests/test_a.py": tests}

    report, _ = _run(tmp_path, files, case_order={name: [f"{name}[square]", f"{name}[circle]"]})

    assert not {f"{name}[square]", f"{name}[circle]"} & {*_outcomes(report)}
