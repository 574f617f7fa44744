"""Which steps run tests."""

import json
from collections.abc import Mapping

import pytest

from groundup.workflows.workflow import Job, read_workflow
from tests.workflows.made import steps_with_tests

TOX = "[testenv]\ncommands = pytest\n[testenv:types-test]\ncommands = mypy tests\n"


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
    assert steps_with_tests(job({"run": script}), {})


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
        "node --check tests.js",
        "npm run build",
        "rustup component add clippy",
    ],
)
def test_preparations_are_not(script: str) -> None:
    """Installing a runner, or naming it, runs no test."""
    assert not steps_with_tests(job({"run": script}), {})


def test_actions_can_run_tests() -> None:
    """An action that calls Cargo runs tests when its inputs say so."""
    with_cargo = {"uses": "actions-rs/cargo@v1", "with": {"command": "test", "args": "--all"}}
    building = {"uses": "actions-rs/cargo@v1", "with": {"command": "build"}}
    assert [step.index for step in steps_with_tests(job(building, with_cargo), {})] == [1]


def test_names_help_where_scripts_do_not() -> None:
    """A script that says nothing counts when its step is called a test, and only then."""
    found = steps_with_tests(job({"run": "./ci.sh"}, {"name": "Run tests", "run": "./all.sh"}), {})
    assert [step.index for step in found] == [1]
    assert not steps_with_tests(job({"run": "./ci.sh"}), {})


def test_matrix_values_are_followed() -> None:
    """A command that comes from the matrix is read with the leg's value."""
    one = job({"run": "${{ matrix.cmd }}"})
    assert steps_with_tests(one, {"cmd": "pytest"})
    assert not steps_with_tests(one, {"cmd": "mypy"})


def test_the_projects_own_names_are_followed() -> None:
    """A target that lints is no test, whatever it is called; one that tests is one under any name."""
    files = {"Makefile": "test-style:\n\tflake8\nall:\n\tpython -m pytest\n", "tox.ini": TOX}
    for script, tests in (("make test-style", 0), ("make all", 1), ("tox -e types-test", 0), ("tox -e py", 1)):
        assert len(steps_with_tests(job({"run": script}), {}, files)) == tests, script


def test_a_local_action_that_tests_makes_its_calling_step_a_test() -> None:
    """The job's own step is the one that must run, because the log names that."""
    action = "runs: {using: composite, steps: [{run: cargo build, shell: bash}, {run: cargo test, shell: bash}]}"
    one = job({"run": "echo"}, {"uses": "./go"})

    assert [step.index for step in steps_with_tests(one, {}, {"go/action.yml": action})] == [1]


def test_a_name_does_not_make_tests_of_what_is_known_to_build() -> None:
    """A step called a test whose command is known to do something else runs no tests."""
    assert not steps_with_tests(job({"name": "Test the docs", "run": "sphinx-build docs out"}), {})


def test_defaults_of_shell_variables_are_followed() -> None:
    """`${NAME:-default}` is the variable's value, or the default where it is empty."""
    script = "${RUNNER:-pytest} -q"
    assert steps_with_tests(job({"run": script, "env": {"RUNNER": "${{ matrix.runner }}"}}), {"runner": ""})
    assert not steps_with_tests(
        job({"run": script, "env": {"RUNNER": "${{ matrix.runner }}"}}), {"runner": "mypy"}
    )


def test_steps_that_the_leg_skips_count_only_where_no_other_tests() -> None:
    """A step for another system is no test of this leg; a job whose tests are all skipped still has tests."""
    skipped = {"run": "pytest", "if": "runner.os == 'Windows'"}

    assert [step.index for step in steps_with_tests(job(skipped, {"run": "pytest"}), {})] == [1]
    assert [step.index for step in steps_with_tests(job(skipped, {"run": "echo"}), {})] == [0]
