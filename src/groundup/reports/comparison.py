"""Two runs, task by task. A pair exists where both have a score; the rest is named."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import correlation

from groundup.domain.subjects import ROUNDS
from groundup.reports.conditions import differing
from groundup.reports.document import (
    EARLIER,
    AttemptRow,
    PairedFigure,
    RunComparison,
    RunReport,
    TaskPair,
    Unpaired,
)
from groundup.reports.intervals import difference_interval
from groundup.reports.numbers import percent
from groundup.reports.statistics import Power, holm, power, sign_flips, standard_error

Value = Callable[[AttemptRow], float | None]
Means = Mapping[str, float]
_ABSENT = "not in the run"


def compare(base: RunReport, other: RunReport, difference: float | None = None) -> RunComparison:
    """Compare *other* with *base* by the tasks that both have a score for: one mean per task and run.

    *difference*, a share of 1, is the one whose power is asked for.
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
    main = _figure("score", left, right)
    found = _power(base, other, abs(main.difference)) if main and main.difference else None
    return RunComparison(
        base=base.run_id,
        other=other.run_id,
        tasks=len(pairs),
        difference=main.difference if main else None,
        interval=main.interval if main else None,
        better=main.better if main else 0,
        worse=main.worse if main else 0,
        equal=main.equal if main else 0,
        left_out=left_out,
        figures=tuple(_figures(base, other)),
        pairs=pairs,
        unpaired=tuple(
            Unpaired(task=task, base=_standing(base, task), other=_standing(other, task)) for task in left_out
        ),
        tasks_needed=found and found.tasks_needed,
        power=_power(base, other, difference),
        warnings=_doubts(base, other),
    )


def _figures(base: RunReport, other: RunReport) -> Iterator[PairedFigure]:
    names = sorted({name for run in (base, other) for row in run.attempts for name in row.scores} - {EARLIER})
    values: dict[str, Value] = {"score": _counted, "solved": _solved, **{name: _named(name) for name in names}}
    for name, value in values.items():
        figure = _figure(name, _means(base, value), _means(other, value))
        if figure is not None:
            yield figure


def _figure(name: str, left: Means, right: Means) -> PairedFigure | None:
    tasks = [task for task in left if task in right]
    if not tasks:
        return None
    differences = [right[task] - left[task] for task in tasks]
    return PairedFigure(
        name=name,
        pairs=len(tasks),
        base=math.fsum(left[task] for task in tasks) / len(tasks),
        other=math.fsum(right[task] for task in tasks) / len(tasks),
        difference=math.fsum(differences) / len(tasks),
        interval=difference_interval(differences),
        standard_error=standard_error([[value] for value in differences]),
        correlation=_correlation([left[task] for task in tasks], [right[task] for task in tasks]),
        p_value=sign_flips(differences),
        better=sum(value > 0 for value in differences),
        worse=sum(value < 0 for value in differences),
        equal=sum(value == 0 for value in differences),
    )


def _correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    if len(set(left)) < 2 or len(set(right)) < 2:
        return None
    return correlation(left, right)


def corrected(comparisons: Sequence[RunComparison]) -> tuple[RunComparison, ...]:
    """Return *comparisons*, several of them with p-values corrected for being several, figure by figure."""
    if len(comparisons) < 2:
        return tuple(comparisons)
    chances: dict[str, list[float]] = {}
    for figure in (figure for one in comparisons for figure in one.figures if figure.p_value is not None):
        chances.setdefault(figure.name, []).append(figure.p_value or 0.0)
    left = {name: iter(holm(several)) for name, several in chances.items()}
    return tuple(
        one.but(
            figures=tuple(
                figure if figure.p_value is None else figure.but(p_corrected=next(left[figure.name]))
                for figure in one.figures
            )
        )
        for one in comparisons
    )


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
    words = dict.fromkeys("0/0" if row.standing == "graded" else row.standing.replace("_", " ") for row in rows)
    return ", ".join(words) or _ABSENT


def _doubts(base: RunReport, other: RunReport) -> tuple[str, ...]:
    doubts = [f"{run.run_id}: {run.unfit}" for run in (base, other) if run.unfit]
    if (base.benchmark, base.suite_version) != (other.benchmark, other.suite_version):
        doubts.append(
            f"different suites: {base.suite} {base.suite_version} and {other.suite} {other.suite_version}"
        )
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
