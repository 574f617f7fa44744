"""What of a submission comes along, and what of the original."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.errors import TaskError
from groundup.grading.library.composition import CompositionPlan, FoundEntry, plan
from groundup.grading.library.hidden import HiddenTests
from groundup.trees.walking import Kind

HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))
ORIGINAL = [FoundEntry(path="tests", kind="folder"), FoundEntry(path="tests/test_a.py", kind="file")]


def _plan(*paths: str, hidden: HiddenTests = HIDDEN, occupied: frozenset[str] = frozenset()) -> CompositionPlan:
    """Compose a submission of files; their folders are added."""
    folders = {"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, path.count("/") + 1)}
    found = [FoundEntry(path=path, kind="folder") for path in folders] + [
        FoundEntry(path=path, kind="file") for path in paths
    ]
    return plan(sorted(found, key=lambda entry: entry.path), ORIGINAL, hidden, occupied)


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "calc/conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "deep/er/pytest.ini",
        "pytest.toml",
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        "sitecustomize.py",
        "usercustomize/__init__.py",
        "calc/sitecustomize.py",
        "evil.pth",
        "calc/evil.pth",
        "calc-1.0.dist-info/entry_points.txt",
        "calc.egg-info/entry_points.txt",
        "calc/__pycache__/core.cpython-310.pyc",
        "calc/core.pyc",
        "pytest.py",
        "_pytest/__init__.py",
        "pluggy.py",
        "json.py",
        "json/__init__.py",
        "distutils/__init__.py",
        "py.cpython-310-x86_64-linux-gnu.so",
        "tests/test_a.py",
        "tests/helper.py",
    ],
)
def test_what_speaks_to_pytest_or_the_interpreter_is_absent(path: str) -> None:
    """No file of a submission can configure pytest, run at start-up, or stand in for a module or a hidden test."""
    assert path not in _plan(path, "calc/core.py").kept


@pytest.mark.parametrize(
    "path",
    [
        "calc/__init__.py",
        "calc/json.py",
        "calc/templates/setup.cfg",
        "calc/templates/pyproject.toml",
        "calc/test_helpers.py",
        "helpers.py",
        "data/pytest.txt",
        "README.md",
        "setup.py",
    ],
)
def test_ordinary_files_come_along(path: str) -> None:
    """A library keeps its modules and its data, also data that is named like configuration."""
    assert path in _plan(path).kept


def test_the_names_of_the_environment_are_taken() -> None:
    """A submission cannot bring its own copy of an installed dependency, unless it is the one that is tested."""
    composed = _plan("attr/__init__.py", "calc/__init__.py", occupied=frozenset({"attr", "calc"}))

    assert "attr/__init__.py" not in composed.kept
    assert "calc/__init__.py" in composed.kept


@pytest.mark.parametrize("path", ["tests.py", "helper.py", "helper/__init__.py", "test_a.py"])
def test_modules_of_the_hidden_tests_cannot_be_stood_in_for(path: str) -> None:
    """What hidden tests import from each other is theirs, wherever pytest puts their folder on the path."""
    original = [*ORIGINAL, FoundEntry(path="tests/helper.py", kind="file")]
    top, _, below = path.partition("/")
    found = [
        FoundEntry(path=top, kind="folder" if below else "file"),
        FoundEntry(path="calc/helper.py", kind="file"),
    ]

    assert plan(found, original, HIDDEN).kept == {"calc/helper.py"}


def test_modules_of_a_package_of_tests_take_no_names() -> None:
    """Where the hidden tests are a package, a submission's module that is named like a helper of theirs stays."""
    original = [*ORIGINAL, *(FoundEntry(path=f"tests/{name}.py", kind="file") for name in ("__init__", "helper"))]

    assert plan([FoundEntry(path="helper.py", kind="file")], original, HIDDEN).kept == {"helper.py"}


