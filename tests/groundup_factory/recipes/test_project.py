"""Tests of groundup_factory.recipes.project."""

from pathlib import Path

import pytest

from groundup.languages.formats import FORMATS
from groundup_factory.recipes.project import read_project, requirement_line, without_extra
from tests.grading.library.laboratory import write_tree

PYPROJECT = """
[project]
name = "demo"
dynamic = ["version"]
license = {text = "MIT"}
description = "Does it."
authors = [{name = "A", email = "a@example.org"}, {name = "B"}]
urls = {Home = "https://example.org"}
dependencies = ["six>=1", "local @ file:///x"]
[project.scripts]
demo = "demo:main"
[project.entry-points.pytest11]
demo = "demo.plugin"
[project.optional-dependencies]
tests = ["pretend"]
"""
SETUP = """
import os
from setuptools import setup
VERSION = os.environ["VERSION"]
NAME = "demo"
setup(name=NAME, version=VERSION, py_modules=["demo"], install_requires=["six"], license="BSD",
      entry_points={"console_scripts": ["demo = demo:main"]})
"""


def test_a_pyproject_is_read(tmp_path: Path) -> None:
    """Programs and plugins become entry points; requirements by address are left out; code tells the version."""
    root = write_tree(tmp_path, {"pyproject.toml": PYPROJECT, "demo/__init__.py": '__version__ = "1.2.3"\n'})
    found = read_project(root)

    assert (found.name, found.version, found.licence) == ("demo", "1.2.3", "MIT")
    assert found.requires == ("six>=1",)
    assert found.test_requires == ("pretend",)
    assert found.entry_points == {"console_scripts": {"demo": "demo:main"}, "pytest11": {"demo": "demo.plugin"}}
    assert found.headers == {
        "Summary": ("Does it.",),
        "Author": ("B",),
        "Author-email": ("A <a@example.org>",),
        "Project-URL": ("Home, https://example.org",),
    }


def test_a_setup_py_is_read_without_being_run(tmp_path: Path) -> None:
    """What is literal counts, under a name as well; what would have to be computed stays absent."""
    found = read_project(write_tree(tmp_path, {"setup.py": SETUP}))

    assert (found.name, found.version, found.licence) == ("demo", None, "BSD")
    assert found.modules == ("demo",)
    assert found.entry_points == {"console_scripts": {"demo": "demo:main"}}


@pytest.mark.parametrize(
    ("points", "found"),
    [("'demo = demo:main'", {"console_scripts": {"demo": "demo:main"}}), ("None", {}), ("[None]", {})],
)
def test_programs_of_a_setup_py_may_be_one_text(
    tmp_path: Path, points: str, found: dict[str, dict[str, str]]
) -> None:
    """Setuptools takes lines and a list of them; what is neither names no program."""
    text = f"setup(name='demo', entry_points={{'console_scripts': {points}}})"
    assert read_project(write_tree(tmp_path, {"setup.py": text})).entry_points == found


@pytest.mark.parametrize("table", ["[dependency-groups]\ntest = 5", "[project]\ndependencies = 5"])
def test_what_is_no_list_requires_nothing(tmp_path: Path, table: str) -> None:
    """A stranger's file may say anything."""
    assert read_project(write_tree(tmp_path, {"pyproject.toml": table})).requires == ()


def test_a_setup_cfg_without_requirements_hides_none(tmp_path: Path) -> None:
    """A source distribution's own build leaves a setup.cfg in it, which says nothing of requirements."""
    cfg = "[egg_info]\ntag_build =\ntag_date = 0\n"
    assert read_project(write_tree(tmp_path, {"setup.py": SETUP, "setup.cfg": cfg})).requires == ("six",)


