"""What a report and a comparison say first: the answer, in sentences. Pure."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from groundup.domain.figures import percent
from groundup.domain.names import count
from groundup.domain.verdicts import share
from groundup.reports.comparison import from_ahead
from groundup.reports.document import NO_VERDICT, AttemptRow, Report, RunComparison, RunReport
from groundup.reports.lost import left_out_words, shares_lost, stage_name, tasks_worth, worst_first
from groundup.reports.numbers import around, between, chance, points, signed, standing_words
from groundup.reports.why import cause_words, common_cause, row_words

_NAMED = 3
"""Tasks, runs or attempts of one kind that a sentence names."""
_CARE = "compare with care: "


def run_answer(run: RunReport) -> tuple[str, ...]:
    """Say how good a run is, where it lost most, and what has no verdict yet."""
    lost = worst_first(run.attempts)
    sentences = [run.unfit] * bool(run.unfit) + [_score(run)]
    sentences += [told] if (told := left_out_words(run)) else []
    if len(run.attempts) > 1 and lost:
        missing = [row for row in lost if row.standing == "not_attempted"]
        handed_in = [row for row in lost if row.standing != "not_attempted"]
        named = [f"{len(missing)} not attempted"] * bool(missing)
        groups = [*_by_cause(handed_in, _what_was_lost)]
        named += [f"{_group_name(rows, run)} {what}" for rows, what in groups[:_NAMED]]
        left = sum(len(rows) for rows, _ in groups[_NAMED:])
        more = f"; {left} more" if left else ""
        sentences.append(f"lost most: {'; '.join(named)}{more}")
        if len(run.points_lost) > 1:
            at = ", ".join(f"{stage} {words}" for stage, words in shares_lost(run.points_lost).items())
            sentences.append(f"lost in all: {tasks_worth(sum(run.points_lost.values()))}; {at}")
    unknown = [row for row in run.attempts if row.standing in NO_VERDICT]
    if unknown:
        told = f"no verdict, in no mean: {_some([row_name(row, run) for row in unknown])}"
        causes = [(rows, what) for rows, what in _by_cause(unknown, _first_reason) if what]
        if causes and len(causes[0][0]) > 1:
            rows, what = causes[0]
            told += f"; {_group_name(rows, run)}: {what}"
        sentences.append(told)
    return tuple(sentences)


def short_answer(run: RunReport) -> str:
    """Say in a line how good *run* is, and which tasks of the suite it left out."""
    return "; ".join(filter(None, (run_answer(run)[0], left_out_words(run))))


def _score(run: RunReport) -> str:
    """Say a run's score over which tasks, and how many attempts got all, a part or nothing."""
    if len(run.attempts) == 1:
        (row,) = run.attempts
        return f"{row.task}: {share(row.score) if row.score else standing_words(row)}{_of_row(row)}"
    figure, tasks = run.headline, len({row.task for row in run.attempts})
    empty = sum(row.standing == "graded" and row.counted is None for row in run.attempts)
    if figure.score.value is None and empty:
        graded = f"{empty} of {count(len(run.attempts), 'attempt')}"
        return f"no score: {graded} graded, as 0 of 0: there was nothing to count"
    if figure.score.value is None:
        return f"no score yet: none of {count(tasks, 'task')} has a verdict"
    known = round(figure.score.denominator)
    over = count(tasks, "task") if known == tasks else f"{known} of {count(tasks, 'task')}"
    stand = Counter(standing_words(row) for row in run.attempts)
    unit = f"of {len(run.attempts)} attempts " if run.several else ""
    parts = ", ".join(f"{number} {word}" for word, number in stand.items())
    name = "" if figure.name == "mean score" else f" ({figure.name})"
    so_far = " so far, provisional," if any(row.standing in NO_VERDICT for row in run.attempts) else ""
    return f"{percent(figure.score.value)}{between(figure.interval)}{so_far} over {over}{name}: {unit}{parts}"


def _of_row(row: AttemptRow) -> str:
    if row.losses is None:
        return f"; {words}" if (words := row_words(row)) else ""
    return f"; {count(row.losses.tests, 'test')} lost, {_most(row)}"


def _what_was_lost(row: AttemptRow) -> str:
    got = percent(row.counted or 0.0) + (" (tampered)" if row.standing == "tampered" else "")
    if row.losses is not None:
        return f"{got}, {count(row.losses.tests, 'test')} lost, {_most(row)}"
    return got + "".join(f", {stage_name(row.scores, one.stage)}: {one.message[:120]}" for one in row.reasons[:1])


def _first_reason(row: AttemptRow) -> str:
    return next((f"{stage_name(row.scores, one.stage)}: {one.message}" for one in row.reasons), "")


def _by_cause(
    rows: Sequence[AttemptRow], told: Callable[[AttemptRow], str]
) -> Iterator[tuple[list[AttemptRow], str]]:
    """Yield *rows* that have one cause together, with what is told of the first of them, in their order."""
    groups: dict[str, list[AttemptRow]] = {}
    for row in rows:
        own = "" if row.reasons or row.losses else f"{row.task}/{row.index}"  # what says no cause shares none
        groups.setdefault(own or common_cause(told(row), row.task), []).append(row)
    for same in groups.values():
        yield same, told(same[0])


def _group_name(rows: Sequence[AttemptRow], run: RunReport) -> str:
    """Name attempts that have one cause."""
    if len(rows) == 1:
        return row_name(rows[0], run)
    return f"all {len(rows)} attempts" if len(rows) == len(run.attempts) else f"{len(rows)} attempts"


