"""A submission's own layout becomes an import root, and nothing else does."""

from pathlib import Path

import pytest

from groundup.grading.library.hidden import Extensions, HiddenTests
from groundup.grading.library.layout import laid_out, packages_to_move, with_own_roots, with_version_file
from tests.grading.library.laboratory import LIBRARY, write_tree

FLAT = HiddenTests(packages=("calc", "calc.ops"), arguments=("tests",), protected=("tests",))
STALE = {"build/lib/calc/__init__.py": "", ".venv/lib/python3.11/site-packages/calc/__init__.py": ""}
DECLARED = {
    "setup.py": "setup(package_dir={'': 'code/py'}, packages=['calc'])",
    "setup.cfg": "[options.packages.find]\nwhere = code/py\n",
    "pyproject.toml": "[tool.setuptools.packages.find]\nwhere = ['code/py']\n",
}

BACKENDS = (
    "[tool.setuptools]\npackage-dir = {'' = 'code/py'}",
    "[tool.setuptools]\npackage-dir = {calc = 'code/py/calc'}",
    "[[tool.poetry.packages]]\ninclude = 'calc'\nfrom = 'code/py'",
    "[tool.hatch.build.targets.wheel]\npackages = ['code/py/calc']",
    "[tool.hatch.build.targets.wheel]\nonly-include = ['code/py/calc']\nsources = ['code/py']",
    "[tool.hatch.build.targets.wheel.sources]\n'code/py/calc' = 'calc'",
    "[tool.hatch.build]\nsources = ['code/py']",
    "[tool.pdm]\npackage-dir = 'code/py'",
    "[tool.pdm.build]\npackage-dir = 'code/py'",
    "[tool.uv.build-backend]\nmodule-root = 'code/py'",
    "[tool.maturin]\npython-source = 'code/py'",
    "[tool.scikit-build]\nwheel.packages = ['code/py/calc']",
)


@pytest.mark.parametrize(
    ("files", "folder"),
    [
        ({"src/calc/__init__.py": LIBRARY, **STALE}, "src"),
        ({"src/calc.py": LIBRARY}, "src"),
        ({"lib/calc/__init__.py": LIBRARY, "src/other.py": ""}, "lib"),
        *(({"code/py/calc/__init__.py": LIBRARY, name: text}, "code/py") for name, text in DECLARED.items()),
        *(({"code/py/calc/__init__.py": LIBRARY, "pyproject.toml": text}, "code/py") for text in BACKENDS),
    ],
)
def test_what_an_installation_would_find_is_found(tmp_path: Path, files: dict[str, str], folder: str) -> None:
    """A package below a usual folder, or one that a project file declares, is imported from there."""
    found = with_own_roots(write_tree(tmp_path / "tree", files), FLAT)
    assert found == FLAT.but(import_roots=(".", folder))


def test_a_flat_submission_of_an_original_in_src(tmp_path: Path) -> None:
    """It goes both ways; what building writes, and the path of programs that tests start, go along."""
    hidden = FLAT.but(
        import_roots=("src",),
        child_path=("src",),
        generated={"src/calc/_version.py": "version = '1'\n", "src/calc/data/": "", "src/made.txt": "x"},
    )
    found = with_own_roots(write_tree(tmp_path / "tree", {"calc/__init__.py": LIBRARY}), hidden)
    assert found.import_roots == found.child_path == ("src", ".")
    assert found.generated == {"calc/_version.py": "version = '1'\n", "calc/data/": "", "src/made.txt": "x"}


@pytest.mark.parametrize(
    "files",
    [
        {"calc/__init__.py": LIBRARY, "src/calc/__init__.py": "", **DECLARED},
        {"calc.py": LIBRARY, "src/calc.py": ""},
        STALE,
        {"../outside/calc/__init__.py": LIBRARY, "setup.py": "setup(package_dir={'': '../outside'})"},
        {},
    ],
)
def test_nothing_else_becomes_an_import_root(tmp_path: Path, files: dict[str, str]) -> None:
    """The original's layout counts first; leftovers of builds, environments and places outside never do."""
    assert with_own_roots(write_tree(tmp_path / "tree", files), FLAT) == FLAT


@pytest.mark.parametrize(("folder", "moved"), [("code/engine", {"code/engine": "calc"}), ("code/calc", {})])
def test_a_folder_moves_only_where_it_is_installed_under_another_name(
    tmp_path: Path, folder: str, moved: dict[str, str]
) -> None:
    """Below one of its own name the package can be imported from where it lies."""
    files = {
        f"{folder}/__init__.py": LIBRARY,
        "pyproject.toml": f"[tool.setuptools]\npackage-dir = {{calc = '{folder}'}}",
    }
    assert packages_to_move(write_tree(tmp_path / "tree", files), FLAT) == moved


