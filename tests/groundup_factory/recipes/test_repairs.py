"""Repairs of a draft, by what a run of its original printed."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.library.execution import Execution
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result, RunnerReport
from groundup.sandbox.protocol import Ending
from groundup.suites.nl2repobench.recipe import Recipe
from groundup_factory.recipes.repairs import repaired, without_additions, without_wheel
from tests.grading.library.laboratory import write_tree
from tests.suites.nl2repobench.trials import RECIPE


def _ran(ending: Ending = Ending.EXITED, **outcomes: str) -> Execution:
    """Return a run of one test, which ended with a message."""
    ((outcome, message),) = outcomes.items()
    result = Result.model_validate({"outcome": outcome, "message": message})
    report = RunnerReport(results={NumberedTest("tests/test_a.py::test_all"): result}, exit_code=1)
    return cast(Execution, SimpleNamespace(report=report, result=SimpleNamespace(ending=ending)))


def _mended(recipe: Recipe, execution: Execution, root: Path) -> Recipe:
    steps = repaired(recipe, execution, root)
    return steps[-1][0] if steps else recipe


def test_a_module_for_which_tests_were_skipped_is_installed(tmp_path: Path) -> None:
    """`importorskip` says what it wanted; what no data knows is nobody's name to ask a registry for."""
    write_tree(tmp_path, {"tests/test_a.py": ""})
    skipped = _ran(skipped="Skipped: could not import 'yaml': No module named 'yaml'")
    unknown = _ran(failed="ModuleNotFoundError: No module named 'our_own_helper_of_tests'")

    assert _mended(RECIPE, skipped, tmp_path).environment.wants == ("pytest", "pyyaml")
    assert _mended(RECIPE, unknown, tmp_path).environment.wants == ("pytest",)


def test_what_only_developers_use_is_not_the_librarys_wish(tmp_path: Path) -> None:
    """A module that tests lack brings what they import, and no plugin that the library never imports."""
    manifest = "[tool.poetry.group.dev.dependencies]\npytest-cov = '>=2'\n"
    write_tree(tmp_path, {"pyproject.toml": manifest, "calc/__init__.py": "", "tests/test_a.py": ""})
    lacking = _ran(failed="ModuleNotFoundError: No module named 'yaml'")

    assert _mended(RECIPE, lacking, tmp_path).environment.wants == ("pytest", "pyyaml")


def test_what_cannot_be_built_is_taken_back_and_not_added_again(tmp_path: Path) -> None:
    """An addition that breaks the environment costs itself, and not the library."""
    write_tree(tmp_path, {"tests/test_a.py": ""})
    lacking = _ran(failed="ModuleNotFoundError: No module named 'yaml'")
    added = _mended(RECIPE, lacking, tmp_path)

    back = without_additions(added, RECIPE, TaskError("no such wheel"), lambda _: None)

    assert added.environment.wants == ("pytest", "pyyaml")
    assert back.environment == RECIPE.environment
    assert _mended(back, lacking, tmp_path) == back


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Because all versions of jsonpath have no usable wheels and you", "jsonpath"),
        ("Because jsonpath==0.82 has no usable wheels and you", "jsonpath"),
        ("Because jsonpath>=0.82 has no usable wheels and you require jsonpath>=0.82", "jsonpath"),
        ("Because jsonpath<1,>=0.82 has no usable wheels and you", "jsonpath"),
        ("Because there is no version of jsonpath==0.82", None),
    ],
)
def test_what_has_no_wheel_is_told_by_uvs_words(said: str, name: str | None) -> None:
    """It is built from its source then, also where a range of versions is wanted."""
    assert without_wheel(said) == name


def test_a_program_that_tests_start_is_installed(tmp_path: Path) -> None:
    """What a known distribution is called is meant; files, and programs that nobody knows, are not."""
    write_tree(tmp_path, {"tests/test_a.py": ""})
    absent = "FileNotFoundError: [Errno 2] No such file or directory: "

    assert _mended(RECIPE, _ran(failed=f"{absent}'coverage'"), tmp_path).environment.wants == (
        "pytest",
        "coverage",
    )
    for other in ("'coverage.xml'", "'/etc/coverage'", "'our-own-helper-of-tests'"):
        assert _mended(RECIPE, _ran(failed=absent + other), tmp_path).environment.wants == ("pytest",)


