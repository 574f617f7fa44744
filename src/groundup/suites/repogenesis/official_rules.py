"""What the published harness reads from a log and computes as API coverage, faults included. Pure.

Counts are whatever a line of the log says, the last of each kind; skipped tests count nowhere. In Java they are
the sums of all lines of Surefire. Without both markers the whole log is read.

It looks for methods and paths in the README by regular expressions, and calls an endpoint implemented when one
file of source holds any sign of the method and any longer part of the path. So comments count, Flask's
`methods=['POST']` and JAX-RS's `@GET` do not, paths end at the first `-` or `:`, and a path at a line's end
swallows the next line.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import Field
from typing_extensions import override

from groundup.domain.names import number_of
from groundup.domain.records import Record
from groundup.trees.walking import read_regular

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


class LogCounts(Record):
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


def read_counts(log: str) -> LogCounts:
    """Return the counts between the markers of the tests, or those of the whole log."""
    found: dict[str, int] = {}
    for line in (between(log, *TEST_MARKERS) or log).splitlines():
        for name, pattern in _COUNTS.items():
            if match := pattern.search(line):
                found[name] = number_of(match[1])
    return LogCounts(**found)


def read_surefire_counts(log: str) -> LogCounts:
    """Return the sums of all lines of Surefire between the markers, or of the whole log.

    Each class has a line and all together have one, so everything counts twice.
    """
    lines = (_SUREFIRE.search(line) for line in (between(log, *TEST_MARKERS) or log).splitlines())
    found = [tuple(map(number_of, match.groups())) for match in lines if match]
    run, failed, errors, skipped = (sum(column) for column in zip(*found, strict=True)) if found else (0, 0, 0, 0)
    return LogCounts(passed=max(run - failed - errors - skipped, 0), failed=failed, errors=errors, run=run)


def service_words(log: str) -> str:
    """Return what the service seems to have printed: around its start, and on standard error, which comes last."""
    lines = f"{between(log, *DSR_MARKERS)}\n{log.partition(TEST_MARKERS[1])[2]}".splitlines()
    return "\n".join(line for line in lines if not line.startswith(_OWN_WORDS))


def between(log: str, start: str, end: str) -> str:
    """Return what stands between the first *start* and the first *end*; nothing when they are in another order."""
    first, last = log.find(start), log.find(end)
    if first == -1 or last <= first:
        return ""
    return log[first + len(start) : last].strip()


FEATURE = "FEATURE"
"""The method of what is not an endpoint but an entry of a list, looked at where a README has no endpoints."""

_METHODS = "GET|POST|PUT|DELETE|PATCH"
_LINE = re.compile(rf"({_METHODS})\s+(/[^\s\-:]+)\s*[-:]?\s*(.+?)(?:\n|$)", re.IGNORECASE)
_ROW = re.compile(rf"\|\s*({_METHODS})\s*\|\s*`?(/[^|`]+?)`?\s*\|", re.IGNORECASE)
_BLOCK = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_FEATURE_WORDS = (
    "Check|Login|Register|Create|Update|Delete|Search|List|View|"
    "Get|Add|Remove|Edit|Manage|Upload|Download|Send|Receive"
)
_FEATURE = re.compile(rf"[-*]\s+([A-Z][A-Za-z\s]+(?:{_FEATURE_WORDS}))")

SOURCE_SUFFIXES = frozenset({".py", ".java", ".js", ".ts", ".kt"})
_EXCLUDED = frozenset(
    {
        ".git",
        "__pycache__",
        "node_modules",
        "venv",
        ".venv",
        "target",
        "build",
        ".pytest_cache",
        "dist",
        "egg-info",
    }
    | {"test", "tests", ".idea", ".vscode"}
)


class Extracted(Record):
    """What the published extraction takes for an endpoint."""

    method: str
    path: str

    @override
    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class OfficialCoverage(Record):
    """The published figures of one submission."""

    extracted: tuple[Extracted, ...]
    found: tuple[Extracted, ...]

    @property
    def score(self) -> float:
        """The share of endpoints found, rounded as published; 0 where none was extracted."""
        return round(len(self.found) / len(self.extracted), 4) if self.extracted else 0.0


def official_coverage(readme: str, submission: Path) -> OfficialCoverage:
    """Return what the published harness says of *submission*; links that lead out of it are not followed."""
    extracted = extract(readme)
    waiting = list(extracted)
    for text in source_texts(submission, _EXCLUDED, lambda name: Path(name).suffix in SOURCE_SUFFIXES):
        if not waiting:
            break
        waiting = [one for one in waiting if not _is_found(one, text)]
    return OfficialCoverage(extracted=extracted, found=tuple(one for one in extracted if one not in waiting))


def extract(readme: str) -> tuple[Extracted, ...]:
    """Return the endpoints that the published harness sees in *readme*, or else features."""
    found = dict.fromkeys([*_lines(readme), *_rows(readme)])
    for block in _BLOCK.findall(readme):
        found.update(dict.fromkeys(_lines(block)))
    if not found:
        features = (match.group(1).strip() for match in _FEATURE.finditer(readme))
        found.update((Extracted(method=FEATURE, path=feature), None) for feature in features)
    return tuple(found)


def _lines(text: str) -> Iterator[Extracted]:
    for match in _LINE.finditer(text):
        yield Extracted(method=match.group(1).upper(), path=match.group(2).strip().rstrip("`").rstrip("*"))


def _rows(text: str) -> Iterator[Extracted]:
    for match in _ROW.finditer(text):
        yield Extracted(method=match.group(1).upper(), path=match.group(2).strip())


def source_texts(root: Path, excluded: frozenset[str], is_source: Callable[[str], bool]) -> Iterator[str]:
    """Yield the texts of source files below *root*, without what is no UTF-8."""
    whole = root.resolve()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - excluded)
        for name in sorted(names):
            path = Path(folder) / name
            if is_source(name) and path.is_file() and path.resolve().is_relative_to(whole):
                try:
                    yield read_regular(path).decode(errors="ignore")
                except OSError:
                    continue


def _is_found(endpoint: Extracted, text: str) -> bool:
    if endpoint.method == FEATURE:
        return _names_feature(endpoint.path, text)
    parts = (part for part in endpoint.path.strip("/").split("/") if len(part) > 3 and part[0] not in "{<")
    return (endpoint.path in text or any(part in text for part in parts)) and shows_method(endpoint.method, text)


def _names_feature(feature: str, text: str) -> bool:
    snake = re.sub(r"\s+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", feature).lower())
    words = (snake, feature.replace(" ", "").lower(), feature.lower())
    return any(re.search(re.escape(word), text, re.IGNORECASE) for word in words)


def shows_method(method: str, text: str) -> bool:
    """Whether *text* holds any of the published signs of *method*; in time linear in its length."""
    title = method.capitalize()
    plain = rf"\.{method}\s*\(|@{title}Mapping|@{title}\s*\(|@{method}\s*$"
    if re.search(plain, text, re.IGNORECASE):
        return True
    return _follows_on_line(text, r"methods\s*=\s*\[", rf'"{method}"') or _follows_on_line(
        text, "@RequestMapping", rf"method\s*=\s*RequestMethod\.{method}"
    )


def _follows_on_line(text: str, first: str, second: str) -> bool:
    """Whether a match of *second* starts on the line on which one of *first* ended, and behind it.

    That is what `first.*second` finds, which takes quadratic time where *first* stands often on a line.
    """
    ends = [match.end() for match in re.finditer(first, text, re.IGNORECASE)]
    at = 0
    for match in re.finditer(second, text, re.IGNORECASE) if ends else ():
        line = text.rfind("\n", 0, match.start()) + 1
        while at < len(ends) and ends[at] < line:
            at += 1
        if at < len(ends) and ends[at] <= match.start():
            return True
    return False
