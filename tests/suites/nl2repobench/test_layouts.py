"""Strict grading of every layout that originals have: the original passes, nothing passes nothing."""

import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from groundup.environments.requests import PythonRequest
from groundup.grading.context import GradingContext
from groundup.grading.library.decision import decide
from groundup.grading.library.execution import Execution, run_hidden_tests
from groundup.grading.library.hidden import Distribution, Extensions, HiddenTests, LibraryUnderTest
from tests.grading.library.laboratory import HostBuilder, write_tree
from tests.needs import lack, need
from tests.suites.nl2repobench.trials import Trial

pytestmark = pytest.mark.end_to_end

LIB = {"lib/__init__.py": "def double(x): return x * 2\n"}
USES = "from lib import double\n"
LAYOUTS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "src": (
        {
            "src/lib/__init__.py": LIB["lib/__init__.py"],
            "tests/test_a.py": f"{USES}def test(): assert double(2) == 4\n",
        },
        {"import_roots": ("src",)},
    ),
    "single module": (
        {"lib.py": LIB["lib/__init__.py"], "tests/test_a.py": f"{USES}def test(): assert double(2) == 4\n"},
        {},
    ),
    "tests inside the package, with relative imports": (
        {
            **LIB,
            "lib/tests/__init__.py": "",
            "lib/tests/helper.py": "two = 2\n",
            "lib/tests/test_a.py": "from .. import double\nfrom .helper import two\n"
            "def test(): assert double(two) == 4\n",
        },
        {"arguments": ("lib/tests",), "protected": ("lib/tests",)},
    ),
    "tests at the root": (
        {**LIB, "test_lib.py": f"{USES}def test(): assert double(2) == 4\n"},
        {"arguments": ("test_lib.py",), "protected": ("test_lib.py",)},
    ),
    "tests that import each other": (
        {
            **LIB,
            "tests/__init__.py": "",
            "tests/common.py": "two = 2\n",
            "tests/inner/__init__.py": "",
            "tests/inner/test_a.py": f"{USES}from tests.common import two\ndef test(): assert double(two) == 4\n",
        },
        {},
    ),
    "data files and a conftest of the root": (
        {
            **LIB,
            "conftest.py": "import pytest\n@pytest.fixture\ndef two(): return 2\n",
            "tests/data/four.txt": "4",
            "tests/test_a.py": f"{USES}from pathlib import Path\n"
            "def test(two): assert str(double(two)) == (Path(__file__).parent / 'data/four.txt').read_text()\n",
        },
        {"protected": ("tests", "conftest.py")},
    ),
    "tests that write beside themselves": (
        {
            **LIB,
            "tests/out/old.txt": "",
            "tests/test_a.py": f"{USES}from pathlib import Path\ndef test():\n"
            "    place = Path(__file__).parent / 'out' / 'new.txt'\n"
            "    place.write_text(str(double(2)))\n    assert place.read_text() == '4'\n",
        },
        {"writable": ("tests/out",)},
    ),
    "a plugin under test": (
        {
            "lib/__init__.py": "",
            "lib/plugin.py": "import pytest\n@pytest.fixture\ndef four(): return 4\n",
            "tests/test_a.py": "import lib\ndef test(four): assert four == 4\n",
        },
        {"own_plugins": ("lib.plugin",)},
    ),
    "entry points and metadata": (
        {
            **LIB,
            "lib/cli.py": "def main(): print('from the program')\n",
            "tests/test_a.py": "import subprocess, lib\nfrom importlib.metadata import entry_points, version\n"
            "def test():\n    assert version('lib-dist') == '1.5'\n"
            "    assert [e.value for e in entry_points(group='lib.things')] == ['lib:double']\n"
            "    assert subprocess.check_output(['lib']) == b'from the program\\n'\n",
        },
        {
            "distribution": Distribution(
                name="lib-dist",
                version="1.5",
                entry_points={"console_scripts": {"lib": "lib.cli:main"}, "lib.things": {"d": "lib:double"}},
            )
        },
    ),
    "subprocesses of the tests": (
        {
            **LIB,
            "tests/test_a.py": "import subprocess, sys, lib\ndef test():\n"
            "    code = 'import lib; print(lib.double(2))'\n"
            "    assert subprocess.check_output([sys.executable, '-c', code], cwd='/tmp') == b'4\\n'\n",
        },
        {},
    ),
    "root": (
        {**LIB, "tests/test_a.py": "import os, lib\ndef test(): assert os.getuid() == 0\n"},
        {"user": "root"},
    ),
    "an ordinary user": (
        {**LIB, "tests/test_a.py": "import os, lib\ndef test(): assert os.getuid() != 0\n"},
        {"user": "ordinary"},
    ),
    "no standard input": (
        {**LIB, "tests/test_a.py": "import os, lib\ndef test(): assert os.read(0, 1) == b''\n"},
        {"stdin": "closed"},
    ),
    "an empty standard input": (
        {
            **LIB,
            "tests/test_a.py": "import subprocess, sys, lib\n"
            "def test(): assert subprocess.check_output([sys.executable, '-c', 'print(input)']) != b''\n",
        },
        {"stdin": "empty"},
    ),
    "a fixture that makes several tests of each": (
        {
            **LIB,
            "tests/conftest.py": "import pytest\n@pytest.fixture(autouse=True, params=['a'])\ndef each(): pass\n",
            "tests/test_a.py": f"{USES}def test(): assert double(2) == 4\n",
        },
        {},
    ),
    "a locale": (
        {
            **LIB,
            "tests/test_a.py": "import os, locale, lib\n"
            "def test(): assert locale.setlocale(locale.LC_ALL, '') == os.environ['LC_ALL'] == 'C'\n",
        },
        {"locale": "C"},
    ),
}
EXTENSION = {
    "lib/__init__.py": "try:\n    from lib._fast import double\n"
    "except ImportError:\n    def double(x): return x + x\n",
    "lib/_fast.c": """
#include <Python.h>
static PyObject *twice(PyObject *self, PyObject *value) { return PyNumber_Add(value, value); }
static PyMethodDef methods[] = {{"double", twice, METH_O, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, methods};
PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&module); }
""",
    "setup.py": "from setuptools import Extension, setup\n"
    "setup(name='lib', ext_modules=[Extension('lib._fast', ['lib/_fast.c'])])\n"
    "open('tests/test_a.py', 'w').write('def test_fast(): pass')\n"
    "open('lib/extra.so', 'w').write('x')\n",
    "tests/test_a.py": "import pathlib, lib\ndef test_fast(): assert type(lib.double) is type(len)\n"
    "def test_double(): assert lib.double(2) == 4\n"
    "def test_clean(): assert not pathlib.Path(lib.__file__).with_name('extra.so').exists()\n",
}