def _most(row: AttemptRow) -> str:
    """Say of which cause most of a row's lost tests are."""
    assert row.losses is not None
    first = row.losses.causes[0]
    number = "" if first.tests == row.losses.tests else f"{first.tests} of them by "
    return f"{number}{cause_words(first)}"


def row_name(row: AttemptRow, run: RunReport) -> str:
    """Return an attempt's name: its task's where each task has one attempt."""
    return f"{row.task}/{row.index}" if run.several else row.task


def comparison_answer(report: Report) -> tuple[str, ...]:
    """Say which run is better, by how much, over which tasks, and what chance makes of it."""
    sentences = [_best(report)] if report.ranks else []
    for one in report.comparisons:
        sentences += paired_answer(one)
    sentences += [sentence for run in report.runs for sentence in _chance(run)]
    if len(report.runs) == 2 and _is_one_subject(*report.runs) and (found := report.comparisons[0].difference):
        title = report.runs[0].subject.title
        sentences.append(f"both runs name one subject, {title}: two runs of it differ by {points(abs(found))}")
    if report.comparisons and not any(run.noise for run in report.runs):
        sentences.append("each task has one attempt: `-k 3` shows by how much two runs of one subject differ")
    unfit = [f"{run.run_id}: {run.unfit}" for run in report.runs if run.unfit]
    return (*unfit, *(one for one in sentences if one.removeprefix(_CARE) not in unfit))


def _best(report: Report) -> str:
    first = report.ranks[0]
    equal = [one.run for one in report.ranks if one.rank == first.rank]
    place = "" if first.high == 1 else f"; its true place may be {first.low} to {first.high}"
    have = "has" if len(equal) == 1 else "have"
    return (
        f"{' and '.join(equal)} {have} the highest mean of {len(report.runs)} runs: {percent(first.score)} "
        f"over the {first.tasks} tasks that all have a score for{place}"
    )


def paired_answer(one: RunComparison) -> Iterator[str]:
    """Say of two runs which is ahead, by how much, and whether the tasks that both have a score for can tell."""
    if one.same:
        yield one.same
    one = from_ahead(one)
    yield _verdict(one)
    figure = next((figure for figure in one.figures if figure.name == "score"), None)
    if figure is not None and one.lead:
        differing = [pair for pair in one.pairs if pair.difference]
        largest = sorted(differing, key=lambda pair: (-round(abs(pair.difference), 9), pair.task))
        named = ", ".join(f"{pair.task} {pair.difference * 100:+.1f}" for pair in largest[:_NAMED])
        yield (
            f"{one.other} {percent(figure.other)}, {one.base} {percent(figure.base)}, over {_tasks(figure.pairs)} "
            f"with a score in both; most apart on {named}"
        )
    if one.unpaired:
        named = _some([f"{left.task} ({_why_left_out(one, left.base, left.other)})" for left in one.unpaired])
        yield f"left out, for one of the two has no score: {named}"
    yield from (f"{_CARE}{warning}" for warning in one.warnings)


def _verdict(one: RunComparison) -> str:
    """Say the lead of the run that is ahead: the same words and figures as in tables, pages and JSON."""
    if one.difference is None:
        return f"{one.base} and {one.other} have no task with a score in both: nothing can be compared"
    if one.better + one.worse == 0:
        return f"{one.base} and {one.other} have the same score on each of {_tasks(one.tasks)}"
    if one.lead is None:
        return (
            f"{one.base} and {one.other} are equal over {_tasks(one.tasks)}: each is better on "
            f"{one.better if one.better == one.worse else f'{one.worse} and {one.better}'}"
        )
    where = f"better on {one.better} of {_tasks(one.tasks)}" + (f", worse on {one.worse}" if one.worse else "")
    head = f"{one.other} {signed(one.lead.difference, None)} over {one.base}"
    if one.lead.p_value is None:
        return f"{head} ({where}): one task cannot tell the two apart"
    sure = f"{around(one.lead.interval)}, p {chance(one.lead.p_value)}"
    if one.lead.told_apart:
        return f"{head}{sure} ({where}): these tasks tell the two apart"
    return f"{head}{sure} ({where}): these tasks cannot tell the two apart{_enough(one)}"


def _enough(one: RunComparison) -> str:
    if one.tasks_needed is None:
        return ""
    return f"; about {max(one.tasks_needed, one.tasks + 1)} would for such a difference"


def _why_left_out(one: RunComparison, base: str, other: str) -> str:
    return f"{one.base}: {base}; {one.other}: {other}"


def _chance(run: RunReport) -> Iterator[str]:
    """Say what a run's repeated attempts tell of chance."""
    noise = run.noise
    if noise is None:
        return
    flips = f"of {_tasks(noise.tasks)} with several attempts {_flips(noise.flipping)}"
    if not noise.deviation:
        yield f"{run.run_id}: {flips}; attempts at one task never differ"
        return
    yield (
        f"{run.run_id}: {flips}; two runs of it with one attempt a task differ by {points(noise.difference)} as a "
        f"rule, and must by more than {points(noise.needed)} to say anything"
    )


def noise_sentences(run: RunReport) -> tuple[str, ...]:
    """Say which tasks flip in repeated attempts, and by how much two runs of the subject differ by chance."""
    return tuple(_chance(run))


def _flips(tasks: Sequence[str]) -> str:
    if not tasks:
        return "none flips between solved and not"
    return f"{len(tasks)} {'flips' if len(tasks) == 1 else 'flip'} between solved and not ({_some(tasks)})"


def _is_one_subject(base: RunReport, other: RunReport) -> bool:
    return base.subject.model is not None and base.subject == other.subject


def _tasks(number: int) -> str:
    return count(number, "task")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
