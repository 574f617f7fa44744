"""Differences, names of scores, and how attempts stand, as people read them."""

from typing import TYPE_CHECKING

from groundup.domain.figures import percent
from groundup.domain.verdicts import NOTHING_TO_COUNT

if TYPE_CHECKING:
    from groundup.reports.document import AttemptRow
    from groundup.reports.intervals import Interval


def points(difference: float) -> str:
    """Return a difference of shares in points, hundredths, without a sign."""
    return f"{difference * 100:.1f} points"


def signed(difference: float, interval: "Interval | None") -> str:
    """Return a difference of shares in points, with its sign and its interval."""
    return f"{difference * 100:+.1f} points{around(interval)}"


def around(interval: "Interval | None") -> str:
    """Return the interval of a difference in points, in brackets, behind what it belongs to."""
    return f" [{interval.low * 100:+.1f}, {interval.high * 100:+.1f}]" if interval else ""


def between(interval: "Interval | None") -> str:
    """Return an interval in percent, in brackets, behind what it belongs to."""
    return f" [{percent(interval.low)}, {percent(interval.high)}]" if interval else ""


def chance(value: float | None) -> str:
    """Return p, with a digit more where three would hide on which side of 5 % it is."""
    if value is None:
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.4f}" if f"{value:.3f}" == "0.050" else f"{value:.3f}"


_WORDS = {
    "of_declared": "share of the declared tests",
    "port_in_time": "port open in time",
    "api_coverage": "API coverage",
    "f1": "F1",
}


def words(name: str) -> str:
    """Return the name of a score as people say it."""
    return _WORDS.get(name, name.replace("_", " "))


def standing_words(row: "AttemptRow") -> str:
    """Say how an attempt stands: what it got, or why it has no score."""
    if row.standing != "graded":
        return row.standing.replace("_", " ")
    if row.counted == 1.0:
        return "solved" if row.solved else "all points, unsolved"
    return NOTHING_TO_COUNT if row.counted is None else "partial" if row.counted else "failed"