def hidden(changes: Mapping[str, Any]) -> HiddenTests:
    """Return a layout that differs from the plain one."""
    plain = {"packages": ("lib",), "arguments": ("tests",), "protected": ("tests",), "timeout_s": 60.0}
    return HiddenTests.model_validate({**plain, **changes})


async def passed(trial: Trial, files: Mapping[str, str], original: Path, tests: HiddenTests) -> set[str]:
    """Return the names of the tests that a submission of *files* passes."""
    number = len(list(trial.folder.glob("submission-*")))
    submission = write_tree(trial.folder / f"submission-{number}", files)
    scratch = trial.folder / "scratch"
    scratch.mkdir(exist_ok=True)
    builder = HostBuilder(trial.folder)
    environment = await builder.python(PythonRequest(python="3.11"))
    context = GradingContext(provider=trial.provider, builder=builder, scratch=scratch)
    done: Execution = await run_hidden_tests(LibraryUnderTest(submission, original, tests, environment), context)
    decision = decide(frozenset(done.report.results), tests, done.report, done.result)
    names = {
        key.id.rpartition("::")[2].partition("[")[0]
        for key, said in done.report.results.items()
        if said.outcome == "passed"
    }
    return names if decision.passed else set()


@pytest.mark.parametrize("name", LAYOUTS)
async def test_the_original_of_a_layout_passes_and_nothing_does_not(trial: Trial, name: str) -> None:
    """Wherever tests and library lie and whatever they need, a recipe can say so; empty work gets nothing."""
    files, changes = LAYOUTS[name]
    original = write_tree(trial.folder / "original", files)
    tests = hidden(changes)

    assert await passed(trial, files, original, tests) == {"test"}
    assert await passed(trial, {}, original, tests) == set()


async def test_extensions_are_compiled_where_no_test_is(trial: Trial) -> None:
    """Compiled modules that the recipe names come along; what else a build writes, into tests too, does not."""
    _require_compiler()
    original = write_tree(trial.folder / "original", EXTENSION)
    tests = hidden({"extensions": Extensions(outputs=("lib/_fast*.so",))})

    assert await passed(trial, EXTENSION, original, tests) == {"test_fast", "test_double", "test_clean"}


@pytest.mark.parametrize("broken", ["lib/_fast.c", "setup.py"])
async def test_a_build_that_fails_costs_what_needs_it(trial: Trial, broken: str) -> None:
    """A submission whose extension does not compile, or a machine without compiler, still runs in Python."""
    original = write_tree(trial.folder / "original", EXTENSION)
    tests = hidden({"extensions": Extensions(outputs=("lib/_fast*.so",))})
    submission = {**EXTENSION, broken: "this is no code"}

    assert await passed(trial, submission, original, tests) == {"test_double", "test_clean"}


def _require_compiler() -> None:
    include = Path(sysconfig.get_path("include")) / "Python.h"
    need("cc")
    if not include.is_file():
        lack("cc", "the headers of Python are not there")
    pytest.importorskip("setuptools", reason="the interpreter of these tests has no setuptools to build with")