def test_what_silent_files_of_tests_import_is_installed(tmp_path: Path) -> None:
    """A file that skips itself as a whole leaves no message."""
    write_tree(
        tmp_path,
        {
            "tests/test_a.py": "",
            "tests/test_b.py": "import unittest\ntry:\n    import yaml\nexcept ImportError: 1\n",
        },
    )

    assert _mended(RECIPE, _ran(passed=""), tmp_path).environment.wants == ("pytest", "pyyaml")


def test_what_the_library_imports_at_will_is_installed_where_tests_ask_for_it(tmp_path: Path) -> None:
    """Its message names a program of another name, as libraries' do; its extras tell what is meant."""
    write_tree(
        tmp_path,
        {
            "setup.cfg": "[options.extras_require]\nimage = scipy>1\nother = flask\n",
            "calc/__init__.py": "try:\n    import scipy\nexcept ImportError:\n    scipy = None\n",
            "tests/test_a.py": "",
        },
    )
    asks = _ran(failed="ImportError: transformations need SciPy. Install SciPy.")

    assert _mended(RECIPE, asks, tmp_path).environment.wants == ("pytest", "scipy>1")
    assert _mended(RECIPE, _ran(failed="assert 1 == 2"), tmp_path).environment.wants == ("pytest",)


def test_what_cannot_be_installed_is_not_asked_for_again(tmp_path: Path) -> None:
    """The notes of the draft remember it."""
    write_tree(tmp_path, {"tests/test_a.py": ""})
    recipe = RECIPE.but(notes="pyyaml cannot be installed, and is left out")

    assert repaired(recipe, _ran(skipped="No module named 'yaml'"), tmp_path) == []


def test_marks_of_plugins_that_only_report_are_declared(tmp_path: Path) -> None:
    """With warnings as errors, an unknown mark fails its test."""
    write_tree(tmp_path, {"tests/test_a.py": ""})
    failed = _ran(failed="pytest.PytestUnknownMarkWarning: Unknown pytest.mark.xdist_group - is this a typo?")
    one = RECIPE.but(tests=RECIPE.tests.but(ini=("markers = slow: it is", "xfail_strict = true")))

    assert _mended(RECIPE, failed, tmp_path).tests.ini == ("markers =", "    xdist_group")
    assert _mended(one, failed, tmp_path).tests.ini == (
        "markers =",
        "    slow: it is",
        "    xdist_group",
        "xfail_strict = true",
    )


def test_a_module_of_a_shared_namespace_is_somebody_elses(tmp_path: Path) -> None:
    """`google.auth` is no part of a library that is `google.cloud.batch`."""
    write_tree(tmp_path, {"google/cloud/batch/__init__.py": "", "tests/test_a.py": ""})
    recipe = RECIPE.but(tests=RECIPE.tests.but(packages=("google.cloud.batch",)))

    mended = _mended(recipe, _ran(failed="No module named 'google.auth'"), tmp_path)

    assert mended.environment.wants == ("pytest", "google-auth")


