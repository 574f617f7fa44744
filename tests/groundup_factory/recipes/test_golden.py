"""How originals of many layouts are read, and how drafts are repaired by what a run printed.

`python -m tests.groundup_factory.recipes.test_golden` writes golden/layouts.txt anew: read what changed.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundup.domain.errors import GroundupError
from groundup.grading.library.execution import Execution
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import ImportCheck, Result, RunnerReport
from groundup.sandbox.protocol import CommandResult, Ending
from groundup_factory.recipes.layout import read_config, read_layout
from groundup_factory.recipes.project import read_project
from groundup_factory.recipes.repairs import repaired
from tests.grading.library.laboratory import write_tree
from tests.suites.nl2repobench.trials import RECIPE

GOLDEN = Path(__file__).parent / "golden" / "layouts.txt"
Files = Mapping[str, str]
PYPROJECT = """[project]
name = "Calc-Lab"
version = "1.2"
license = {text = "MIT"}
description = "Counts,\\n  and more"
requires-python = ">=3.9"
dependencies = ["click>=8", "not a requirement !", "tomli; python_version < '3.11'"]
keywords = ["a", "b"]
[project.optional-dependencies]
test = ["pytest>=7", "mock"]
docs = ["sphinx"]
[project.scripts]
calc = "calc:main"
[project.entry-points.pytest11]
own = "calc.plugin : x"
[tool.pytest.ini_options]
addopts = "-s -q --cov=calc --doctest-modules --ignore tests/slow -x"
filterwarnings = ["error", "ignore::calc.errors.Odd", "ignore::DeprecationWarning"]
markers = ["slow: takes long"]
xfail_strict = true
testpaths = ["tests"]
pythonpath = ["helpers", "absent"]
"""
SETUP_CFG = """[metadata]
name = calc
version = attr: calc.__version__
license = BSD
[options]
install_requires =
    six
    attrs>=20
tests_require = nose
py_modules = calc
[options.entry_points]
console_scripts =
    calc = calc:main
[tool:pytest]
addopts = --import-mode importlib --capture=no
python_files = check_*.py test_*.py
norecursedirs = build
"""
SETUP_PY = """from setuptools import setup
VERSION = "3.4"
setup(name="calc", version=VERSION, license="Apache", packages=["calc"], install_requires=["six"],
      tests_require=["mock"], extras_require={"test": ["responses"], "x": ["y"]}, py_modules=["more"])
