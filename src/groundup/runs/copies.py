"""Whether runs, or attempts of one, hold the same submissions but for a few files or lines."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations

from groundup.domain.errors import GroundupError
from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.reports.answers import comparison_answer
from groundup.reports.document import Report, RunComparison
from groundup.runs.reporting import ReadRun
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import References, VerdictLine
from groundup.suites.opening import open_suite
from groundup.trees.likeness import HandedIn, shared, written_lines

_LOOKED_AT = 12
"""Submissions of each run that a comparison reads, about; whoever copies a run copies more than one of so many."""


def with_copies(report: Report, runs: Sequence[ReadRun | None], settings: Settings) -> Report:
    """Return *report* with comparisons that say how many submissions of a run are those of its base, or nearly.

    *runs* are the report's, as read from their folders; None where a run was read from a report file.
    """
    base, *others = runs
    asked = [
        (number, one, other)
        for number, (one, other) in enumerate(zip(report.comparisons, others, strict=True))
        if not one.same and other is not None
    ]
    if base is None or not asked:
        return report
    tasks = _tasks(base.folder, settings)
    comparisons = list(report.comparisons)
    for number, one, other in asked:
        comparisons[number] = one.but(same=_shared(one, base, other, tasks))
    if tuple(comparisons) == report.comparisons:
        return report
    told = report.but(comparisons=tuple(comparisons))
    return told.but(answer=comparison_answer(told))


def _shared(one: RunComparison, base: ReadRun, other: ReadRun, tasks: Mapping[str, Task]) -> str:
    """Say how many submissions of *other* are those of *base*, or nearly; "" for none."""
    runs = (base, other)
    both = set.intersection(*({key.task for key, line in run.lines.items() if line.submission} for run in runs))
    known = sorted(task for task in both & tasks.keys() if tasks[task].deliverable != "edits")
    most = max(sum(key.task in both for key in run.lines) for run in runs)
    drawn = known[:: max(1, most // _LOOKED_AT)]
    its, theirs = (list(_handed_in(run.folder, run.lines, drawn, tasks).values()) for run in runs)
    count = shared(theirs, its)
    if not count:
        return ""
    some = "" if len(drawn) == len(known) else f" at {len(drawn)} of {len(known)} tasks"
    if len(theirs) == 1:
        whose = f"the submission of {one.other}{some} is that of {one.base}"
    else:
        whose = f"{count} of {len(theirs)} submissions of {one.other}{some} are those of {one.base}"
    return f"{whose}, or nearly: one holds four fifths of the lines of the other"


def alike(
    run: RunFolder, lines: Mapping[AttemptKey, VerdictLine], settings: Settings
) -> Iterator[tuple[str, str]]:
    """Yield attempts at one task whose submissions are nearly the same, not byte for byte; no references."""
    if isinstance(run.config().configuration.submissions, References):
        return
    tasks = _tasks(run, settings)
    places: dict[str, dict[AttemptKey, VerdictLine]] = {}
    for key, line in lines.items():
        if line.submission:
            places.setdefault(key.task, {})[key] = line
    for task, attempts in places.items():
        if len({line.submission for line in attempts.values()}) > 1 and task in tasks:
            ordered = {key: attempts[key] for key in sorted(attempts, key=lambda one: one.index)}
            found = _handed_in(run, ordered, (task,), tasks)
            yield from (
                (str(left), str(right))
                for left, right in combinations(found, 2)
                if found[left].digest != found[right].digest and found[left].is_like(found[right])
            )


def _tasks(run: RunFolder, settings: Settings) -> Mapping[str, Task]:
    """Return the tasks of a run by name: what they give to everybody makes nobody's submission a copy."""
    try:
        return open_suite(run.config().configuration.suite, settings).by_name()
    except GroundupError:
        return {}


def _handed_in(
    run: RunFolder, lines: Mapping[AttemptKey, VerdictLine], names: Collection[str], tasks: Mapping[str, Task]
) -> dict[AttemptKey, HandedIn]:
    """Return the submissions of *run* for some tasks, without those that hold no file."""
    return {
        key: HandedIn(key.task, line.submission, written_lines(run.attempt(key).submission, tasks[key.task]))
        for key, line in lines.items()
        if key.task in names and line.submission and (record := run.attempt(key).record()) and record.files
    }
