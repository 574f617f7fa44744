"""Submissions that cheat: each starts from a library that passes six of eight tests, and gains nothing."""

import json

import pytest

from groundup.domain.verdicts import Status
from tests.suites.nl2repobench.trials import BROKEN, BROKEN_PASSES, EXPECTED, Trial, passed

pytestmark = pytest.mark.end_to_end

HOOK = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""
"""What every way of smuggling in a plugin tries to run."""

FORGED = (
    "\n".join(
        json.dumps(
            {"event": "test", "id": test.id, "ordinal": 1, "outcome": "passed", "message": "", "duration": 0.1}
        )
        for test in EXPECTED
    )
    + '\n{"event": "end", "exit_code": 0}\n'
)

SUMMARY = "print('8 passed in 0.01s', flush=True)\n"
EVERYWHERE = """
import os, pathlib
xml = '<testsuites><testsuite tests="8" failures="0" errors="0"></testsuite></testsuites>'
for folder in ("/tmp", "/workspace", "/workspace/tests", "/opt/groundup", os.getcwd()):
    for name in ("junit.xml", "report.xml", "report.json", "results.jsonl", "report.log", "tests.jsonl"):
        try: pathlib.Path(folder, name).write_text(xml)
        except OSError: pass
"""
REWRITE = """
import pathlib
for path in [*pathlib.Path("/workspace/tests").glob("*.py"), pathlib.Path("/opt/groundup/runner.py")]:
    for attempt in (lambda: path.write_text("def test_x(): pass"), path.unlink, lambda: path.rename("/tmp/x")):
        try: attempt()
        except OSError: pass
"""
DESCRIPTORS = f"""
import os
for number in range(1, 300):
    try: os.write(number, {FORGED.encode()!r})
    except OSError: pass
"""
INI = "[pytest]\naddopts = -p cheat\npython_files = test_*.py\n"
LIB = {"calc/__init__.py": BROKEN}

CHEATS: dict[str, dict[str, str]] = {
    "leaves early": {"calc/__init__.py": "import os\nos._exit(0)\n"},
    "leaves at the end of a test": {
        "calc/__init__.py": BROKEN.replace("return a + b\n\ndef main", "__import__('os')._exit(0)\n\ndef main")
    },
    "prints a summary": {"calc/__init__.py": SUMMARY + BROKEN},
    "prints a summary and leaves": {"calc/__init__.py": SUMMARY + "import os\nos._exit(0)\n"},
    "conftest at the root": {**LIB, "conftest.py": HOOK},
    "conftest among the tests": {**LIB, "tests/conftest.py": HOOK},
    "conftest in the package": {**LIB, "calc/conftest.py": HOOK},
    "pytest.ini": {**LIB, "pytest.ini": INI, "cheat.py": HOOK},
    ".pytest.ini": {**LIB, ".pytest.ini": INI, "cheat.py": HOOK},
    "tox.ini": {**LIB, "tox.ini": INI, "cheat.py": HOOK},
    "setup.cfg": {**LIB, "setup.cfg": INI.replace("[pytest]", "[tool:pytest]"), "cheat.py": HOOK},
    "pyproject.toml": {
        **LIB,
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p cheat"\n',
        "cheat.py": HOOK,
    },
    "sitecustomize": {
        **LIB,
        "sitecustomize.py": "import cheat_start\n",
        "cheat_start.py": "import os\nos._exit(0)\n",
    },
    "usercustomize": {**LIB, "usercustomize.py": "import os\nos._exit(0)\n"},
    ".pth": {**LIB, "cheat.pth": "import cheat\n", "calc/cheat.pth": "import cheat\n", "cheat.py": HOOK},
    "a plugin by metadata": {
        **LIB,
        "cheat.py": HOOK,
        "cheat-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: cheat\nVersion: 1.0\n",
        "cheat-1.0.dist-info/entry_points.txt": "[pytest11]\ncheat = cheat\n",
        "cheat.egg-info/entry_points.txt": "[pytest11]\ncheat = cheat\n",
        "cheat.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: cheat\nVersion: 1.0\n",
    },
    "pytest itself": {
        **LIB,
        "pytest.py": "import os\nos._exit(0)\n",
        "_pytest/__init__.py": "",
        "pluggy.py": "x\n",
    },
    "the standard library": {
        **LIB,
        "subprocess.py": "def check_output(*a, **k): return b'9\\n'\n",
        "json.py": "x\n",
    },
    "writes reports everywhere": {"calc/__init__.py": EVERYWHERE + BROKEN},
    "rewrites the hidden tests": {"calc/__init__.py": REWRITE + BROKEN},
    "writes to every descriptor": {"calc/__init__.py": DESCRIPTORS + BROKEN},
    "its own tests": {
        **LIB,
        "tests/test_calc.py": "".join(f"def test_{name}(): pass\n" for name in ("add", "multiply")),
        "tests/test_more.py": "def test_large(): pass\n",
        "tests/test_own.py": "".join(f"def test_{number}(): pass\n" for number in range(50)),
        "test_calc.py": "def test_multiply(): pass\n",
    },
    "its own data": {**LIB, "tests/data.txt": "mine"},
    "its own program": {**LIB, "bin/calc": "#!/bin/sh\necho 5\n"},
}


SELF_DESTRUCTIVE = frozenset(
    {
        "leaves early",
        "leaves at the end of a test",
        "prints a summary",
        "prints a summary and leaves",
        "writes to every descriptor",
    }
)
"""Those whose trick breaks what a program of theirs should print, or the run."""


@pytest.mark.parametrize("name", CHEATS)
async def test_a_cheat_gains_nothing(trial: Trial, name: str) -> None:
    """No trick outside of the tested functions themselves yields one more test than honesty."""
    graded = await trial.grade(CHEATS[name])

    assert graded.verdict.status is Status.GRADED
    assert passed(graded) <= BROKEN_PASSES
    if name not in SELF_DESTRUCTIVE:
        assert passed(graded) == BROKEN_PASSES, "and it is not punished for files that mean nothing here"


async def test_a_tests_folder_that_is_a_link_gains_nothing(trial: Trial) -> None:
    """The hidden tests are laid over a link's place, never over what it leads to."""
    files = {**CHEATS["its own tests"], "mine/test_calc.py": "def test_multiply(): pass\n"}
    files = {name: text for name, text in files.items() if not name.startswith("tests/")}
    graded = await trial.grade(files, links={"tests": "mine"})

    assert passed(graded) == BROKEN_PASSES


@pytest.mark.needs("groundup_integrity")
async def test_making_everything_pass_is_found_out(trial: Trial) -> None:
    """A submission that patches pytest in its process passes false tests, too: tampered, without a score."""
    patch = """
import _pytest.runner
def call(item, when, log=True, **kwargs):
    report = _pytest.reports.TestReport(item.nodeid, item.location, {}, "passed", None, when, (), 0.0)
    item.ihook.pytest_runtest_logreport(report=report)
    return report
import _pytest.reports
_pytest.runner.call_and_report = call
"""
    graded = await trial.grade({"calc/__init__.py": patch + BROKEN})

    assert graded.verdict.status is Status.TAMPERED
    assert graded.verdict.score is None


async def test_forged_events_count_as_foreign(trial: Trial) -> None:
    """What a submission writes to descriptors that it finds by trying lacks the run's token, and is noticed."""
    graded = await trial.grade(CHEATS["writes to every descriptor"])

    assert graded.verdict.facts["foreign_lines"] == len(EXPECTED) + 1