"""
METADATA = "Metadata-Version: 2.1\nName: calc\nVersion: 9.1\nLicense: ISC\nRequires-Dist: six\nSummary: s\n"
NAMED = "[metadata]\nname = google-calc\n"
SCM = "[tool.setuptools_scm]\nversion_file = 'calc/_version.py'\n"
NO_FILE = "FileNotFoundError: [Errno 2] No such file or directory:"
TREES: Mapping[str, Files] = {
    "flat": {"calc/__init__.py": "", "tests/test_a.py": "", "pyproject.toml": PYPROJECT, "helpers/x.py": ""},
    "cfg": {"calc.py": "__version__ = '2.0'", "tests/check_a.py": "", "conftest.py": "", "setup.cfg": SETUP_CFG},
    "setup": {"calc/__init__.py": "", "calc/tests/test_a.py": "", "calc/conftest.py": "", "setup.py": SETUP_PY},
    "built": {"calc/__init__.py": "", "calc/tests.py": "", "PKG-INFO": METADATA, "more.py": ""},
    "single": {
        "calc.py": "",
        "test_calc.py": "",
        "test_more.py": "",
        "setup.py": "",
        "tox.ini": "[pytest]\ntimeout = 3\n",
    },
    "spread": {
        "calc/__init__.py": "",
        "calc/a/test_a.py": "",
        "calc/b/tests/test_b.py": "",
        "calc/b/tests/x/test_c.py": "",
    },
    "src": {
        "src/calc/__init__.py": "",
        "src/calc_test/__init__.py": "",
        "src/one.py": "",
        "tests/deep/test_a.py": "",
        "tests/conftest.py": "",
    },
    "helpers": {"calc_tests/__init__.py": "", "tests/test_a.py": "", "pytest.ini": "[pytest]\naddopts = -sv 'x\n"},
    "namespace": {
        "google/cloud/calc/a.py": "",
        "google/cloud/docs/b.py": "",
        "tests/test_a.py": "",
        "setup.cfg": NAMED,
    },
    "only tests": {"tests/__init__.py": "", "tests/test_a.py": "", "setup.py": ""},
    "no tests": {"calc/__init__.py": "", "README": ""},
    "nothing": {"README": ""},
}
COMMANDS = {
    "tests": (("pip install .", "pytest -q tests"), ("tests/", "data")),
    "a file": (("python -m pytest tests/test_a.py::one other 'x",), ("tests/test_a.py",)),
    "elsewhere": (("make check",), ("absent", "calc", ".")),
}
WROTE = "OSError: [Errno 30] Read-only file system: '/workspace/tests/out.txt'"
ABSENT = "ModuleNotFoundError: No module named"
MESSAGES: Mapping[str, tuple[str, Files]] = {
    "yaml": (f"{ABSENT} 'yaml.nodes'\n{ABSENT} 'yaml'", {}),
    "standard": (f"{ABSENT} 'tkinter'", {}),
    "root": (f"{ABSENT} 'scripts.tool'", {"scripts/tool.py": ""}),
    "beside": (f"{ABSENT} 'helper'", {"tests/deep/helper.py": ""}),
    "version": (f"{ABSENT} 'calc._version'", {"pyproject.toml": SCM}),
    "version, nobody": (f"{ABSENT} 'calc._version'", {"setup.py": ""}),
    "fixtures": ("fixture 'mocker' not found\nfixture 'own' not found\nfixture 'cov' not found", {}),
    "coroutines": ("async def functions are not natively supported", {}),
    "marks": ("Unknown pytest.mark.slow - x\nUnknown pytest.mark.asyncio\nUnknown pytest.mark.a", {}),
    "program": (f"{NO_FILE} 'black'\n{NO_FILE} 'nobody-knows'", {}),
    "read only": (f"{WROTE}\nOSError: [Errno 30] Read-only file system", {}),
    "django": (
        "settings are not configured",
        {"manage.py": "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'site.conf')", "site/conf.py": ""},
    ),
    "django, usual": ("Apps aren't loaded yet", {"tests/settings.py": "INSTALLED_APPS = []"}),
    "optional": (
        "ImportError: install it",
        {
            "calc/more.py": "try:\n    import requests\nexcept ImportError: ...\n",
            "requirements-dev.txt": "requests>=2\nsphinx\n",
        },
    ),
}


def _laid(name: str, commands: str, folder: Path) -> Iterator[str]:
    root = write_tree(folder, TREES[name])
    given, listed = COMMANDS[commands]
    try:
        tests, notes = read_layout(root, read_project(root), given, listed)
    except GroundupError as error:
        yield f"{name}, {commands}: {type(error).__name__}: {error}"
        return
    yield f"{name}, {commands}: {notes}"
    if commands == "tests":
        yield f"  project {read_project(root).model_dump(exclude_defaults=True)}"
        yield f"  configuration {read_config(root).lines(tests.packages)} {read_config(root).roots()}"
    yield f"  {tests.model_dump(exclude_defaults=True, exclude={'distribution'})}"


def _repaired(name: str, folder: Path, *, slow: bool) -> Iterator[str]:
    message, files = MESSAGES[name]
    base = {"calc/__init__.py": "", "tests/test_a.py": "import calc, numpy\n", "tests/test_b.py": "import attr\n"}
    root = write_tree(folder, {**base, **files})
    reported = {NumberedTest("tests/test_a.py::one"): Result(outcome="failed", message=message)}
    skipped = {NumberedTest("tests/test_a.py::two"): Result(outcome="skipped", message=f"{ABSENT} 'redis'")}
    report = RunnerReport(
        results={**reported, **skipped} if not slow else {},
        collection_errors={"tests/test_a.py": message} if slow else {},
        imports={"calc": ImportCheck(file=None, error="no calc")},
        exit_code=2 if slow else 1,
    )
    ending = Ending.TIMEOUT if slow else Ending.EXITED
    result = CommandResult(
        exit_code=1, ending=ending, stdout=b"fixture 'freezer' not found", stderr=b"", duration_s=1
    )
    before = RECIPE
    for recipe, note in repaired(RECIPE, Execution(report, result), root):
        changed = {
            f"{part}.{key}": value
            for part in ("tests", "environment")
            for key, value in getattr(recipe, part).model_dump().items()
            if value != getattr(before, part).model_dump()[key]
        }
        yield f"  {note}: {changed}"
        before = recipe


def _folders(above: Path) -> Iterator[Path]:
    for number in range(1000):
        folder = above / str(number)
        folder.mkdir()
        yield folder


def _all(above: Path) -> Iterator[str]:
    folders = _folders(above)
    for name in TREES:
        for commands in COMMANDS:
            yield from _laid(name, commands, next(folders))
    for name in MESSAGES:
        for slow in (False, True):
            yield f"{name}, {'slow' if slow else 'ended'}"
            yield from _repaired(name, next(folders), slow=slow)


def test_originals_are_read_and_drafts_repaired_as_recorded(tmp_path: Path) -> None:
    """Every key of the tests and of the project, every note, and the sentences where nothing is found."""
    assert "\n".join(_all(tmp_path)) + "\n" == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text("\n".join(_all(Path(place))) + "\n", encoding="utf-8")
