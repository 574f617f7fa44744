"""From a run's records to its report. Pure: no disk, no clock; the same records give the same report.

Which of several attempts at a task a run reports, and what feedback rounds brought. Pure.
"""

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from groundup.domain.inventory import Inventory
from groundup.domain.limits import Effort, Selection
from groundup.domain.names import count
from groundup.domain.subjects import ROUNDS, SELECT, AttemptKey, Outcome, Subject
from groundup.domain.usage import TokenUsage
from groundup.domain.verdicts import GraderIdentity, Score, Status, Verdict
from groundup.domain.version import __version__
from groundup.reports.answers import comparison_answer, run_answer
from groundup.reports.causes import AttemptLosses
from groundup.reports.comparison import compare, task_means
from groundup.reports.conditions import conditions_of
from groundup.reports.document import (
    ATTEMPTED,
    EARLIER,
    NO_VERDICT,
    AttemptCounts,
    AttemptRow,
    Choice,
    Figure,
    Report,
    RunReport,
)
from groundup.reports.intervals import mean_interval
from groundup.reports.lost import kinds_in_all, left_out_words, points_lost
from groundup.reports.repetition import noise_of
from groundup.reports.review import is_flagged, is_looked_at
from groundup.reports.statistics import (
    all_of,
    best_of,
    one_of,
    ranks,
    spread,
    standard_error,
)
from groundup.store.records import ConfigFile, VerdictLine
from groundup.suites.base import Results, Summary


def choice_of(subject: Subject, rows: Sequence[AttemptRow]) -> Choice | None:
    """Return which attempts the run of *subject* reports; None: all, also where models chose."""
    by = subject.settings.get(SELECT)
    if not isinstance(by, str):
        return None
    selection = Selection(by)
    if selection in (Selection.JUDGES, Selection.VOTES):
        return None
    best: dict[str, tuple[tuple[float, float], AttemptRow]] = {}
    for row in rows:
        merit = _merit(row, selection)
        if merit is not None and (row.task not in best or merit > best[row.task][0]):
            best[row.task] = merit, row
    return Choice(by=selection, attempts={task: row.index for task, (_, row) in best.items()})


def _merit(row: AttemptRow, by: Selection) -> tuple[float, float] | None:
    if by is Selection.SCORE:
        return None if row.counted is None else (row.counted, 0.0)
    own = row.effort.own_tests if row.effort else None
    if own is None or own.passed + own.failed == 0:
        return None
    return own.passed / (own.passed + own.failed), float(own.passed)


def after_rounds(
    subject: Subject, rows: Sequence[AttemptRow]
) -> Iterator[tuple[str, dict[str, list[float]], str]]:
    """Yield name, values by task and meaning of the score after each round but the last."""
    most = subject.settings.get(ROUNDS)
    for number in range(1, most if isinstance(most, int) else 1):
        values: dict[str, list[float]] = {}
        for row in rows:
            told = row.effort.rounds if row.effort else ()
            value = told[number - 1] if number <= len(told) else row.counted
            if row.counted is not None and value is not None:
                values.setdefault(row.task, []).append(value)
        yield f"after round {number} of {most}", values, "an attempt that ended before keeps its score"


_NAMED = 10
"""Attempts that one kind of warning names at most."""
_RANKED_FROM = 3
"""Two runs have a comparison."""


def side_by_side(runs: Sequence[RunReport], difference: float | None = None) -> Report:
    """Put runs into one report, each compared to the first, and ranked where there are three or more of a suite.

    *difference*, a share of 1, is one whose power comparisons tell.
    """
    ranked = len(runs) >= _RANKED_FROM and len({run.benchmark for run in runs}) == 1
    report = Report(
        groundup=__version__,
        runs=tuple(runs),
        comparisons=tuple(compare(runs[0], other, difference, len(runs) - 1) for other in runs[1:]),
        ranks=ranks([(run.run_id, task_means(run)) for run in runs]) if ranked else (),
    )
    alone = run_answer(runs[0]) if len(runs) == 1 else ()
    return report.but(answer=comparison_answer(report) if report.comparisons else alone)


