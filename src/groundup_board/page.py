"""Several runs as one page that ranks them: a static HTML file with filters. Pure; decides nothing.

Runs are ranked among those of one suite, set of tasks and grader, each over the whole set: what has no score
counts 0. The templates escape what strangers wrote.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from groundup.domain.figures import money, percent
from groundup.domain.limits import EpisodeLimits
from groundup.domain.records import Record
from groundup.reports.document import RunReport
from groundup.reports.intervals import LEAST_TASKS, mean_interval
from groundup.reports.numbers import between
from groundup.reports.pages import one_file
from groundup.reports.statistics import FEW, RANKS, Rank, ranks
from groundup.reports.views import grader_words


class Verified(Record):
    """Who graded how much of a run again, with the same scores."""

    by: str
    at: datetime
    tasks: int = Field(description="graded again")
    of: int = Field(description="tasks with a submission")
    seed: int = Field(description="by which they were drawn")
    unsteady: int = Field(description="attempts of these whose score varies")
    record: str = Field(description="address of the record, relative to the page")


class Entry(Record):
    """A run with what is disclosed of it, and who verified it."""

    run: RunReport
    task_set: str
    set_digest: str
    verified: Verified
    kind: str = Field(
        description="whence submissions are: agent, predictions, reference, served, ablated, regraded"
    )
    languages: tuple[str, ...] = ()
    limits: str = Field(description="of an attempt, in words")
    contamination: str
    notes: str = ""
    evidence: str = Field(description="address of the bundle, relative to the page")
    digest: str = Field(description="SHA-256 of the bundle")
    pages: str | None = Field(default=None, description="address of the run's own pages, relative to the page")
    same_as: tuple[str, ...] = Field(
        default=(), description="whose submissions its own are, or nearly: of others, or of the suite itself"
    )


_FILTERS = ("suite", "tasks", "language", "kind", "grader")


def board(entries: Sequence[Entry]) -> str:
    """Return the page for *entries*: a table for each suite, set of tasks and grader, the best first."""
    filters = {name: sorted({value for entry in entries for value in _values(name, entry)}) for name in _FILTERS}
    groups = [_section(group) for group in _groups(entries)]
    return one_file(
        "board.html", "board.js", "groundup_board", filters=filters, groups=groups, ranks=RANKS, few=FEW
    )


def _groups(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group *entries* by what they can be ranked in: the largest sets of a suite first."""
    found: dict[tuple[str, int, str, str], list[Entry]] = {}
    for entry in entries:
        key = (entry.run.suite, -len(_scores(entry)), entry.set_digest, _grader(entry))
        found.setdefault(key, []).append(entry)
    return [found[key] for key in sorted(found)]


def _section(group: Sequence[Entry]) -> dict[str, Any]:
    first = group[0]
    return {
        "title": f"{first.run.suite} {first.run.suite_version}, {first.task_set}: "
        f"{len(_scores(first))} tasks, {_grader(first)}",
        "set_digest": first.set_digest,
        "rows": [_row(*placed) for placed in sorted(zip(group, _ranked(group), strict=True), key=_place)],
    }


def _scores(entry: Entry) -> Mapping[str, list[float]]:
    """Return the scores of all attempts by task."""
    found: dict[str, list[float]] = {}
    for row in entry.run.attempts:
        found.setdefault(row.task, []).append(row.counted or 0.0)
    return found


def _means(entry: Entry) -> dict[str, float]:
    return {task: math.fsum(scores) / len(scores) for task, scores in _scores(entry).items()}


def _mean(entry: Entry) -> float:
    means = _means(entry)
    return math.fsum(means.values()) / len(means)


def _ranked(group: Sequence[Entry]) -> list[Rank | None]:
    """Return each entry's rank; None where there is nothing to rank it among."""
    found = {one.run: one for one in ranks([(str(n), _means(entry)) for n, entry in enumerate(group)])}
    return [found.get(str(number)) for number in range(len(group))]


def _place(placed: tuple[Entry, Rank | None]) -> tuple[int, float]:
    entry, rank = placed
    return (rank.rank if rank else 0, -_mean(entry))


def _grader(entry: Entry) -> str:
    return ", ".join(f"{one.name} {one.version}" for one in entry.run.graders) or "none"


def _values(name: str, entry: Entry) -> tuple[str, ...]:
    single = {
        "suite": entry.run.suite,
        "tasks": entry.task_set,
        "kind": entry.kind,
        "grader": _grader(entry),
    }
    values = entry.languages if name == "language" else (single[name],)
    return tuple(value.replace("|", "/") for value in values)


def _row(entry: Entry, rank: Rank | None) -> dict[str, Any]:
    mean = _mean(entry)
    return {
        "entry": entry,
        "data": {name: _values(name, entry) for name in _FILTERS},
        "rank": "-" if rank is None or rank.tasks < LEAST_TASKS else str(rank.rank),
        "interval": _interval(rank),
        "mean": mean,
        "score": percent(mean) + between(mean_interval(list(_means(entry).values()))),
        "cost": entry.run.effort.cost_usd if entry.run.effort else None,
        "verified": _verified(entry.verified),
        "disclosed": _disclosed(entry),
    }


def _verified(found: Verified) -> str:
    """Say by whom, when and how much of an entry was graded again."""
    varying = f", {found.unsteady} attempts vary" if found.unsteady else ""
    return f"{found.tasks} of {found.of} tasks{varying}; by {found.by}, {found.at:%Y-%m-%d}, seed {found.seed}"


def _interval(rank: Rank | None) -> str:
    if rank is None:
        return ""
    words = str(rank.low) if rank.low == rank.high else f"{rank.low} to {rank.high}"
    return f"too few tasks ({rank.tasks})" if rank.tasks < LEAST_TASKS else words


def _disclosed(entry: Entry) -> dict[str, str]:
    run, effort = entry.run, entry.run.effort
    settings = run.subject.told_settings
    cost = None if effort is None else effort.cost_usd
    return {
        "model": run.subject.model_name or "none is named",
        "agent": run.subject.name + (f" ({settings})" if settings else ""),
        "limits": entry.limits,
        "contamination": entry.contamination,
        "cost": "not known"
        if cost is None
        else f"claimed: {money(cost)}; a bundle has no trajectory, which could prove it",
        "attempts": f"{run.counts.graded} graded of {run.counts.planned}; not attempted: "
        f"{run.counts.not_attempted}; tampered: {run.counts.tampered}",
        "grader": "; ".join(map(grader_words, run.graders)) or "none",
        "the same, or nearly": "; ".join(entry.same_as),
        "notes": entry.notes,
    }


def limits_in_words(limits: EpisodeLimits | None) -> str:
    """Return what bounded each attempt; None: the submissions were made elsewhere."""
    if limits is None:
        return "not known: the submissions were made elsewhere"
    named = [f"{name}={value}" for name, value in limits.model_dump().items() if value is not None]
    return ", ".join(named) or "none"
