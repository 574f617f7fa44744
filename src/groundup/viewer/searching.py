"""Looking for words in tests and trajectories, by reading files; the index has the names of runs, tasks, reasons.

No search takes longer than its time: it says how far it came, and goes on from there when it is asked again.
"""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import TestResult
from groundup.runs.evidence import plain, turn_in
from groundup.store.attempts import AttemptFolder
from groundup.store.folder import RunFolder
from groundup.trees.walking import open_regular
from groundup.viewer.index import Place, RunIndex

SECONDS = 0.2
"""For tests and trajectories; the rest of half a second is for the index and the page."""
HITS = 50
_AROUND = 100
_LINE_BYTES = 64 * 1024 * 1024


class Hit(Record):
    """Words that were found in an attempt."""

    place: Place
    part: str
    """`tests` or `trajectory`."""
    turn: int | None
    """Of a trajectory; None: before the first turn."""
    text: str


class FoundInFiles(Record):
    """What was found in the files of some attempts, and where to go on."""

    hits: tuple[Hit, ...]
    looked_at: int
    """Attempts up to here, by the order of the index."""
    total: int


def search_files(index: RunIndex, wanted: str, run: str, first: int, seconds: float = SECONDS) -> FoundInFiles:
    """Look for *wanted*, A and a alike, in attempts of *run* (empty: of all) from the number *first* on."""
    ends = time.monotonic() + seconds
    hits: list[Hit] = []
    total, place = index.place_count(run), first
    # JSON writes quotes and line breaks in its own way, and so must what is looked for in it.
    sought = json.dumps(wanted, ensure_ascii=False)[1:-1].encode(errors="replace").lower()
    while place < total and len(hits) < HITS and time.monotonic() < ends:
        places = index.places(run, place, 200)
        for one in places:
            attempt = RunFolder(index.folder / one.run).attempt(AttemptKey(task=one.task, index=one.index))
            hits += _in_attempt(attempt, one, sought)
            place += 1
            if len(hits) >= HITS or time.monotonic() > ends:
                break
        if not places:
            break
    return FoundInFiles(hits=tuple(hits), looked_at=place, total=total)


def _in_attempt(attempt: AttemptFolder, place: Place, sought: bytes) -> Iterator[Hit]:
    for part, path in (("tests", attempt.tests_file), ("trajectory", attempt.trajectory_file)):
        found = _first_in(path, sought)
        if found is not None:
            line, at, turn = found
            told = _told(line, sought) if part == "tests" else None
            yield Hit(place=place, part=part, turn=turn, text=told or _excerpt(line, at, len(sought)))


def _told(line: bytes, sought: bytes) -> str | None:
    """Return a test as people read it: name, outcome, and the line that holds *sought*; None: it is none."""
    try:
        test = TestResult.model_validate_json(line)
    except ValidationError:
        return None
    said = next(
        (
            one.strip()
            for one in f"{test.message}\n{test.detail}".splitlines()
            if sought in one.encode(errors="replace").lower()
        ),
        "",
    )
    return plain(f"{test.id} {test.outcome}" + (f": {said}" if said else ""))[: 4 * _AROUND]


def _first_in(path: Path, sought: bytes) -> tuple[bytes, int, int | None] | None:
    """Return the first line that holds *sought*, where, and the turn that it belongs to."""
    try:
        with open_regular(path) as file:
            data = file.read(_LINE_BYTES)
    except OSError:
        return None
    at = data.lower().find(sought)
    if at < 0:
        return None
    start = data.rfind(b"\n", 0, at) + 1
    end = data.find(b"\n", at)
    return data[start : end if end >= 0 else None], at - start, turn_in(data[:start], data[start : start + 300])


def _excerpt(line: bytes, at: int, length: int) -> str:
    words = line[max(0, at - _AROUND) : at + length + _AROUND].decode(errors="ignore")
    return plain(re.sub(r"\\[nrt]", " ", words))