def report_run(
    config: ConfigFile,
    lines: Mapping[AttemptKey, VerdictLine],
    summaries: Sequence[Summary] = (),
    made: Collection[AttemptKey] = (),
    losses: Mapping[AttemptKey, AttemptLosses] = MappingProxyType({}),
    inventories: Sequence[Inventory] = (),
) -> RunReport:
    """Report a run from its configuration and the line that counts for each attempt."""
    keys = sorted(config.planned.keys, key=lambda key: (key.task, key.index))
    counting = [(key, lines.get(key)) for key in keys]
    found = [
        _row(key, line).but(**losses[key]._asdict()) if key in losses else _row(key, line)
        for key, line in counting
    ]
    rows = tuple(_made(row) if key in made else row for key, row in zip(keys, found, strict=True))
    verdicts = [line.verdict for _, line in counting if line and line.verdict]
    counted = _counted(rows)
    subject = config.configuration.subject
    choice = choice_of(subject, rows)
    graders = _graders(verdicts)
    suite, _, version = config.pinned.get("suite", config.suite_name).partition(" ")
    _, at, data_set = config.configuration.suite.partition("@")
    report = RunReport(
        run_id=config.run_id,
        created_at=config.created_at,
        suite=f"{suite}{at}{data_set}",
        suite_version=version or "unknown",
        subject=subject,
        sandbox=config.configuration.sandbox,
        conditions=conditions_of(config.configuration, verdicts, inventories),
        graders=graders,
        counts=_counts(rows),
        figures=(
            *_headline_of(choice, rows),
            *_figures(rows, counted, config.planned.attempts),
            *(_mean(*figure) for figure in after_rounds(subject, rows)),
        ),
        choice=choice,
        lost_at=_lost_at(rows),
        points_lost=points_lost(rows),
        kinds_lost=kinds_in_all(rows),
        cut_short=_cut_short(rows),
        by_time=sum(row.by_time for row in rows),
        looked_at=sum(is_looked_at(verdict) for verdict in verdicts),
        flagged=sum(is_flagged(verdict) for verdict in verdicts),
        effort=_effort(rows),
        spread=spread(counted.values()),
        noise=noise_of(counted, _by_task((row.task, row.solved) for row in rows)),
        warnings=(*_choice_given_up(subject), *_warnings(rows, graders)),
        left_out=config.left_out,
        attempts=rows,
        summaries=tuple(summaries),
    )
    return report.but(warnings=(*report.warnings, told)) if (told := left_out_words(report)) else report


def _choice_given_up(subject: Subject) -> Iterator[str]:
    if subject.settings.get(SELECT) in (Selection.JUDGES, Selection.VOTES):
        yield "an earlier version let models choose one attempt of each task; here all attempts count"


def report_results(
    results: Results, suite: str, suite_version: str, summaries: Sequence[Summary] = ()
) -> RunReport:
    """Report what was graded elsewhere, from what a suite read of it."""
    graded = {one.key: one for one in results.attempts}
    keys = sorted((*graded, *results.pending), key=lambda key: (key.task, key.index))
    rows = tuple(
        _verdict_row(key, graded[key].verdict, graded[key].seconds) if key in graded else _pending(key)
        for key in keys
    )
    counted = _counted(rows)
    graders = _graders([one.verdict for one in results.attempts if one.verdict])
    return RunReport(
        run_id=results.name,
        created_at=results.created_at,
        suite=suite,
        suite_version=suite_version,
        subject=results.subject,
        sandbox="elsewhere",
        graders=graders,
        counts=_counts(rows),
        figures=_figures(rows, counted, 1 + max((key.index for key in keys), default=0)),
        lost_at=_lost_at(rows),
        points_lost=points_lost(rows),
        spread=spread(counted.values()),
        noise=noise_of(counted, _by_task((row.task, row.solved) for row in rows)),
        warnings=_warnings(rows, graders),
        attempts=rows,
        summaries=tuple(summaries),
    )


def _graders(verdicts: Iterable[Verdict]) -> tuple[GraderIdentity, ...]:
    judged = (verdict.grader for verdict in verdicts if verdict.settles)
    return tuple(sorted({tuple(vars(one).values()): one for one in judged}.values(), key=str))


def _row(key: AttemptKey, line: VerdictLine | None) -> AttemptRow:
    if line is None:
        return _pending(key)
    seconds = round((line.finished_at - line.started_at).total_seconds(), 3)
    return _verdict_row(key, line.verdict, seconds, line)


