"""How a run that is under way gets on: how fast verdicts come, by the end of its journal, and so when it ends."""

from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.records import Record
from groundup.reports.document import RunReport
from groundup.store.records import VerdictLine
from groundup.trees.walking import open_regular

_TAIL_BYTES = 256 * 1024
_LEAST = 3
"""Verdicts from which a pace is guessed."""
_PAUSE_S = 4 * 3600
"""A longer time without a verdict is no pace but a pause, as before a resume."""


class UnderWay(Record):
    """What is left, and when that will be done; None: it is too early to say."""

    left: int
    ends_at: datetime | None


def under_way(run: Path, report: RunReport) -> UnderWay:
    """Return how the run in the folder *run* gets on, at the pace of its latest verdicts."""
    counts = report.counts
    left = counts.owed + counts.made + counts.infrastructure
    times = _finished(run / "verdicts.jsonl")
    if len(times) < _LEAST or not left:
        return UnderWay(left=left, ends_at=None)
    pace_s = (times[-1] - times[0]).total_seconds() / (len(times) - 1)
    return UnderWay(left=left, ends_at=times[-1] + timedelta(seconds=pace_s * left))


def _finished(journal: Path) -> list[datetime]:
    """Return when the latest attempts were settled, in order, without what lies before a pause."""
    try:
        with open_regular(journal) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")[1 if size > _TAIL_BYTES else 0 : -1]
    except OSError:
        return []
    times: list[datetime] = []
    for data in lines:
        try:
            line = VerdictLine.model_validate_json(data)
        except ValidationError:
            continue
        if not line.settles or line.cached:
            continue
        if times and (line.finished_at - times[-1]).total_seconds() > _PAUSE_S:
            times = []
        times.append(line.finished_at)
    return sorted(times)
