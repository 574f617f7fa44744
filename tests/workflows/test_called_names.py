"""Ways of calling a test runner: wrappers, looked-up programs, defaults of variables, make in make."""

import pytest

from groundup.workflows.meanings import Meanings
from groundup.workflows.runners import Purpose
from tests.workflows.made import MadeTree

FILES = {
    "Makefile": "all:\n\t$(MAKE) unit\nunit:\n\tpytest\n",
    "package.json": '{"scripts": {"test": "echo no tests && exit 0"}}',
    "tests/test_fly.py": "def test_flies():\n    assert True\n",
    "tools/verify.py": "assert 1\n",
}


def purposes(script: str) -> set[Purpose]:
    """Return what a script is for, in a repository of these files."""
    return {meaning.purpose for meaning in Meanings(MadeTree(FILES)).of(script)}


@pytest.mark.parametrize(
    "script",
    [
        "make all",
        "nice -n 5 pytest",
        "stdbuf -oL pytest -q",
        "script -e -c 'pytest tests'",
        "retry 3 pytest",
        "ls tests | xargs -n 1 pytest",
        "eval pytest tests",
        "conda run -n env pytest",
        "${PYTHON:-python} -m pytest",
        "$(which pytest) tests",
        "$(command -v python) -m unittest",
        "npx nx affected -t test",
        "wasm-pack test --node",
    ],
)
def test_a_runner_is_seen_behind_what_calls_it(script: str) -> None:
    """However it is wrapped."""
    assert Purpose.TEST in purposes(script)


@pytest.mark.parametrize(
    ("script", "purpose"),
    [
        ("npm test", Purpose.NOTHING),
        ("npm run none --if-present", Purpose.NOTHING),
        ("python tests/test_fly.py", Purpose.NOTHING),
        ("python tools/verify.py", Purpose.OWN),
        ("wasm-pack build", Purpose.BUILD),
    ],
)
def test_what_tests_nothing_is_told_from_what_may(script: str, purpose: Purpose) -> None:
    """A script that prints, a missing one, a file that only defines; and a program of the repository's own."""
    assert purposes(script) == {purpose}
