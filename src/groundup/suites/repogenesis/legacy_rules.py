"""What the scripts before the harness make of what they see: pure, faults included.

Counts are the first of each kind in pytest's output, errors count nowhere, and a service that died is deployed
when its output holds a word that services print when they start. In Java, Surefire's reports are summed up,
whoever wrote them, and only without any the lines that Maven prints.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field

from groundup.domain.records import Record
from groundup.grading.last_words import last_words

TIMEOUT = "TIMEOUT"
"""What stands for the output of tests that were ended."""
_PASSED = re.compile(r"(\d+) passed")
_FAILED = re.compile(r"(\d+) failed")
_TOTAL = re.compile(r"TOTAL\s+\d+\s+\d+\s+(\d+)%")
_SUREFIRE = re.compile(r"Tests run: (\d{1,8}), Failures: (\d{1,8}), Errors: (\d{1,8}), Skipped: (\d{1,8})")
_STARTED = {
    "python": (
        "Running on",
        "Started",
        "Uvicorn running",
        "Application startup complete",
        "Listening on",
        "Accepting connections",
    ),
    "java": (
        "Started",
        "Javalin started",
        "Server started",
        "Application started",
        "Listening on",
        "Tomcat started",
    ),
}
_OCCUPIED = ("Address already in use", "Port already in use")
_DEPTH = 6
CONFIGURATIONS = ("requirements.txt", "setup.py", "pyproject.toml")
"""Where the scripts look, in this order, for what is to be installed; without any, nothing is deployed."""

SUCCESS = "Server started successfully"
CONFLICT = "Server deployable (port conflict)"
UNKNOWN = "Unknown or missing build config"
NO_SCRIPT = "start.sh not found (recursive)"
NOT_INSTALLED = "Pip install failed"
HANGING = "start.sh ended and what it left running keeps its output open: the script would wait for ever"
INSTALL_TIMEOUT = "Pip install timeout (>{:.0f}s)"
NOT_BUILT = "Maven build failed"
BUILD_TIMEOUT = "Maven build timeout (>{:.0f}s)"


class Counted(Record):
    """What the output of tests says, as it is read."""

    passed: int = 0
    failed: int = 0
    skipped: int = Field(default=0, description="in Java; what pytest skips counts nowhere")
    coverage: float | None = Field(default=0.0, description="in percent; None: not measured")

    @property
    def reported(self) -> int:
        """The tests that were reported; of pytest's, errors and skips are left out."""
        return self.passed + self.failed + self.skipped


class Started(Record):
    """Whether a service was deployed, and how that is told."""

    success: bool
    message: str
    said: str = ""
    """Its last words, for people."""


def read_output(output: str) -> Counted:
    """Return counts and test coverage in percent."""
    passed, failed, total = (pattern.search(output) for pattern in (_PASSED, _FAILED, _TOTAL))
    return Counted(
        passed=int(passed[1]) if passed else 0,
        failed=int(failed[1]) if failed else 0,
        coverage=float(total[1]) if total else 0.0,
    )


def read_java_tests(reports: Iterable[tuple[int, int, int, int]] | None, output: str) -> Counted:
    """Return the sums of *reports* (tests, failures, errors, skips), or without any those of Maven's lines.

    Each class has a line and all together have one, so everything in lines counts twice.
    """
    every = list(reports) if reports is not None else [_four(match) for match in _SUREFIRE.finditer(output)]
    run = sum(one[0] for one in every)
    failed = sum(one[1] + one[2] for one in every)
    skipped = sum(one[3] for one in every)
    return Counted(passed=max(run - failed - skipped, 0), failed=failed, skipped=skipped, coverage=None)


def _four(match: re.Match[str]) -> tuple[int, int, int, int]:
    return int(match[1]), int(match[2]), int(match[3]), int(match[4])


def read_start(exit_code: int | None, output: str, language: Literal["python", "java"] = "python") -> Started:
    """Return whether a service is deployed whose script ended so, or lived on (None)."""
    if exit_code is None or any(word in output for word in _STARTED[language]):
        return Started(success=True, message=SUCCESS)
    if any(word in output for word in _OCCUPIED):
        return Started(success=True, message=CONFLICT)
    said = last_words(output.encode(errors="replace"))
    return Started(success=False, message=f"Server exited with code {exit_code}", said=said)


def find_file(tree: Path, name: str) -> Path | None:
    """Return the file of this name at the root, or else somewhere below: the shallowest, then the first by name.

    The scripts take what the file system names first.
    """
    if (tree / name).exists():
        return tree / name
    found = (path for path in files_named(tree, name) if len(path.relative_to(tree).parts) <= _DEPTH)
    return next(found, None)


def files_named(tree: Path, name: str) -> list[Path]:
    """Return all files of this name, the shallowest first."""
    return sorted(
        (path for path in tree.rglob(name) if path.is_file() and not path.is_symlink()),
        key=lambda path: (len(path.parts), str(path)),
    )
