"""What a run lost, in points: which attempts come first, and at which stages. One order everywhere. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from groundup.domain.figures import percent
from groundup.domain.verdicts import Score, Stage, share
from groundup.reports.kinds import BY_NAMES

if TYPE_CHECKING:
    from groundup.reports.document import AttemptRow, RunReport

NOT_ATTEMPTED = "not attempted"
NAMES = "names"
UNSTATED = "unstated"
"""The stage of a loss for which the grader names none."""


_NAMED = 10
"""Tasks that a sentence names."""


def left_out_words(run: "RunReport") -> str:
    """Say which tasks of the suite *run* left out, and its mean without and with them; "" for a whole run."""
    if not run.left_out:
        return ""
    tasks, names, mean = len({row.task for row in run.attempts}), run.left_out, run.headline.score
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    told = (
        f"{tasks} of {tasks + len(names)} tasks asked for; left out, because they could not be graded when the "
        f"run began: {', '.join(names[:_NAMED])}{more}"
    )
    if mean.value is None:
        return told
    over_all = Score(numerator=mean.numerator, denominator=mean.denominator + len(names))
    return f"{told}; with them as 0 the mean of {percent(mean.value)} would be {share(over_all)}"


def worst_first(rows: "Iterable[AttemptRow]") -> "list[AttemptRow]":
    """Return the attempts that lost points, those that lost most first; equal ones by task and number."""
    lost = [row for row in rows if row.counted not in (None, 1.0)]
    return sorted(lost, key=lambda row: (row.counted, row.task, row.index))


def stage_of(row: "AttemptRow") -> str | None:
    """Return at which stage an attempt lost points first, or that it was not attempted; None: it lost none."""
    if row.counted in (None, 1.0):
        return None
    if row.standing == "not_attempted":
        return NOT_ATTEMPTED
    return stage_name(row.scores, row.reasons[0].stage) if row.reasons else UNSTATED


def stage_name(scores: Collection[str], stage: Stage) -> str:
    """Return where points go that a grader lost at *stage*: a score by names, such as F1, has no tests.

    *scores* are the names of what the attempt is scored by besides.
    """
    return NAMES if stage is Stage.TEST and set(scores) >= BY_NAMES else stage.value


def points_lost(rows: "Sequence[AttemptRow]") -> dict[str, float]:
    """Return by stage how many tasks' worth of score was lost, most first: together what the mean lacks."""
    attempts = Counter(row.task for row in rows if row.counted is not None)
    found: dict[str, float] = {}
    for row in rows:
        if row.counted is not None and (stage := stage_of(row)) is not None:
            found[stage] = found.get(stage, 0.0) + (1 - row.counted) / attempts[row.task]
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def kinds_in_all(rows: "Sequence[AttemptRow]") -> dict[str, float]:
    """Return by kind of cause how many points of the mean mending it alone would bring back, most first."""
    attempts = Counter(row.task for row in rows if row.counted is not None)
    found: dict[str, float] = {}
    for row in rows:
        for one in row.kinds if row.counted is not None else ():
            found[one.kind] = found.get(one.kind, 0.0) + one.points / attempts[row.task] / len(attempts)
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def shares_lost(lost: Mapping[str, float]) -> dict[str, str]:
    """Return in words how much was lost at each stage, and which share of all that was lost."""
    total = sum(lost.values())
    return {stage: f"{tasks_worth(value)}, {percent(value / total, 0)}" for stage, value in lost.items()}


def tasks_worth(value: float) -> str:
    """Return such as `1 task` or `2.5 tasks`."""
    told = f"{value:.1f}".removesuffix(".0") if value >= 0.05 else f"{value:.2g}"
    return f"{told} task" if told == "1" else f"{told} tasks"
