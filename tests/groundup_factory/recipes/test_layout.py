"""Tests of groundup_factory.recipes.layout: every layout that originals have."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.library.hidden import HiddenTests
from groundup_factory.recipes.layout import read_layout
from groundup_factory.recipes.project import OriginalProject
from tests.grading.library.laboratory import write_tree

COMMANDS = ("pip install -e .", "pytest --continue-on-collection-errors tests")
PYTHON = '[tool.setuptools.packages.find]\nwhere = ["python"]\n'
DEMO = OriginalProject(name="demo", version="1.0")


def layout(
    root: Path, files: dict[str, str], commands: tuple[str, ...] = COMMANDS, listed: tuple[str, ...] = ("tests",)
) -> HiddenTests:
    """Return the layout of an original of *files*."""
    return read_layout(write_tree(root, files), DEMO, commands, listed)[0]


@pytest.mark.parametrize(
    ("files", "roots", "packages"),
    [
        ({"demo/__init__.py": "", "docs/__init__.py": "", "tests/__init__.py": ""}, (".",), ("demo",)),
        ({"src/demo/__init__.py": "", "src/extra.py": "", "setup.py": ""}, ("src",), ("demo", "extra")),
        ({"demo.py": "", "setup.py": "", "conftest.py": ""}, (".",), ("demo",)),
        ({"src/demo.py": "", "src/_demo_test_helper.py": ""}, ("src",), ("demo",)),
        ({"src/shared/inner/demo/__init__.py": "", "src/shared/x.txt": ""}, ("src",), ("shared.inner.demo",)),
        ({"python/demo/__init__.py": "", "pyproject.toml": PYTHON}, ("python",), ("demo",)),
        ({"source/demo/__init__.py": "", "setup.py": "package_dir={'': 'source'}"}, ("source",), ("demo",)),
        ({"lib3/demo.py": "", "setup.cfg": "[options.packages.find]\nwhere = lib3\n"}, ("lib3",), ("demo",)),
        (
            {"demo/c/one/__init__.py": "", "demo/c/two/a.py": ""},
            (".",),
            ("demo.c.one", "demo.c.two"),
        ),
    ],
)
def test_packages_and_modules_are_found(
    tmp_path: Path, files: dict[str, str], roots: tuple[str, ...], packages: tuple[str, ...]
) -> None:
    """Flat, src and single modules; folders of tests and documents and helpers of tests are no library."""
    found = layout(tmp_path, {**files, "tests/test_a.py": ""})

    assert (found.import_roots, found.packages) == (roots, packages)
    assert found.arguments == ("tests",)
    assert "tests" in found.protected


def test_tests_inside_the_package_are_found(tmp_path: Path) -> None:
    """Where the publishers moved the tests, they are protected where the original has them."""
    found = layout(tmp_path, {"demo/__init__.py": "", "demo/tests/test_a.py": ""})

    assert found.arguments == ("demo/tests",)
    assert found.protected == ("demo/tests",)


def test_tests_among_the_modules_are_found(tmp_path: Path) -> None:
    """Folders and files of tests at any depth of the packages, each once."""
    files = (
        "demo/__init__.py",
        "demo/a_test.py",
        "demo/inner/b.py",
        "demo/inner/tests/test_b.py",
        "demo/c/test_c.py",
    )
    found = layout(tmp_path, dict.fromkeys(files, ""))

    assert sorted(found.arguments) == ["demo/a_test.py", "demo/c/test_c.py", "demo/inner/tests"]
    assert sorted(found.protected) == sorted(found.arguments)


def test_a_module_of_tests_inside_the_package_is_found(tmp_path: Path) -> None:
    """It is protected, and the package around it is not."""
    found = layout(tmp_path, {"demo/__init__.py": "", "demo/tests.py": ""})

    assert (found.arguments, found.protected) == (("demo/tests.py",), ("demo/tests.py",))


def test_tests_at_the_root_are_found(tmp_path: Path) -> None:
    """A listed folder that does not exist does not hide the files that do."""
    found = layout(tmp_path, {"demo/__init__.py": "", "test_demo.py": ""}, ("pytest",), ("tests",))

    assert found.arguments == ("test_demo.py",)


def test_a_folder_that_holds_the_library_is_not_its_tests(tmp_path: Path) -> None:
    """Tests beside a module in src are named one by one, and what helps them is protected."""
    files = {"src/demo.py": "", "src/test_demo.py": "", "src/_test_helper.py": ""}
    found = layout(tmp_path, files, ("pytest src",), ("src/test_demo.py", "test_demo.py"))

    assert found.packages == ("demo",)
    assert found.arguments == ("src/test_demo.py",)
    assert found.protected == ("src/test_demo.py", "src/_test_helper.py")


def test_the_configuration_is_kept_where_it_matters(tmp_path: Path) -> None:
    """What decides which tests there are and how they behave stays; reporting and coverage go."""
    ini = """[pytest]
addopts = -rasv -slv --cov=demo --doctest-glob '*.rst' --doctest-report udiff --ignore-glob x* --strict-markers
asyncio_mode = auto
filterwarnings =
    error
    ignore::demo.Old
testpaths = tests
"""
    found = layout(tmp_path, {"demo/__init__.py": "", "tests/test_a.py": "", "pytest.ini": ini})

    options = "-s --doctest-glob '*.rst' --doctest-report udiff --ignore-glob 'x*'"
    assert found.ini == ("asyncio_mode = auto", "filterwarnings = error", f"addopts = {options}")
    assert found.late_filters == ("ignore::demo.Old",)


def test_conftests_and_import_paths_of_the_root_are_kept(tmp_path: Path) -> None:
    """A root conftest is part of the tests, and a folder that the configuration puts on the path is searched."""
    config = '[tool.pytest.ini_options]\npythonpath = ["helpers"]\n'
    files = {"demo/__init__.py": "", "tests/test_a.py": "", "conftest.py": "", "helpers/h.py": ""}
    found = layout(tmp_path, {**files, "pyproject.toml": config})

    assert found.protected == ("tests", "conftest.py")
    assert found.import_roots == (".", "helpers")


@pytest.mark.parametrize("files", [{"demo/__init__.py": ""}, {"tests/test_a.py": ""}])
def test_a_source_without_library_or_tests_is_refused(tmp_path: Path, files: dict[str, str]) -> None:
    """Some source distributions leave their tests out; that is said at once."""
    with pytest.raises(TaskError, match="name a"):
        layout(tmp_path, files)


def test_a_library_about_tests_is_no_helper_of_tests(tmp_path: Path) -> None:
    """A package is only taken for a helper beside another one: its own code must never be protected."""
    found = layout(tmp_path, {"src/unittest_demo/__init__.py": "", "tests/test_a.py": ""})

    assert found.packages == ("unittest_demo",)
    assert found.protected == ("tests",)


def test_a_plugin_under_test_differs_from_others(tmp_path: Path) -> None:
    """What the original itself plugs into pytest is loaded from the submission."""
    root = write_tree(tmp_path, {"demo/__init__.py": "", "demo/plugin.py": "", "tests/test_a.py": ""})
    project = OriginalProject(name="demo", version="1.0", entry_points={"pytest11": {"demo": "demo.plugin"}})

    assert read_layout(root, project, COMMANDS, ("tests",))[0].own_plugins == ("demo.plugin",)
