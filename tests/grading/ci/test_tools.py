"""Which interpreters and toolchains a job asks for."""

import json
from collections.abc import Mapping

import pytest
from pydantic import JsonValue

from groundup.grading.ci.plan import DEFAULT_PYTHON, python_asked_by_file, python_minors, substitute, tools_of
from groundup.grading.ci.records import Obstacle
from groundup.workflows.expressions import Contexts
from groundup.workflows.jobs import PlacedStep, placed_steps
from groundup.workflows.workflow import read_workflow
from tests.workflows.made import MadeTree


def steps(
    *found: Mapping[str, object],
    leg: Mapping[str, JsonValue] | None = None,
    files: Mapping[str, str] | None = None,
) -> tuple[PlacedStep, ...]:
    """Return these steps as they may run in *leg*."""
    job = read_workflow(json.dumps({"jobs": {"test": {"steps": found}}}).encode(), "x").job("test")
    return tuple(placed_steps(job.steps, Contexts(leg or {}), MadeTree(files or {})))


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("3.11", "3.11"),
        ("3.11.4", "3.11"),
        ("3.13-dev", "3.13"),
        ("3", DEFAULT_PYTHON),
        ("3.x", DEFAULT_PYTHON),
        (">=3.8,<3.12", "3.11"),
        (">= 3.8 < 3.11", "3.10"),
        ("~3.9", "3.9"),
        ("^3.8", "3.14"),
        ("cpython-3.10", "3.10"),
        ("~=3.9.1", "3.9"),
    ],
)
def test_versions_of_python_are_understood(asked: str, first: str) -> None:
    """Exact versions, ranges and wildcards lead to a minor version, the newest where several fit."""
    found = python_minors(asked)
    assert not isinstance(found, Obstacle)
    assert found[0] == first


@pytest.mark.parametrize("asked", ["pypy3.10", "pypy-3.9", "2.7", "3.13t", "graalpy-24", "nonsense"])
def test_other_pythons_are_obstacles(asked: str) -> None:
    """What is no CPython 3 with its lock is reported, not replaced."""
    assert isinstance(python_minors(asked), Obstacle)


@pytest.mark.parametrize(
    ("path", "text", "asked"),
    [
        (".python-version", "# ours\n3.11.4\n", "3.11.4"),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.9"\n', ">=3.9"),
        (".tool-versions", "nodejs 20\npython 3.12.1\n", "3.12.1"),
        (".python-version", "", ""),
    ],
)
def test_files_may_name_a_version(path: str, text: str, asked: str) -> None:
    """The files that setup-python takes are read for the version that they name."""
    assert python_asked_by_file(path, lambda name: text.encode()) == asked


def test_tools_come_from_actions_scripts_and_language() -> None:
    """Versions are resolved with the leg; words in scripts and the language add tools without versions."""
    found = tools_of(
        steps(
            {"uses": "actions/setup-python@v5", "with": {"python-version": "${{ matrix.py }}\n3.9"}},
            {"uses": "dtolnay/rust-toolchain@1.70"},
            {"run": "npm ci"},
            {"uses": "actions/setup-python@v5", "with": {"python-version-file": ".python-version"}},
            leg={"py": "3.12"},
        ),
        ("dotnet",),
    )
    assert set(found.kinds) == {"dotnet", "python", "rust", "node"}
    assert found.asked == {"python": ("3.12", "3.9"), "rust": ("1.70",)}
    assert found.python_files == (".python-version",)


def test_a_build_of_python_packages_may_call_npm_and_cargo() -> None:
    """Where a package of another language lies near the root, its tools lie ready without being needed."""
    python = steps({"run": "pip install -e ."})
    found = tools_of(
        python, ("python",), ("setup.py", "package.json", "src/native/Cargo.toml", "a/b/c/package.json")
    )
    assert (found.kinds, found.perhaps) == (("python",), ("node", "rust"))
    assert tools_of(python, ("python",), ("tests/data/app/package.json",)).perhaps == ()
    assert tools_of(steps({"run": "npm test"}), ("node",), ("Cargo.toml",)).perhaps == ()


