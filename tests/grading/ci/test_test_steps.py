"""Which steps run tests."""

import json
from collections.abc import Mapping

import pytest

from groundup.workflows.test_steps import test_commands as commands_of
from groundup.workflows.test_steps import test_steps as steps_of
from groundup.workflows.workflow import Job, read_workflow


def job(*steps: Mapping[str, object]) -> Job:
    """Return a job with these steps."""
    return read_workflow(json.dumps({"jobs": {"test": {"steps": steps}}}).encode(), "ci.yml").job("test")


@pytest.mark.parametrize(
    "script",
    [
        "pytest",
        "python -m pytest -x tests",
        "coverage run -m pytest",
        "coverage run test.py",
        "tox -e py311",
        "python -m unittest discover",
        "python setup.py test",
        "poetry run pytest",
        "uv run --frozen pytest",
        "hatch run test:all",
        "nox -s tests",
        "make test",
        "make -C lib check",
        "cargo test --all-features",
        "cargo +nightly test",
        "cargo nextest run",
        "cross test --target x",
        "npm test",
        "npm t",
        "npm run test:unit",
        "yarn test",
        "yarn workspace app test",
        "pnpm -r test",
        "pnpm vitest --coverage",
        "npx jest",
        "npx mocha",
        "node --test",
        "dotnet test --no-build",
        "cd lib && pytest",
        "xvfb-run npm test",
        "FOO=1 pytest",
        "./node_modules/.bin/jest --ci",
        "pip install -e . && pytest",
    ],
)
def test_runners_are_seen(script: str) -> None:
    """The usual ways to run tests are known, behind wrappers and in one line with something else."""
    assert commands_of(script)


@pytest.mark.parametrize(
    "script",
    [
        "pip install pytest",
        "python -m pip install tox",
        "npm ci",
        "npm install",
        "yarn install",
        "cargo build",
        "cargo install cargo-nextest",
        "echo run pytest",
        "# pytest",
        "dotnet build",
        "apt-get install -y test-tools",
        "cargo test --no-run",
        "ruff check .",
        "black --check .",
        "npm run build",
        "rustup component add clippy",
    ],
)
def test_preparations_are_not(script: str) -> None:
    """Installing a runner, or naming it, runs no test."""
    assert not commands_of(script)


def test_actions_can_run_tests() -> None:
    """An action that calls Cargo runs tests when its inputs say so."""
    with_cargo = {"uses": "actions-rs/cargo@v1", "with": {"command": "test", "args": "--all"}}
    building = {"uses": "actions-rs/cargo@v1", "with": {"command": "build"}}
    assert [step.index for step in steps_of(job(building, with_cargo), {})] == [1]


def test_names_help_where_scripts_do_not() -> None:
    """A script that says nothing counts when its step is called a test, and only then."""
    found = steps_of(job({"run": "./ci.sh"}, {"name": "Run tests", "run": "./all.sh"}), {})
    assert [step.index for step in found] == [1]
    assert not steps_of(job({"run": "./ci.sh"}), {})


def test_matrix_values_are_followed() -> None:
    """A command that comes from the matrix is read with the leg's value."""
    one = job({"run": "${{ matrix.cmd }}"})
    assert steps_of(one, {"cmd": "pytest"})
    assert not steps_of(one, {"cmd": "mypy"})
