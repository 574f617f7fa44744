"""Whether an environment gives the answer away: the original's own files, or nearly, among what is installed."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from groundup.domain.records import Record
from groundup.environments.requests import ENVIRONMENT_TARGET, PythonEnvironment
from groundup.grading.library.hidden import HiddenTests, source_files
from groundup.trees.walking import read_own

_LEAST_LINES = 15
"""Shorter files are alike by accident."""
_NEARLY = 0.8
"""Share of lines in common."""
_LARGEST = 2 * 1024 * 1024


class LeakedFile(Record):
    """A file within reach that holds what a submission should write."""

    place: str
    source: str
    likeness: float


def find_answers(original: Path, tests: HiddenTests, environment: PythonEnvironment) -> list[LeakedFile]:
    """Return files of *environment*, and protected ones, that are (nearly) equal to the original's source."""
    sources = {name: lines for name, lines in _own(original, tests) if len(lines) >= _LEAST_LINES}
    by_digest = {_digest(lines): name for name, lines in sources.items()}
    by_line: dict[str, set[str]] = {}
    for name, lines in sources.items():
        for line in lines:
            by_line.setdefault(line, set()).add(name)
    found = []
    for place, path in _reachable(original, tests, environment):
        lines = _lines(path)
        if len(lines) < _LEAST_LINES:
            continue
        equal = by_digest.get(_digest(lines))
        if equal is not None:
            found.append(LeakedFile(place=place, source=equal, likeness=1.0))
            continue
        shared: dict[str, int] = {}
        for line in lines:
            for name in by_line.get(line, ()):
                shared[name] = shared.get(name, 0) + 1
        best = max(shared, key=lambda name: shared[name] / len(sources[name]), default=None)
        if best is not None and shared[best] / len(sources[best]) >= _NEARLY:
            likeness = round(shared[best] / len(sources[best]), 2)
            found.append(LeakedFile(place=place, source=best, likeness=likeness))
    return found


def _own(original: Path, tests: HiddenTests) -> Iterator[tuple[str, frozenset[str]]]:
    for path in source_files(original, tests):
        yield str(path.relative_to(original)), _lines(path)


def _reachable(original: Path, tests: HiddenTests, environment: PythonEnvironment) -> Iterator[tuple[str, Path]]:
    for mount in environment.mounts:
        if mount.target == ENVIRONMENT_TARGET:
            for path in sorted(mount.source.rglob("*.py")):
                yield f"{ENVIRONMENT_TARGET}/{path.relative_to(mount.source)}", path
    for kept in tests.protected:
        place = original / kept
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if path.suffix == ".py":
                yield str(path.relative_to(original)), path


def _lines(path: Path) -> frozenset[str]:
    """Return the different lines of more than three characters that are no comments."""
    text = (read_own(path, _LARGEST) or b"").decode("utf-8", "replace")
    stripped = (line.strip() for line in text.splitlines())
    return frozenset(line for line in stripped if len(line) > 3 and not line.startswith("#"))


def _digest(lines: frozenset[str]) -> bytes:
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "replace")).digest()
