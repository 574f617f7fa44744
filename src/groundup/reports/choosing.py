"""Which of several attempts at a task a run reports, and what feedback rounds brought. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from groundup.domain.limits import Selection
from groundup.domain.subjects import ROUNDS, SELECT, Subject
from groundup.reports.document import AttemptRow, Choice
from groundup.store.judgements import Judgement


def choice_of(subject: Subject, rows: Sequence[AttemptRow], judged: Mapping[str, int]) -> Choice | None:
    """Return which attempts the run of *subject* reports; None: all. *judged* is what models would choose."""
    by = subject.settings.get(SELECT)
    if not isinstance(by, str):
        return None
    selection = Selection(by)
    if selection in (Selection.JUDGES, Selection.VOTES):
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


def chosen_by_votes(judgements: Iterable[Judgement]) -> dict[str, int]:
    """Return which attempt of each task has most of the models' votes.

    Each time that a judge was asked of all of a task's judged attempts it has one vote, for the attempt that it
    scored highest then, shared among equals. Of equal votes the higher sum of scores decides, then the lower
    number; tasks of which one attempt was judged leave no choice.
    """
    latest = {
        (one.attempt, one.judge, one.vote): one for one in judgements if one.of == "repository" and one.scores
    }
    ballots: dict[str, dict[tuple[str, int], dict[int, int]]] = {}
    for (key, judge, vote), one in latest.items():
        points = sum(opinion.score for opinion in one.scores.values())
        ballots.setdefault(key.task, {}).setdefault((judge, vote), {})[key.index] = points
    return {task: index for task, found in ballots.items() if (index := _majority(found)) is not None}


def _majority(ballots: Mapping[tuple[str, int], Mapping[int, int]]) -> int | None:
    candidates = {index for ballot in ballots.values() for index in ballot}
    if len(candidates) < 2:
        return None
    votes, points = dict.fromkeys(candidates, 0.0), dict.fromkeys(candidates, 0)
    for ballot in ballots.values():
        if ballot.keys() != candidates:
            continue  # it was not asked of all of them
        best = max(ballot.values())
        first = [index for index, given in ballot.items() if given == best]
        for index in candidates:
            votes[index] += (index in first) / len(first)
            points[index] += ballot[index]
    if not any(votes.values()):
        return None
    return min(candidates, key=lambda index: (-votes[index], -points[index], index))


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
