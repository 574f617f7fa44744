"""Two runs, task by task. A pair exists where both have a score; the rest is named."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import correlation

from groundup.domain.figures import percent
from groundup.domain.subjects import ROUNDS
from groundup.reports.conditions import differing
from groundup.reports.document import (
    EARLIER,
    AttemptRow,
    Lead,
    PairedFigure,
    RunComparison,
    RunReport,
    TaskPair,
    Unpaired,
)
from groundup.reports.intervals import LEVEL, Interval, difference_of
from groundup.reports.lost import left_out_words
from groundup.reports.numbers import standing_words
from groundup.reports.statistics import Power, power, standard_error

Value = Callable[[AttemptRow], float | None]
Means = Mapping[str, float]
_ABSENT = "not in the run"
_ROUNDING = 1e-12


def compare(
    base: RunReport, other: RunReport, difference: float | None = None, comparisons: int = 1
) -> RunComparison:
    """Compare *other* with *base* by the tasks that both have a score for: one mean per task and run.

    *difference*, a share of 1, is the one whose power is asked for; this is one of so many *comparisons*.
    """
    left, right = _means(base, _counted), _means(other, _counted)
    every = dict.fromkeys(row.task for report in (base, other) for row in report.attempts)
    pairs = tuple(
        TaskPair(task=task, base=left[task], other=right[task], difference=right[task] - left[task])
        for task in every
        if task in left and task in right
    )
    paired = {pair.task for pair in pairs}
    left_out = tuple(task for task in every if task not in paired)
    main = _figure("score", left, right, comparisons)
    behind, ahead = (other, base) if main and main.difference < 0 else (base, other)
    found = _power(behind, ahead, abs(main.difference)) if main and main.difference else None
    return RunComparison(
        base=base.run_id,
        other=other.run_id,
        tasks=len(pairs),
        difference=main.difference if main else None,
        interval=main.interval if main else None,
        lead=_lead(base.run_id, other.run_id, main) if main else None,
        better=main.better if main else 0,
        worse=main.worse if main else 0,
        equal=main.equal if main else 0,
        left_out=left_out,
        figures=tuple(_figures(base, other, comparisons)),
        pairs=pairs,
        unpaired=tuple(
            Unpaired(task=task, base=_standing(base, task), other=_standing(other, task)) for task in left_out
        ),
        tasks_needed=found and found.tasks_needed,
        power=_power(behind, ahead, difference),
        same=_sameness(base, other),
        warnings=_doubts(base, other),
    )


def _figures(base: RunReport, other: RunReport, comparisons: int) -> Iterator[PairedFigure]:
    names = sorted({name for run in (base, other) for row in run.attempts for name in row.scores} - {EARLIER})
    values: dict[str, Value] = {"score": _counted, "solved": _solved, **{name: _named(name) for name in names}}
    for name, value in values.items():
        figure = _figure(name, _means(base, value), _means(other, value), comparisons)
        if figure is not None:
            yield figure


def _figure(name: str, left: Means, right: Means, comparisons: int) -> PairedFigure | None:
    tasks = [task for task in left if task in right]
    if not tasks:
        return None
    differences = [right[task] - left[task] for task in tasks]
    found = difference_of(differences, comparisons)
    return PairedFigure(
        name=name,
        pairs=len(tasks),
        base=math.fsum(left[task] for task in tasks) / len(tasks),
        other=math.fsum(right[task] for task in tasks) / len(tasks),
        difference=math.fsum(differences) / len(tasks),
        interval=found and found.interval,
        standard_error=standard_error([[value] for value in differences]),
        correlation=_correlation([left[task] for task in tasks], [right[task] for task in tasks]),
        p_value=found and found.p_value,
        better=sum(value > 0 for value in differences),
        worse=sum(value < 0 for value in differences),
        equal=sum(value == 0 for value in differences),
    )


def _correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    if len(set(left)) < 2 or len(set(right)) < 2:
        return None
    return correlation(left, right)


def _lead(base: str, other: str, score: PairedFigure) -> Lead | None:
    """Return the same difference as one of the run that is ahead."""
    if abs(score.difference) < _ROUNDING:
        return None
    is_other = score.difference > 0
    return Lead(
        run=other if is_other else base,
        over=base if is_other else other,
        difference=abs(score.difference),
        interval=score.interval if is_other else _mirrored(score.interval),
        p_value=score.p_value,
        told_apart=score.p_value is not None and score.p_value <= 1 - LEVEL,
    )


def _mirrored(interval: Interval | None) -> Interval | None:
    return interval and interval.but(low=-interval.high, high=-interval.low)


def from_ahead(one: RunComparison) -> RunComparison:
    """Return *one* as people read it: the run that is ahead over the other, so that its lead is above 0."""
    if one.lead is None or one.lead.run == one.other:
        return one
    return one.but(
        base=one.other,
        other=one.base,
        difference=one.lead.difference,
        interval=one.lead.interval,
        better=one.worse,
        worse=one.better,
        figures=tuple(map(_figure_from_ahead, one.figures)),
        pairs=tuple(pair.but(base=pair.other, other=pair.base, difference=-pair.difference) for pair in one.pairs),
        unpaired=tuple(lone.but(base=lone.other, other=lone.base) for lone in one.unpaired),
    )


def _figure_from_ahead(figure: PairedFigure) -> PairedFigure:
    return figure.but(
        base=figure.other,
        other=figure.base,
        difference=-figure.difference,
        interval=_mirrored(figure.interval),
        better=figure.worse,
        worse=figure.better,
    )


def _sameness(base: RunReport, other: RunReport) -> str:
    """Say that two runs are one, or are of the same submissions; an empty text where they are not."""
    left, right = ({(row.task, row.index): row for row in run.attempts} for run in (base, other))
    made = {key for key, row in left.items() if row.submission}
    if not made or made != {key for key, row in right.items() if row.submission}:
        return ""
    if any(left[key].submission != right[key].submission for key in made):
        return ""
    if base.created_at == other.created_at and base.graders == other.graders:
        return f"{base.run_id} and {other.run_id} are one run, or one is a copy of the other"
    return f"{base.run_id} and {other.run_id} hold the same submissions: what differs is how they were graded"


def _counted(row: AttemptRow) -> float | None:
    return row.counted


def _solved(row: AttemptRow) -> float | None:
    return row.solved


def _named(name: str) -> Value:
    return lambda row: row.counted_as(name)


def task_means(report: RunReport) -> Means:
    """Return each task's mean main score over its attempts, for the tasks that have one."""
    return _means(report, _counted)