def test_requirements_beside_older_metadata_are_read(tmp_path: Path) -> None:
    """An older setuptools wrote them into the egg-info alone, with extras and markers as sections."""
    listed = 'six>=1\n\n[:python_version < "3.9"]\nzipp\n\n[test]\npretend\n\n[docs:os_name == "nt"]\nfuro\n'
    files = {"PKG-INFO": "Metadata-Version: 2.1\nName: demo\n", "demo.egg-info/requires.txt": listed}
    found = read_project(write_tree(tmp_path, files))

    assert found.requires == ("six>=1", 'zipp; python_version < "3.9"')
    assert found.test_requires == ("pretend",)


def test_requirements_of_poetry_and_of_files_are_read(tmp_path: Path) -> None:
    """A repository without built metadata names them in its tool's own table, or in a file."""
    poetry = '[tool.poetry]\nname = "demo"\n[tool.poetry.dependencies]\npython = "^3.9"\nsix = "^1.2"\n'
    assert read_project(write_tree(tmp_path / "a", {"pyproject.toml": poetry})).requires == ("six<2,>=1.2",)
    assert read_project(write_tree(tmp_path / "b", {"requirements.txt": "six>=1\n"})).requires == ("six>=1",)


@pytest.mark.parametrize(
    ("constraint", "line"),
    [
        ("^1.2.3", "six<2,>=1.2.3"),
        ("^0.2.3", "six<0.3,>=0.2.3"),
        ("^0.0.3", "six<0.0.4,>=0.0.3"),
        ("^0", "six<1,>=0"),
        ("~1.2.3", "six<1.3,>=1.2.3"),
        ("~1", "six<2,>=1"),
        ("1.2.*", "six==1.2.*"),
        ("1.2", "six==1.2"),
        ("*", "six"),
        (">=1,<3", "six<3,>=1"),
        ("~=1.4", "six~=1.4"),
        ("^1 || ^2", "six"),
    ],
)
def test_poetrys_constraints_are_told_as_pip_reads_them(constraint: str, line: str) -> None:
    """Carets and tildes become ranges; what cannot be told leaves the bare name."""
    document = f'[tool.poetry.dependencies]\nsix = "{constraint}"\n'.encode()
    (one,) = FORMATS["pyproject.toml"].read(document, "pyproject.toml").dependencies
    assert requirement_line(one) == line


def test_built_metadata_comes_first(tmp_path: Path) -> None:
    """A source distribution's own metadata is what its build found out."""
    files = {
        "PKG-INFO": "Metadata-Version: 2.1\nName: Demo\nVersion: 2.0\nRequires-Dist: six\n"
        "Requires-Dist: pretend ; extra == 'test'\nRequires-Dist: sphinx ; extra == 'docs'\n",
        "demo.egg-info/entry_points.txt": "[console_scripts]\ndemo = demo:main\n",
        "demo.egg-info/top_level.txt": "demo\n_demo\n",
        "pyproject.toml": PYPROJECT,
    }
    found = read_project(write_tree(tmp_path, files))

    assert (found.name, found.version) == ("Demo", "2.0")
    assert found.requires == ("six",)
    assert found.test_requires == ("pretend",)
    assert found.modules == ("demo", "_demo")


def test_broken_files_tell_nothing(tmp_path: Path) -> None:
    """Files of strangers may be anything."""
    files = {"pyproject.toml": "[", "setup.cfg": "no section", "setup.py": "def (", "PKG-INFO": ""}
    found = read_project(write_tree(tmp_path, files))

    assert (found.name, found.version, found.requires, found.entry_points) == (None, None, (), {})


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ('pywin32; os_name == "nt" and extra == "test"', 'pywin32; os_name == "nt"'),
        ('tomli>1; extra == "test" and python_version < "3.11"', 'tomli>1; python_version < "3.11"'),
        ("pytest (>=6) ; extra == 'test'", "pytest (>=6)"),
    ],
)
def test_what_a_marker_says_besides_the_extra_stays(line: str, left: str) -> None:
    """A package for Windows alone is not asked for on another system."""
    assert without_extra(line) == left