def test_packages_with_hidden_tests_inside_move_to_where_the_original_has_them(tmp_path: Path) -> None:
    """Tests are restored there and belong to them; the submission itself stays as it was handed in."""
    hidden = HiddenTests(packages=("calc",), arguments=("calc/tests",), protected=("calc/tests",))
    files = {"src/calc/__init__.py": LIBRARY, "src/calc/ops.py": "", "README": ""}
    tree = write_tree(tmp_path / "tree", files)
    (tmp_path / "scratch").mkdir()
    copy, laid = laid_out(tree, hidden, tmp_path / "scratch")

    assert {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()} == {
        *("calc/__init__.py", "calc/ops.py", "README"),
    }
    assert (laid, copy.parent) == (hidden, tmp_path / "scratch")
    assert (tree / "src/calc/__init__.py").is_file()
    assert laid_out(tree, FLAT, tmp_path) == (tree, FLAT.but(import_roots=(".", "src")))


@pytest.mark.parametrize(
    ("files", "links"),
    [
        ({"src/calc/__init__.py": ""}, {"calc": "elsewhere"}),
        ({"code/calc/__init__.py": ""}, {"src": "code"}),
        ({"src/calc/__init__.py": "", "calc": "no folder"}, {}),
        ({"src/calc/ops.py": ""}, {}),
        ({"src/calc/__init__.py": "", "calc/data.txt": ""}, {}),
        ({"calc/calc/__init__.py": "", "setup.py": "setup(package_dir={'': 'calc'})"}, {}),
        ({"../calc/__init__.py": "", "setup.py": "setup(package_dir={'calc': '../calc'})"}, {}),
        ({"setup.py": "setup(package_dir={'calc': '/'})"}, {}),
    ],
    ids=["a link", "through a link", "a file", "no package", "a folder", "inside", "outside", "the root"],
)
def test_no_package_moves_where_something_stands_or_from_outside(
    tmp_path: Path, files: dict[str, str], links: dict[str, str]
) -> None:
    """Where the original has it there may be nothing, and no link leads on the way."""
    tree = write_tree(tmp_path / "tree", files)
    for name, target in links.items():
        (tree / name).symlink_to(target)
    assert packages_to_move(tree, FLAT.but(protected=("calc/tests",))) == {}


def test_links_and_extensions_keep_the_layout(tmp_path: Path) -> None:
    """A project file that is a link is not read, and extensions are compiled where the recipe says."""
    files = {"src/calc/__init__.py": LIBRARY, "far/calc/__init__.py": ""}
    tree = write_tree(tmp_path / "tree", files)
    write_tree(tmp_path / "elsewhere", {"setup.py": "setup(package_dir={'': 'far'})"})
    (tree / "setup.py").symlink_to(tmp_path / "elsewhere/setup.py")
    assert with_own_roots(tree, FLAT).import_roots == (".", "src")
    compiled = FLAT.but(extensions=Extensions(outputs=("calc/*.so",)))
    assert with_own_roots(tree, compiled) == compiled


@pytest.mark.parametrize(
    ("project", "path"),
    [
        (
            "[tool.setuptools_scm]\nversion_file = 'calc/_version.py'\nfallback_version = '1.2rc1'\n",
            "calc/_version.py",
        ),
        ("[tool.setuptools_scm]\nwrite_to = 'src/calc/made.py'\n", "src/calc/made.py"),
        ("[tool.hatch.build.hooks.vcs]\nversion-file = 'calc/_version.py'\n", "calc/_version.py"),
        ("[tool.setuptools_scm]\nversion_file = 'tests/conftest.py'\n", None),
        ("[tool.setuptools_scm]\nversion_file = 'calc/../sitecustomize.py'\n", None),
        ("[tool.setuptools_scm]\nversion_file = 'calc/tests/test_a.py'\n", None),
        ("[tool]\nsetuptools_scm = 3\n", None),
        ("broken [", None),
    ],
)
def test_the_version_that_building_writes_is_there(tmp_path: Path, project: str, path: str | None) -> None:
    """A module in a package of the submission is written as its build backend would; nothing else can be."""
    hidden = FLAT.but(import_roots=(".", "src"), protected=("tests", "calc/tests"))
    found = with_version_file(write_tree(tmp_path / "tree", {"pyproject.toml": project}), hidden)
    assert list(found.generated) == ([path] if path else [])
    for text in map(str, found.generated.values()):
        made: dict[str, object] = {}
        exec(text, made)
        assert made["version"] == made["__version__"] == ("1.2rc1" if "rc1" in project else "0")
        assert made["version_tuple"] == ((1, "2rc1") if "rc1" in project else (0,))