def _made(row: AttemptRow) -> AttemptRow:
    """Return the row of a submission without a score; its reasons stay where its grading failed."""
    graded = row.submission is not None
    return row.but(standing="made", reasons=row.reasons if graded else (), outcome=None)


def _pending(key: AttemptKey) -> AttemptRow:
    return AttemptRow(task=key.task, index=key.index, standing="pending", score=None)


def _verdict_row(
    key: AttemptKey, verdict: Verdict | None, seconds: float | None, line: VerdictLine | None = None
) -> AttemptRow:
    if verdict is None:
        return AttemptRow(task=key.task, index=key.index, standing="not_attempted", score=None)
    return AttemptRow(
        task=key.task,
        index=key.index,
        standing=verdict.status.value,
        score=verdict.score if verdict.status is Status.GRADED else None,
        scores=verdict.scores,
        reasons=verdict.reasons,
        by_time=verdict.by_time,
        complete=verdict.complete,
        duration_s=seconds,
        submission=line.submission if line else None,
        cached=line.cached if line else False,
        outcome=line.outcome if line else None,
        effort=line.effort if line else None,
    )


def _counts(rows: Sequence[AttemptRow]) -> AttemptCounts:
    standing = Counter(row.standing for row in rows)
    return AttemptCounts(
        planned=len(rows),
        graded=standing["graded"],
        tampered=standing["tampered"],
        infrastructure=standing["infrastructure"],
        unfit=standing["unfit"],
        not_attempted=standing["not_attempted"],
        made=standing["made"],
        pending=standing["pending"],
    )


def _counted(rows: Sequence[AttemptRow]) -> dict[str, list[float]]:
    """Return what enters means, by task."""
    return _by_task((row.task, row.counted) for row in rows)


def _figures(rows: Sequence[AttemptRow], counted: Mapping[str, list[float]], attempts: int) -> tuple[Figure, ...]:
    headline = _mean("mean score", counted, "over tasks; what was not attempted or was tampered with counts 0")
    attempted = {"name": ATTEMPTED, "meaning": "the same over attempts that were handed in"}
    twin = headline.but(**attempted)
    if any(row.standing == "not_attempted" for row in rows):
        twin = _mean(groups=_counted([row for row in rows if row.standing != "not_attempted"]), **attempted)
    solved = _by_task((row.task, row.solved) for row in rows)
    figures = [
        headline,
        twin,
        _mean("solved", solved, "attempts that got all points, services also deployed, by task"),
    ]
    figures += list(_of_several(attempts, solved, counted))
    graded = [row for row in rows if row.standing == "graded"]
    if not any(row.standing in ("tampered", "not_attempted") for row in rows):  # of these no points are known
        figures.append(_points([row.score for row in graded if row.score]))
    for name in sorted({name for row in graded for name in row.scores} - {EARLIER}):
        named = _by_task((row.task, row.counted_as(name)) for row in rows)
        said = "where a task has it; what was not attempted or tampered with counts 0"
        some = "tasks that have it" if len(named) < len(counted) else ""
        figures.append(_mean(name, named, said).but(over=some))
    return tuple(figures)


def _ks(attempts: int) -> list[int]:
    """Return for which k pass@k and its like are reported, besides 1: doubling, and all attempts."""
    doubling = itertools.takewhile(lambda k: k < attempts, (2**power for power in itertools.count(1)))
    return [*doubling, attempts] if attempts > 1 else []


def _of_several(
    attempts: int, solved: Mapping[str, list[float]], counted: Mapping[str, list[float]]
) -> Iterator[Figure]:
    """Yield what k attempts at a task come to, each task with k known attempts or more once."""
    fractional = any(value not in (0.0, 1.0) for values in counted.values() for value in values)
    for k in _ks(attempts):
        enough = {task: values for task, values in solved.items() if len(values) >= k}
        parts = {task: (round(sum(values)), len(values), k) for task, values in enough.items()}
        over = f"over tasks with {k} known attempts"
        one = {task: [one_of(*part)] for task, part in parts.items()}
        known = f"tasks with {k} attempts that have a score" if len(enough) < len(counted) else ""
        yield _mean(f"pass@{k}", one, f"tasks that one of {k} attempts solves, {over}").but(over=known)
        every = {task: [all_of(*part)] for task, part in parts.items()}
        yield _mean(f"pass^{k}", every, f"tasks that all of {k} attempts solve, {over}").but(over=known)
        if fractional:  # otherwise it is pass@k
            best = {task: [best_of(counted[task], k)] for task in enough}
            said = f"expected best hidden score of {k} attempts: no choice among them does better, {over}"
            yield _mean(f"best of {k}", best, said).but(over=known)


