"""Which of several attempts at a task a run reports, and what feedback rounds brought. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from groundup.domain.limits import Selection
from groundup.domain.subjects import ROUNDS, SELECT, Subject
from groundup.reports.document import AttemptRow, Choice


def choice_of(subject: Subject, rows: Sequence[AttemptRow], judged: Mapping[str, int]) -> Choice | None:
    """Return which attempts the run of *subject* reports; None: all. *judged* is what models would choose."""
    by = subject.settings.get(SELECT)
    if not isinstance(by, str):
        return None
    selection = Selection(by)
    if selection is Selection.JUDGES:
        return Choice(by=selection, attempts=dict(judged))
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
