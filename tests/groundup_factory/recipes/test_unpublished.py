"""Recipes without a published count: what is refused, and where tests and interpreters are found."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result, RunnerReport
from groundup_factory.recipes.losses import (
    absent_modules,
    causes_of,
    lacking_data,
    require_share,
    uncollected_functions,
)
from groundup_factory.recipes.needs_of_tests import places_of_tests, requires_python
from tests.grading.library.laboratory import write_tree
from tests.suites.nl2repobench.trials import RECIPE

HIDDEN = RECIPE.tests.but(arguments=("tests",), protected=("tests",), ini=())


def _report(outcome: str, message: str) -> RunnerReport:
    result = Result.model_validate({"outcome": outcome, "message": message})
    return RunnerReport(results={NumberedTest("tests/test_a.py::test_all"): result})


@pytest.mark.parametrize(
    ("outcome", "message", "said"),
    [
        ("skipped", "Skipped: got empty parameter set for (case), test_all", "empty set of parameters"),
        (
            "failed",
            "FileNotFoundError: No such file or directory: '/workspace/tests/data/a.json'",
            "tests/data/a.json",
        ),
        ("failed", "FileNotFoundError: No such file or directory: '/workspace/tests/there.txt'", None),
        ("failed", "FileNotFoundError: No such file or directory: 'git'", None),
        ("skipped", "Skipped: only on Windows", None),
    ],
)
def test_tests_whose_data_the_source_lacks_are_named(
    tmp_path: Path, outcome: str, message: str, said: str | None
) -> None:
    """An empty set of parameters and an absent file beside the tests say that more tests are run elsewhere."""
    write_tree(tmp_path, {"tests/there.txt": ""})

    found = lacking_data(_report(outcome, message), HIDDEN, tmp_path)

    assert list(found) == ["tests/test_a.py::test_all"] * (said is not None)
    assert all(said is not None and said in sentence for sentence in found.values())


def test_files_that_pytest_took_nothing_from_are_counted(tmp_path: Path) -> None:
    """Tests of a file that cannot be imported are in no report, and are left out all the same."""
    lost = "import absent\nclass B:\n    def test_one(self): pass\n    def other(self): pass\ndef test_two(): 1\n"
    write_tree(tmp_path, {"tests/test_a.py": "def test_all(): pass\n", "tests/test_b.py": lost})

    found = uncollected_functions(_report("passed", ""), HIDDEN, tmp_path)

    assert found == ["tests/test_b.py::test_one", "tests/test_b.py::test_two"]


@pytest.mark.parametrize("said", ["norecursedirs = build tests/dummy*", "norecursedirs =\n    dummy.*\n    *.egg"])
def test_folders_that_pytest_passes_by_hold_no_tests(tmp_path: Path, said: str) -> None:
    """Files that look like tests and that the project's configuration keeps from pytest are its data."""
    files = {"tests/dummy.one/test_b.py": "def test_b(): 1\n", "tests/real/test_c.py": "def test_c(): 1\n"}
    write_tree(tmp_path, {"tests/test_a.py": "", **files})
    hidden = HIDDEN.but(ini=tuple(said.splitlines()))

    assert uncollected_functions(_report("passed", ""), hidden, tmp_path) == ["tests/real/test_c.py::test_c"]


def test_helpers_of_tests_that_stayed_in_the_repository_are_named(tmp_path: Path) -> None:
    """A module that is neither in the source nor in a known distribution is why a file has no tests."""
    imports = "import yaml, calc, beside\nfrom test_project.test_app.models import Hedgehog\n"
    write_tree(tmp_path, {"tests/test_b.py": f"{imports}def test_two(): 1\n", "tests/inner/beside.py": ""})
    write_tree(tmp_path, {"tests/test_c.py": "from tests.http_client import A\nimport tests.inner.beside\n"})

    assert absent_modules(["tests/test_b.py::test_two"], HIDDEN, tmp_path) == ["test_project"]
    assert absent_modules(["tests/test_c.py::test_three"], HIDDEN, tmp_path) == ["tests.http_client"]
    assert absent_modules([], HIDDEN, tmp_path) == []


def test_what_pytest_said_of_the_most_tests_is_quoted() -> None:
    """Where a file took more tests with it than fail, its error is what a person has to know."""
    report = _report("failed", "assert 1 == 2").but(collection_errors={"tests/test_b.py": "No module named 'x'"})

    assert causes_of(report, []) == " (1 failed; first: assert 1 == 2)"
    lost = ["tests/test_b.py::test_one", "tests/test_b.py::test_two"]
    assert causes_of(report, lost) == " (2 not collected, 1 failed; first: tests/test_b.py: No module named 'x')"


def test_more_than_the_share_is_refused_with_the_causes() -> None:
    """The share counts what is left out of all tests, and a task needs a few."""
    require_share(80, 100, "", 0.2)
    with pytest.raises(TaskError, match=r"21 would be left out, more than --left-out 0\.2 of them \(21 failed\)"):
        require_share(79, 100, " (21 failed)", 0.2)
    with pytest.raises(TaskError, match="needs 5"):
        require_share(4, 4, "", 0.2)


@pytest.mark.parametrize(
    ("files", "places"),
    [
        ({"tests/test_a.py": "", "test/notes.txt": ""}, ("tests",)),
        (
            {"pytest.ini": "[pytest]\ntestpaths = checks\n", "checks/test_a.py": "", "tests/test_b.py": ""},
            ("checks",),
        ),
        ({"pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["a/b", "../c"]\n', "a/b/x.py": ""}, ("a/b",)),
        ({"test_a.py": "", "b_test.py": ""}, ("test_a.py", "b_test.py")),
        ({"a.py": ""}, ()),
    ],
)
def test_tests_are_found_where_pytest_is_told_to_look(
    tmp_path: Path, files: dict[str, str], places: tuple[str, ...]
) -> None:
    """The project's own configuration comes before the usual folders, and nothing outside of it counts."""
    write_tree(tmp_path, files)
    assert places_of_tests(tmp_path) == places


def test_the_interpreter_is_one_that_the_project_allows(tmp_path: Path) -> None:
    """Built metadata, pyproject.toml and setup.cfg may say it; without any all are allowed."""
    assert requires_python(tmp_path).contains("3.12.0")
    write_tree(tmp_path, {"setup.cfg": "[options]\npython_requires = >=3.8,<3.11\n"})
    assert not requires_python(tmp_path).contains("3.12.0")
    write_tree(tmp_path, {"PKG-INFO": "Metadata-Version: 2.1\nRequires-Python: >=3.12\n"})
    assert requires_python(tmp_path).contains("3.12.0")
