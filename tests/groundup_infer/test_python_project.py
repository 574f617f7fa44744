"""What a Python project's files say of its layout, in the words of each builder."""

import pytest

from groundup.sources.files import SourceFiles
from groundup_infer.python_project import PythonProject, read_project


def read(name: str, text: str) -> PythonProject:
    """Read a project that has one file."""
    return read_project(SourceFiles((), {name: text.encode()}, whole=True))


@pytest.mark.parametrize(
    ("name", "text", "packages"),
    [
        ("pyproject.toml", "[tool.setuptools]\npackages = ['a', 'a.b']\npy-modules = ['c']", ("a", "c")),
        ("pyproject.toml", "[tool.setuptools.packages.find]\ninclude = ['a*']", ("a*",)),
        ("pyproject.toml", "[tool.flit.module]\nname = 'a'", ("a",)),
        ("pyproject.toml", "[tool.poetry]\npackages = [{include = 'a', from = 'src'}]", ("a",)),
        ("pyproject.toml", "[tool.hatch.build.targets.wheel]\npackages = ['src/a']", ("a",)),
        ("setup.cfg", "[options]\npackages =\n    a\n    a.b\npy_modules = c\n", ("a", "c")),
        ("setup.cfg", "[options]\npackages = find:\n", ()),
        ("setup.cfg", "[options]\npackages = find_namespace:\n[options.packages.find]\ninclude = a*\n", ("a*",)),
        ("setup.cfg", "[files]\npackages =\n    a\nmodules = c\n", ("a", "c")),
        ("setup.py", "setup(packages=['a', 'a.b'], py_modules=['c'])", ("a", "c")),
        ("setup.py", "setup(packages=find_packages())", ()),
    ],
)
def test_what_is_installed_is_known_as_far_as_it_is_said(name: str, text: str, packages: tuple[str, ...]) -> None:
    """Top-level names and patterns; what a builder has to find itself is not guessed."""
    assert read(name, text).packages == packages


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[project.scripts]\nx = 'a.cli:main'\n[project.entry-points.pytest11]\ny = 'a.plugin'"),
        (
            "pyproject.toml",
            "[tool.poetry.scripts]\nx = 'a.cli:main'\n[tool.poetry.plugins.p]\ny = 'a.plugin:z [e]'",
        ),
        (
            "setup.cfg",
            "[options.entry_points]\nconsole_scripts =\n    x = a.cli:main\npytest11 =\n    y = a.plugin\n",
        ),
    ],
)
def test_scripts_are_told_from_plugins(name: str, text: str) -> None:
    """Both by the module behind them."""
    found = read(name, text)
    assert (found.scripts, found.plugins) == (("a.cli",), ("a.plugin",))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.setuptools]\next-modules = [{name = 'a._fast'}]"),
        ("pyproject.toml", "[tool.maturin]\nmodule-name = 'a._fast'"),
        ("setup.py", "setup(ext_modules=[Extension('a._fast', ['fast.c'])])"),
    ],
)
def test_what_is_compiled_has_its_top_level_name(name: str, text: str) -> None:
    """No source file shows it."""
    assert read(name, text).extensions == {"a"}