@pytest.mark.parametrize(
    ("kind", "asked", "have", "expected"),
    [
        ("node", ("20", "20.x", "v20.1"), "20.1.0", False),
        ("node", ("18",), "20.1.0", True),
        ("rust", ("stable",), "1.80.0", False),
        ("rust", ("nightly",), "1.80.0", True),
        ("rust", ("1.70.0",), "1.80.0", True),
        ("dotnet", ("8.0.x",), "8.0.100", False),
        ("node", (), "20.1.0", False),
    ],
)
def test_substitutes_are_reported(kind: str, asked: tuple[str, ...], have: str, expected: bool) -> None:
    """A version that stands in the place of another is named; the one that was asked for is not."""
    assert (substitute(kind, asked, have) is not None) is expected


def test_versions_that_programs_are_asked_for_are_reported() -> None:
    """nvm and rustup bring nothing here, so what they were asked for is named beside what there is."""
    script = "nvm install --lts 18\nrustup toolchain install --profile minimal 1.70\ncargo +nightly test"
    asked = tools_of(steps({"run": script}), ()).asked
    assert asked == {"node": ("18",), "rust": ("1.70", "nightly")}
    assert substitute("rust", asked["rust"], "1.95.0") == "rust 1.95.0 for 1.70, nightly"


def test_versions_inside_local_actions_are_those_of_the_call() -> None:
    """A setup action that gets its version from an input of the action around it is asked for that version."""
    action = """
inputs: {python: {default: "3.9"}}
runs:
  using: composite
  steps: [{uses: actions/setup-python@v5, with: {python-version: "${{ inputs.python }}"}}]
"""
    files = {"a/action.yml": action}
    call = {"uses": "./a", "with": {"python": "${{ matrix.py }}"}}
    assert tools_of(steps(call, leg={"py": "3.11"}, files=files), ()).asked == {"python": ("3.11",)}
    assert tools_of(steps({"uses": "./a"}, files=files), ()).asked == {"python": ("3.9",)}


@pytest.mark.parametrize(
    ("script", "kinds", "perhaps"),
    [
        ('echo "this package needs no dotnet"', (), ("dotnet",)),
        ("if command -v dotnet; then dotnet test; fi\npytest", ("python",), ("dotnet",)),
        ("which cargo && cargo test", (), ("rust",)),
        ("npm run lint || true", (), ("node",)),
        ("npm run lint || exit 1", ("node",), ()),
        ("cat > notes <<EOF\ncargo test\nEOF\nnpm ci", ("node",), ("rust",)),
        ("# dotnet test\nuv run pytest", ("python",), ("dotnet",)),
        ('bash -ec "cd lib && cargo test"', ("rust",), ()),
        ('VERSION="$(dotnet --version)"', ("dotnet",), ()),
        ("sudo timeout 60 npx jest; for d in a b; do dotnet test $d; done", ("node", "dotnet"), ()),
        ("python3.12 -m tox -e py", ("python",), ()),
        ("grep -q cargo README.md", (), ("rust",)),
        ("./build.ps1 -ci", ("dotnet",), ()),
    ],
)
def test_words_are_not_commands(script: str, kinds: tuple[str, ...], perhaps: tuple[str, ...]) -> None:
    """A toolchain is needed where it is run; where it is only named, it lies ready if it is here."""
    found = tools_of(steps({"run": script}), ())
    assert (set(found.kinds), found.perhaps) == (set(kinds), perhaps)


def test_a_step_that_may_fail_needs_no_toolchain() -> None:
    """`continue-on-error` lets a job pass without the program, as it would on a runner."""
    found = tools_of(steps({"run": "cargo audit", "continue-on-error": True}, {"run": "npm test"}), ())
    assert (found.kinds, found.perhaps) == (("node",), ("rust",))
