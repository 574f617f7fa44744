"""Tests of groundup.grading.ci.plan: which lines may fail where only the tests decide."""

import json
from collections.abc import Mapping

import pytest

from groundup.grading.ci.plan import PASSED_OVER, lenient_scripts
from groundup.workflows.jobs import JobReader
from groundup.workflows.workflow import read_workflow
from tests.workflows.made import MadeTree


def changed(script: str, files: Mapping[str, str] | None = None, **more: str) -> str | None:
    """Return what becomes of a script; None: it stays as it is."""
    steps = [{"run": script, **more}, {"run": "pytest"}]
    workflow = read_workflow(json.dumps({"jobs": {"test": {"steps": steps}}}).encode(), "ci.yml")
    reader = JobReader(MadeTree(files or {}))
    return lenient_scripts(reader, workflow, workflow.job("test"), {}).get(0)


@pytest.mark.parametrize(
    "line", ["ruff format --check .", "python -m mypy src", "cargo clippy --all-features", "npx tsc --noEmit"]
)
def test_a_check_on_a_line_of_its_own_may_fail(line: str) -> None:
    """The lines around it stay, so that what they run decides."""
    script = changed(f"pip install x\n{line}\nmake build")
    assert script is not None
    first, check, last = script.splitlines()
    assert (first, last) == ("pip install x", "make build")
    assert check == f'{line} || echo "groundup: {line}: {PASSED_OVER}"'


def test_scripts_of_the_project_are_followed() -> None:
    """`npm run lint` checks style where the package says so; what also tests is no mere check."""
    package = {"package.json": json.dumps({"scripts": {"lint": "eslint .", "both": "eslint . && mocha"}})}
    assert changed("npm run lint", package) is not None
    assert changed("npm run both", package) is None


@pytest.mark.parametrize(
    "script",
    [
        "pytest", "pip install ruff", "tsc", "ruff check . && pytest", "ruff check . # all of it",
        "cat <<E\nruff .\nE", "if true; then\n  ruff check .; fi", "cd src &&\nruff check .",
    ],
)  # fmt: skip
def test_everything_else_stays(script: str) -> None:
    """What builds, installs or tests, and what is more than one plain command, may not fail."""
    assert changed(script) is None


def test_only_shells_are_read() -> None:
    """A script of Python has no `||`."""
    assert changed("ruff check .", shell="python") is None
    assert changed("ruff check .", shell="bash") is not None


def test_the_name_of_a_check_is_plain_text() -> None:
    """Quotes and expressions of the line cannot end the message, or be run by it."""
    script = changed("flake8 --select='E9' \"$(pwd)\" ${{ matrix.folder }}")
    assert script is not None
    assert script.endswith(f'echo "groundup: flake8 --select=E9 pwd  matrix.folder: {PASSED_OVER}"')