def test_settings_of_django_are_found_where_tests_lack_them(tmp_path: Path) -> None:
    """By what a project's own command names, else by their names; pytest is told, and their folder is kept."""
    files = {
        "demo/__init__.py": "",
        "example/project/settings.py": "INSTALLED_APPS = []\n",
        "example/manage.py": 'os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")\n',
    }
    write_tree(tmp_path / "named", files)
    write_tree(tmp_path / "usual", {"demo/__init__.py": "", "tests/settings.py": "INSTALLED_APPS = []\n"})
    lacks = _ran(error="ImproperlyConfigured: Requested setting DATABASES, but settings are not configured.")

    named = _mended(RECIPE, lacks, tmp_path / "named")
    usual = _mended(RECIPE, lacks, tmp_path / "usual")

    assert named.tests.ini[-2:] == ("DJANGO_SETTINGS_MODULE = project.settings", "django_find_project = false")
    assert named.tests.import_roots[-1] == "example"
    assert "example/project" in named.tests.protected
    assert named.environment.wants == ("pytest", "pytest-django")
    assert usual.tests.environment == {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    assert usual.tests.protected == RECIPE.tests.protected
    assert repaired(named, lacks, tmp_path / "named") == []


def test_where_one_test_hangs_each_gets_little_time(tmp_path: Path) -> None:
    """So that the others are heard of."""
    write_tree(tmp_path, {"tests/test_a.py": ""})

    assert _mended(RECIPE, _ran(Ending.TIMEOUT, passed=""), tmp_path).tests.one_test_s == 20
    assert _mended(RECIPE, _ran(passed=""), tmp_path).tests.one_test_s is None


def test_a_version_module_that_the_build_writes_is_generated(tmp_path: Path) -> None:
    """As its build backend would write it; a module of the library that nothing writes stays missing."""
    write_tree(
        tmp_path, {"tests/test_a.py": "", "pyproject.toml": '[tool.setuptools_scm]\nwrite_to = "calc/_version.py"'}
    )
    source = RECIPE.source.but(version="1.2.3.dev4+g5")
    lacking = _ran(failed="ModuleNotFoundError: No module named 'calc._version'")
    other = _ran(failed="ModuleNotFoundError: No module named 'calc._speedups'")

    (made, note), *_ = repaired(RECIPE.but(source=source), lacking, tmp_path)

    assert note == "generated calc/_version.py with version 1.2.3.dev4+g5"
    assert made.tests.generated == {
        "calc/_version.py": '__version__ = version = "1.2.3.dev4+g5"\n'
        '__version_tuple__ = version_tuple = (1, 2, 3, "dev4", "g5",)\n'
    }
    assert repaired(RECIPE, other, tmp_path) == []


def test_helpers_of_tests_are_found_where_they_lie(tmp_path: Path) -> None:
    """At the root, or in a folder of the tests; once is enough."""
    write_tree(tmp_path, {"tests/test_a.py": "", "bench/__init__.py": "", "tests/unit/fixtures.py": ""})
    recipe = RECIPE.but(tests=RECIPE.tests.but(import_roots=("src",)))
    lacking = _ran(failed="No module named 'bench'\nNo module named 'fixtures'\nNo module named 'bench.data'")

    assert [note for _, note in repaired(recipe, lacking, tmp_path)] == [
        "import root .: tests import bench from the root",
        "import root tests/unit: tests import fixtures from tests/unit",
    ]
    assert _mended(recipe, lacking, tmp_path).tests.import_roots == ("src", ".", "tests/unit")


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("E  fixture 'mocker' not found", "pytest-mock"),
        ("E  fixture 'httpx_mock' not found", "pytest-httpx"),
        ("async def functions are not natively supported.", "pytest-asyncio"),
        ("Unknown pytest.mark.asyncio", "pytest-asyncio"),
        ("E  fixture 'our_own' not found", None),
    ],
)
def test_a_plugin_is_installed_whose_fixture_tests_lack(tmp_path: Path, said: str, wanted: str | None) -> None:
    """A fixture that no known plugin has is the tests' own fault."""
    write_tree(tmp_path, {"tests/test_a.py": ""})
    wants = _mended(RECIPE, _ran(failed=said), tmp_path).environment.wants
    assert wants == (("pytest", wanted) if wanted else ("pytest",))


def test_a_folder_that_tests_write_into_becomes_writable(tmp_path: Path) -> None:
    """The protected one that a message names, or all of them where it names none; files are never."""
    write_tree(tmp_path, {"tests/test_a.py": "", "data/x": "", "README.md": ""})
    recipe = RECIPE.but(tests=RECIPE.tests.but(protected=("tests", "data", "README.md")))
    named = _ran(failed="OSError: [Errno 30] Read-only file system: '/workspace/data/out.txt'")
    elsewhere = _ran(failed="OSError: [Errno 30] Read-only file system: '/usr/out.txt'")
    unnamed = _ran(failed="OSError: [Errno 30] Read-only file system")

    assert _mended(recipe, named, tmp_path).tests.writable == ("data",)
    assert _mended(recipe, elsewhere, tmp_path).tests.writable == ()
    assert _mended(recipe, unnamed, tmp_path).tests.writable == ("tests", "data")
