"""The rules of the published evaluator, faults included, as pure functions and one deletion.

Each function reproduces one step of it: what is deleted, how a command is split, how outputs become a score.
What is wrong with these rules is listed in docs/nl2repobench.md; `strict` does not use any of them.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from groundup.domain.records import Record

PACKAGE_FILES = frozenset(
    {
        "setup.py",
        "pyproject.toml",
        "setup.cfg",
        "requirements.txt",
        "requirements-dev.txt",
        "requirements-test.txt",
        "tox.ini",
        "pytest.ini",
        "poetry.lock",
        "Pipfile",
        "Pipfile.lock",
        "environment.yml",
        "conda-env.yaml",
        "manifest.in",
        "MANIFEST.in",
    }
)
"""Deleted by name, anywhere in the submission."""

_PASSED = re.compile(r"(\d+) passed")
_FAILED = re.compile(r"(\d+) failed")
_ERRORS = re.compile(r"(\d+) error")


class CommandOutput(Record):
    """One command of the task, as written, and everything that it printed."""

    command: str
    output: str
    exit_code: int = 0


class Counts(Record):
    """What the regular expressions found in the outputs of all commands that name pytest."""

    passed: int = 0
    failed: int = 0
    errors: int = 0


def delete_package_files(workspace: Path) -> list[str]:
    """Delete every file named like a package declaration, a library's own data included; return their paths."""
    removed = []
    for folder, _, names in os.walk(workspace):
        for name in names:
            if name in PACKAGE_FILES:
                path = Path(folder) / name
                path.unlink()
                removed.append(str(path.relative_to(workspace)))
    return sorted(removed)


def delete_test_files(workspace: Path, listed: Iterable[str]) -> list[str]:
    """Delete the listed paths; return them.

    A folder that is a symbolic link stays: the published deletion fails on it and goes on. A dangling link
    counts as absent and stays as well.
    """
    removed = []
    for name in listed:
        target = workspace / name
        if not target.exists():
            continue
        if target.is_dir():
            if target.is_symlink():
                continue
            shutil.rmtree(target)
        else:
            target.unlink()
        removed.append(name)
    return removed


def split_command(command: str) -> list[str]:
    """Split as the published evaluator does: no shell, so `&&`, `>` and `NAME=value` become plain arguments."""
    return shlex.split(command)


def count(outputs: Sequence[CommandOutput]) -> Counts:
    """Add up the first match per kind and line of every command whose text contains "pytest"."""
    passed = failed = errors = 0
    for result in outputs:
        if "pytest" not in result.command.lower():
            continue
        for line in result.output.split("\n"):
            passed += _first(_PASSED, line)
            failed += _first(_FAILED, line)
            errors += _first(_ERRORS, line)
    return Counts(passed=passed, failed=failed, errors=errors)


def success_rate(passed: int, declared: int) -> float:
    """Return passed/declared, at most 1; 0 when nothing is declared."""
    return min(passed / declared, 1) if declared > 0 else 0.0


def _first(pattern: re.Pattern[str], line: str) -> int:
    match = pattern.search(line)
    return int(match.group(1)) if match else 0
