"""Two runs, task by task. A pair exists where both have a score; the rest is named."""

import math

from groundup.reports.document import Comparison, RunReport
from groundup.reports.intervals import bootstrap


def compare(base: RunReport, other: RunReport) -> Comparison:
    """Compare *other* with *base* by the tasks that both have a score for: one mean per task and run."""
    left, right = _means(base), _means(other)
    every = dict.fromkeys(row.task for report in (base, other) for row in report.attempts)
    differences = {task: right[task] - left[task] for task in every if task in left and task in right}
    return Comparison(
        base=base.run_id,
        other=other.run_id,
        tasks=len(differences),
        difference=math.fsum(differences.values()) / len(differences) if differences else None,
        interval=bootstrap([[value] for value in differences.values()]),
        better=sum(value > 0 for value in differences.values()),
        worse=sum(value < 0 for value in differences.values()),
        equal=sum(value == 0 for value in differences.values()),
        left_out=tuple(task for task in every if task not in differences),
        warnings=_doubts(base, other),
    )


def _means(report: RunReport) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for row in report.attempts:
        if row.counted is not None:
            values.setdefault(row.task, []).append(row.counted)
    return {task: math.fsum(group) / len(group) for task, group in values.items()}


def _doubts(base: RunReport, other: RunReport) -> tuple[str, ...]:
    doubts = []
    if (base.suite, base.suite_version) != (other.suite, other.suite_version):
        doubts.append(
            f"different suites: {base.suite} {base.suite_version} and {other.suite} {other.suite_version}"
        )
    if set(base.graders) != set(other.graders):
        doubts.append("different graders, versions, data or environments; grade one again with `groundup regrade`")
    return tuple(doubts)
