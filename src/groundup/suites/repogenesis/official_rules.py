"""What the published harness reads out of a container's log: pure, faults included.

Counts are whatever a line of the log says, the last of each kind; skipped tests count nowhere. In Java they are
the sums of all lines of Surefire. Without both markers the whole log is read.
"""

import re

from pydantic import Field

from groundup.domain.records import Record

DSR_MARKERS = (">>>>> DSR_START", ">>>>> DSR_END")
TEST_MARKERS = (">>>>> TEST_START", ">>>>> TEST_END")
NO_MARKERS = "No DSR markers found in container output"
_OWN_WORDS = ("DSR_", "Starting service", "Waiting for service", "Process ", "Evaluation complete", "WARNING: No ")
_TRUE = ("true", "1", "yes")
_COUNTS = {
    "passed": re.compile(r"(\d+)\s+passed"),
    "failed": re.compile(r"(\d+)\s+failed"),
    "errors": re.compile(r"(\d+)\s+error"),
}

_SUREFIRE = re.compile(r"Tests run:\s*(\d+),\s*Failures:\s*(\d+),\s*Errors:\s*(\d+),\s*Skipped:\s*(\d+)")


class Deployed(Record):
    """What the log says of the deployment."""

    success: bool
    message: str


class Counts(Record):
    """What the log says of the tests."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    run: int | None = Field(default=None, description="as Surefire says it, with skipped ones; None for pytest")

    @property
    def total(self) -> int:
        """The published denominator."""
        return self.passed + self.failed + self.errors if self.run is None else self.run

    @property
    def rate(self) -> float:
        """The published Pass@1 of one repository; 0 where nothing was counted."""
        return round(self.passed / self.total, 4) if self.total else 0.0


def read_deployment(log: str) -> Deployed:
    """Return what stands between the markers of the deployment; later lines win."""
    section = between(log, *DSR_MARKERS)
    if not section:
        return Deployed(success=False, message=NO_MARKERS)
    success, message = False, "Unknown"
    for line in map(str.strip, section.splitlines()):
        if line.startswith("DSR_RESULT="):
            success = line.partition("=")[2].strip().lower() in _TRUE
        elif line.startswith("DSR_MESSAGE="):
            message = line.partition("=")[2].strip()
    return Deployed(success=success, message=message)


def read_counts(log: str) -> Counts:
    """Return the counts between the markers of the tests, or those of the whole log."""
    found: dict[str, int] = {}
    for line in (between(log, *TEST_MARKERS) or log).splitlines():
        for name, pattern in _COUNTS.items():
            if match := pattern.search(line):
                found[name] = int(match[1])
    return Counts(**found)


def read_surefire_counts(log: str) -> Counts:
    """Return the sums of all lines of Surefire between the markers, or of the whole log.

    Each class has a line and all together have one, so everything counts twice.
    """
    lines = (_SUREFIRE.search(line) for line in (between(log, *TEST_MARKERS) or log).splitlines())
    found = [tuple(map(int, match.groups())) for match in lines if match]
    run, failed, errors, skipped = (sum(column) for column in zip(*found, strict=True)) if found else (0, 0, 0, 0)
    return Counts(passed=max(run - failed - errors - skipped, 0), failed=failed, errors=errors, run=run)


def service_words(log: str) -> str:
    """Return what the service seems to have said: around its start, and on standard error, which comes last."""
    lines = f"{between(log, *DSR_MARKERS)}\n{log.partition(TEST_MARKERS[1])[2]}".splitlines()
    return "\n".join(line for line in lines if not line.startswith(_OWN_WORDS))


def between(log: str, start: str, end: str) -> str:
    """Return what stands between the first *start* and the first *end*; nothing when they are in another order."""
    first, last = log.find(start), log.find(end)
    if first == -1 or last <= first:
        return ""
    return log[first + len(start) : last].strip()