def _headline_of(choice: Choice | None, rows: Sequence[AttemptRow]) -> Iterator[Figure]:
    """Yield what a run comes to that reports one attempt of each task."""
    if choice is not None:
        yield _mean(choice.name, _counted([row for row in rows if choice.counts(row)]), choice.meaning)


def _by_task(values: Iterable[tuple[str, float | None]]) -> dict[str, list[float]]:
    """Group values by task, without those that are None."""
    groups: dict[str, list[float]] = {}
    for task, value in values:
        if value is not None:
            groups.setdefault(task, []).append(value)
    return groups


def _mean(name: str, groups: Mapping[str, list[float]], meaning: str) -> Figure:
    """Return the mean over tasks of the means over their attempts, as in comparisons."""
    means = [math.fsum(group) / len(group) for group in groups.values()]
    return Figure(
        name=name,
        score=Score(numerator=math.fsum(means), denominator=len(means)),
        unit="tasks",
        interval=mean_interval(means),
        standard_error=standard_error([[value] for value in means]),
        meaning=meaning,
    )


def _points(scores: Sequence[Score]) -> Figure:
    return Figure(
        name="points",
        unit="points",
        score=Score(
            numerator=math.fsum(score.numerator for score in scores),
            denominator=math.fsum(score.denominator for score in scores),
        ),
        meaning="what graded attempts got of what they could, such as tests; large tasks weigh more",
    )


def _lost_at(rows: Sequence[AttemptRow]) -> dict[str, int]:
    below = [row for row in rows if row.standing in ("graded", "tampered") and row.counted != 1.0]
    stages = Counter(row.reasons[0].stage.value if row.reasons else "unstated" for row in below)
    return dict(sorted(stages.items()))


def _cut_short(rows: Sequence[AttemptRow]) -> dict[str, int]:
    judged = [row for row in rows if row.standing in ("graded", "tampered")]
    ends = Counter(row.outcome.value for row in judged if row.outcome not in (None, Outcome.SUBMITTED))
    return dict(sorted(ends.items()))


def _effort(rows: Sequence[AttemptRow]) -> Effort | None:
    """Add up what agents took; a cost that is unknown for one attempt is unknown for all."""
    efforts = [row.effort for row in rows if row.effort is not None]
    if not efforts:
        return None
    costs = [one.cost_usd for one in efforts if one.cost_usd is not None]
    return Effort(
        turns=sum(one.turns for one in efforts),
        usage=sum((one.usage for one in efforts), TokenUsage()),
        estimated=any(one.estimated for one in efforts),
        cost_usd=math.fsum(costs) if len(costs) == len(efforts) else None,
        seconds=math.fsum(one.seconds for one in efforts),
    )


def _warnings(rows: Sequence[AttemptRow], graders: Sequence[GraderIdentity]) -> tuple[str, ...]:
    warnings = []
    if len(graders) > 1:
        warnings.append("verdicts come from several graders, versions or environments: " + _named(graders))
    unknown = sum(row.standing in NO_VERDICT for row in rows)
    if unknown:
        have, are = ("has", "is") if unknown == len(rows) == 1 else ("have", "are")
        warnings.append(
            f"{unknown} of {count(len(rows), 'attempt')} {have} no verdict and {are} in no mean; resume the run"
        )
    seen = [row for row in rows if row.effort and row.effort.resembles]
    for row in seen[:_NAMED]:
        assert row.effort is not None
        warnings.append(f"{row.task}/{row.index} came by the original: {row.effort.resembles}")
    if len(seen) > _NAMED:
        warnings.append(f"{len(seen) - _NAMED} more attempts came by the original; `--json` names them")
    undefined = sum(row.standing == "graded" and row.counted is None for row in rows)
    if undefined:
        warnings.append(f"graded with an undefined score (0/0), which is in no mean: {undefined}")
    return tuple(warnings)


def _named(graders: Sequence[GraderIdentity]) -> str:
    return "; ".join(f"{one.name} {one.version} (data {one.data_version}, {one.environment})" for one in graders)