def _power(base: RunReport, other: RunReport, difference: float | None) -> Power | None:
    if difference is None:
        return None
    left, right = _values(base, _counted), _values(other, _counted)
    return power([(left[task], right[task]) for task in left if task in right], difference)


def _means(report: RunReport, value: Value) -> Means:
    return {task: math.fsum(group) / len(group) for task, group in _values(report, value).items()}


def _values(report: RunReport, value: Value) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for row in report.reported:
        found = value(row)
        if found is not None:
            values.setdefault(row.task, []).append(found)
    return values


def _standing(report: RunReport, task: str) -> str:
    """Say how a task stands in a run: its score, or why there is none."""
    rows = [row for row in report.attempts if row.task == task]
    known = [row.counted for row in rows if row.counted is not None]
    if known:
        return percent(math.fsum(known) / len(known))
    words = dict.fromkeys(map(standing_words, rows))
    return ", ".join(words) or _ABSENT


def _doubts(base: RunReport, other: RunReport) -> tuple[str, ...]:
    doubts = [f"{run.run_id}: {run.unfit}" for run in (base, other) if run.unfit]
    doubts += [
        f"{run.run_id} is provisional: {lacking} of {run.counts.planned} attempts have no verdict"
        for run in (base, other)
        if (lacking := run.counts.without_verdict)
    ]
    if (base.benchmark, base.suite_version) != (other.benchmark, other.suite_version):
        doubts.append(
            f"different suites: {base.suite} {base.suite_version} and {other.suite} {other.suite_version}"
        )
    doubts += [f"{run.run_id}: {words}" for run in (base, other) if (words := left_out_words(run))]
    if (left := base.choice and base.choice.name) != (right := other.choice and other.choice.name):
        doubts.append(f"different choices of attempts: {left or 'all count'} and {right or 'all count'}")
    if base.subject.settings.get(ROUNDS, 1) != other.subject.settings.get(ROUNDS, 1):
        told = [run.subject.settings.get(ROUNDS, 1) for run in (base, other)]
        doubts.append(f"different numbers of feedback rounds: {told[0]} and {told[1]}")
    if base.conditions and other.conditions:
        doubts += differing(base.conditions, other.conditions)
    if set(base.graders) != set(other.graders):
        doubts.append("different graders, versions, data or environments; grade one again with `groundup regrade`")
    return tuple(doubts)