def test_shadows_are_looked_for_in_every_import_root() -> None:
    """With a src layout, both the root and src are searched by the interpreter, so both are swept."""
    hidden = HIDDEN.but(import_roots=("src",))
    composed = _plan("src/pytest.py", "pytest.py", "src/calc/pytest.py", hidden=hidden)

    assert "src/calc/pytest.py" in composed.kept
    assert not {"src/pytest.py", "pytest.py"} & composed.kept


def test_a_folder_that_only_leads_to_the_packages_may_be_named_like_a_module() -> None:
    """With packages in `code/py`, `code` stays, but nothing in it that would make it the module."""
    hidden = HIDDEN.but(import_roots=(".", "code/py"))
    found = [FoundEntry(path=path, kind="folder") for path in ("code", "code/py", "code/py/calc", "json")]
    found += [FoundEntry(path=path, kind="file") for path in ("code/__init__.py", "code/py/calc/__init__.py")]
    found += [FoundEntry(path=path, kind="file") for path in ("code.py", "code/py/json.py")]
    composed = plan(found, ORIGINAL, hidden)

    assert composed.kept == {"code", "code/py", "code/py/calc", "code/py/calc/__init__.py"}
    shadows = {"code/__init__.py": "code", "code.py": "code", "json": "json", "code/py/json.py": "json"}
    why = {one.path: one.why for one in composed.dropped}
    assert why == {path: f"would stand in for the module {module}" for path, module in shadows.items()}


@pytest.mark.parametrize("kind", ["link", "file"])
def test_nothing_stands_in_the_way_of_a_protected_folder(kind: Kind) -> None:
    """A link or file where a protected path needs a folder is left out, so no mount can be led elsewhere."""
    hidden = HIDDEN.but(protected=("calc/tests",), arguments=("calc/tests",))
    original = [FoundEntry(path="calc/tests/test_a.py", kind="file")]
    composed = plan([FoundEntry(path="calc", kind=kind)], original, hidden)

    assert not composed.kept


@pytest.mark.parametrize("kind", ["device", "fifo", "socket", "unreadable"])
def test_special_files_are_left_out(kind: Kind) -> None:
    """Only files, folders and links are ever composed."""
    assert not plan([FoundEntry(path="x", kind=kind)], ORIGINAL, HIDDEN).kept


def test_what_was_left_out_is_reported_once_per_folder() -> None:
    """A person who reads the list sees the folder, not each of its thousand files."""
    composed = _plan("tests/a/b.py", "tests/c.py", "conftest.py")

    assert [(entry.path, entry.why) for entry in composed.dropped] == [
        ("conftest.py", "a conftest"),
        ("tests", "the original's tests or data lie here"),
    ]


def test_only_protected_paths_of_the_original_are_restored() -> None:
    """The original's library never reaches a submission's sandbox."""
    original = [
        *ORIGINAL,
        FoundEntry(path="calc/__init__.py", kind="file"),
        FoundEntry(path="testsuite.py", kind="file"),
    ]

    assert plan([], original, HIDDEN).restored == {"tests", "tests/test_a.py"}


def test_a_recipe_that_protects_what_is_not_there_is_at_fault() -> None:
    """A wrong recipe is the task's fault, never the submission's."""
    with pytest.raises(TaskError, match=r"no 'tests'.*mend the recipe"):
        plan([], [], HIDDEN)


_FOLDER = st.sampled_from(["calc", "tests", "pytest", "src", "__pycache__", "calc.egg-info", "data"])
_FILE = st.sampled_from(["conftest.py", "a.py", "x.pth", "setup.cfg", "json.py", "test_a.py", "b.pyc", "c.txt"])


@given(st.lists(st.builds(lambda above, name: "/".join([*above, name]), st.lists(_FOLDER, max_size=3), _FILE)))
def test_everything_is_either_kept_or_left_out(paths: list[str]) -> None:
    """No entry gets lost on the way, and nothing below a protected path is ever kept."""
    composed = _plan(*paths)
    left_out = {entry.path for entry in composed.dropped}

    for path in paths:
        above = {"/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 2)}
        assert (path in composed.kept) != bool(above & left_out)
    assert not any(path == "tests" or path.startswith("tests/") for path in composed.kept)
