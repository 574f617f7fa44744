"""What the published harness reads out of a container's log: pure, faults included.

Counts are whatever a line of the log says, the last of each kind; skipped tests count nowhere; without both
markers the whole log is read.
"""

import re

from groundup.domain.records import Record

DSR_MARKERS = (">>>>> DSR_START", ">>>>> DSR_END")
TEST_MARKERS = (">>>>> TEST_START", ">>>>> TEST_END")
NO_MARKERS = "No DSR markers found in container output"
_TRUE = ("true", "1", "yes")
_COUNTS = {
    "passed": re.compile(r"(\d+)\s+passed"),
    "failed": re.compile(r"(\d+)\s+failed"),
    "errors": re.compile(r"(\d+)\s+error"),
}


class Deployed(Record):
    """What the log says of the deployment."""

    success: bool
    message: str


class Counts(Record):
    """What the log says of the tests."""

    passed: int = 0
    failed: int = 0
    errors: int = 0

    @property
    def total(self) -> int:
        """The published denominator."""
        return self.passed + self.failed + self.errors

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


def between(log: str, start: str, end: str) -> str:
    """Return what stands between the first *start* and the first *end*; nothing when they are in another order."""
    first, last = log.find(start), log.find(end)
    if first == -1 or last <= first:
        return ""
    return log[first + len(start) : last].strip()
