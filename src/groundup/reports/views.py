"""A report as plain tables and notes, before it takes on a format. Owns the words that readers see."""

from collections.abc import Iterator, Mapping, Sequence

from groundup.domain.figures import amount, money, percent
from groundup.domain.limits import Effort
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.domain.subjects import ABLATED_RUN, ABLATION, REGRADED
from groundup.domain.verdicts import GraderIdentity, Score, share, share_alone
from groundup.reports.answers import comparison_answer, noise_sentences, run_answer
from groundup.reports.columns import Column, label, shown, standing
from groundup.reports.comparison import from_ahead
from groundup.reports.conditions import condition_sentences
from groundup.reports.document import (
    ATTEMPTED,
    NO_VERDICT,
    AttemptRow,
    Figure,
    Report,
    RunComparison,
    RunReport,
)
from groundup.reports.kinds import NOT_RUN
from groundup.reports.lost import UNSTATED, left_out_words, shares_lost
from groundup.reports.numbers import between, chance, points, signed, words
from groundup.reports.review import CLEAN
from groundup.reports.statistics import Power, Rank
from groundup.reports.terminal import Bar
from groundup.reports.why import common_cause, row_words
from groundup.suites.base import Claimed, Summary

UNATTEMPTED_SHOWN = 8
REASONS_SHOWN = 8
_WHY = "why"
"""The column with the reasons."""
_LONG = 60
"""Characters of a reason that is not told twice."""
_TITLED = 3
"""As many runs, and more, a title counts instead of naming them."""
_PAPER_WIDTH = 12
_PAPER_CHARS = 160
"""Figures, and characters of their names, beside each other in a paper's table; more go below each other."""


class View(Record):
    """A titled table with notes above and below; all cells are plain text."""

    title: str
    above: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    below: tuple[str, ...] = ()
    bars: tuple[Bar, ...] = ()
    """What a terminal draws below the table; other forms have plots."""

    @property
    def further(self) -> tuple[str, ...]:
        """What a form that shows `above` shows below the table: no sentence twice."""
        return tuple(line for line in self.below if line not in self.above)


def views_of(report: Report) -> Iterator[View]:
    """Yield what to show: each run alone, or several side by side."""
    if len(report.runs) == 1:
        views = [_attempts(report.runs[0]), _figures(report.runs)]
    else:
        views = [_side_by_side(report), _figures(report.runs), _comparisons(report.comparisons)]
        views += [_ranks(report.ranks)] if report.ranks else []
    views += [
        _summary(run, one, len(report.runs) > 1)
        for run in report.runs
        for one in run.summaries
        if one.layout == "standard"
    ]
    yield from map(_harmless, views)


def paper_views(report: Report) -> Iterator[View]:
    """Yield the tables of the suites' papers: a row for each run, or where too wide, for each group."""
    before = {run.run_id: _ablated(run, report) for run in report.runs if ABLATION in run.subject.settings}
    plain = [run for run in report.runs if before.get(run.run_id) is None]
    headlines = dict.fromkeys(one.headline for run in plain for one in _paper(run))
    yield from (_harmless(_paper_view(plain, headline)) for headline in headlines)
    for ablation in dict.fromkeys(run.subject.settings.get(ABLATION) for run in report.runs):
        pairs = [
            (base, run)
            for run in report.runs
            if run.subject.settings.get(ABLATION) == ablation and (base := before.get(run.run_id)) is not None
        ]
        yield from map(_harmless, [_ablation_view(str(ablation), pairs)] if pairs else [])
    if lacking := [run.run_id for run in report.runs if not any(_paper(run))]:
        yield _harmless(View(title="Without a table as in a paper", below=tuple(lacking)))


def _paper(run: RunReport) -> Iterator[Summary]:
    return (one for one in run.summaries if one.layout == "paper")


def _ablated(run: RunReport, report: Report) -> RunReport | None:
    """Return the run whose submissions *run* has with mistakes taken out, as the same grader saw them."""
    of = run.subject.settings.get(ABLATED_RUN)
    graders = {one.name for one in run.graders}
    for other in report.runs:
        same = of in (other.run_id, other.subject.settings.get(REGRADED))
        if same and ABLATION not in other.subject.settings and graders == {one.name for one in other.graders}:
            return other
    return None


def _ablation_view(ablation: str, pairs: Sequence[tuple[RunReport, RunReport]]) -> View:
    """Return the first figure of the suite's paper that both runs have, before and after, by run and group."""
    rows, notes, figures = [], [], dict[str, None]()
    for base, run in pairs:
        tables = {one.headline: one.scores for one in _paper(run)}
        known = [one for one in _paper(base) if one.headline in tables]
        main = [table for table in known if list(_names(table)) == list(_names(known[0]))]
        for one, group in ((table, group) for table in main for group in table.scores):
            old, new = one.scores[group], tables[one.headline].get(group, {})
            name = next((name for name in old if old[name].value is not None and name in new), None)
            if name is None or (after := new[name]).value is None or (before := old[name]).value is None:
                continue
            figures[name] = None
            label = group if len(main) == 1 else f"{one.headline.partition(':')[0]}, {group}"
            values = (share_alone(before), share_alone(after))
            points = f"{(after.value - before.value) * 100:+.1f}"
            who = (base.run_id, base.subject.name, base.subject.model_name or "-", _extent(run))
            rows.append((*who, label, *values, points))
            if name == next(iter(old)) and before.denominator != after.denominator:
                counts = f"of {amount(before.denominator)} before, of {amount(after.denominator)} after"
                notes.append(f"{base.run_id}, {label}: {counts}")
    return View(
        title=f"Ablation {ablation}: {' and '.join(figures) or 'no figure in both runs'}",
        columns=("run", "agent", "model", "tasks in all", "", "before", "after", "difference"),
        rows=tuple(rows),
        below=tuple(notes),
    )


def _names(summary: Summary) -> Iterator[str]:
    """Yield the figures of a table."""
    yield from dict.fromkeys(name for scores in summary.scores.values() for name in scores)


def _paper_view(runs: Sequence[RunReport], headline: str) -> View:
    tables = [(run, one) for run in runs for one in _paper(run) if one.headline == headline]
    groups = list(dict.fromkeys(name for _, one in tables for name in one.scores))
    figures = list(dict.fromkeys(name for _, one in tables for name in _names(one)))
    notes = dict.fromkeys(note for _, one in tables for note in one.notes)
    cells = [
        ((run.run_id, _agent(run), run.subject.model_name or "-", _extent(run)), one.scores.get(group), group)
        for run, one in tables
        for group in groups
    ]
    columns: tuple[str, ...] = ("run", "agent", "model", "tasks in all")
    heads = tuple(f"{group} {figure}" for group in groups for figure in figures)
    if len(heads) > _PAPER_WIDTH or sum(map(len, heads)) > _PAPER_CHARS:
        columns += ("", *figures)
        rows = [(*who, group, *_paper_cells(scores, figures)) for who, scores, group in cells if scores]
    else:
        columns += heads
        rows = []
        for place in range(0, len(cells), len(groups)):
            row = cells[place : place + len(groups)]
            rows.append((*row[0][0], *(cell for _, scores, _ in row for cell in _paper_cells(scores, figures))))
    claims = {(claim.by, claim.model): claim for _, one in tables for claim in one.claimed}.values()
    rows += (row for claim in claims for row in _claimed_rows(claim, groups, figures, by_group="" in columns))
    notes |= {f"claimed: as {claim.by} says, by a harness of its own; not graded here": None for claim in claims}
    notes |= {f"{run.run_id}: {told}": None for run, _ in tables if (told := left_out_words(run))}
    return View(title=headline, columns=columns, rows=tuple(rows), below=tuple(notes))


def _claimed_rows(
    claim: Claimed, groups: Sequence[str], figures: Sequence[str], *, by_group: bool
) -> Iterator[tuple[str, ...]]:
    """Yield what others published in the columns of a paper's table: a row, or one for each group."""
    who = ("claimed", claim.agent, claim.model, "-")
    cells = {group: [_percent(claim.scores.get(group, {}).get(figure)) for figure in figures] for group in groups}
    if not by_group:
        yield (*who, *(cell for group in groups for cell in cells[group]))
        return
    yield from ((*who, group, *cells[group]) for group in groups if group in claim.scores)


def _percent(value: float | None) -> str:
    return "-" if value is None else percent(value).removesuffix(" %")


def _agent(run: RunReport) -> str:
    ablation = run.subject.settings.get(ABLATION)
    return f"{run.subject.name}, {ablation}" if ablation else run.subject.name


def _paper_cells(scores: Mapping[str, Score] | None, figures: Sequence[str]) -> Iterator[str]:
    """Yield figures in percent as papers print them, without the sign."""
    for figure in figures:
        yield share_alone((scores or {}).get(figure))


def _extent(run: RunReport) -> str:
    """Return how many tasks a run has, and of how many an attempt has no verdict."""
    unfinished = {row.task for row in run.attempts if row.standing in NO_VERDICT}
    known = len({row.task for row in run.attempts})
    tasks = f"{known} of {known + len(run.left_out)}" if run.left_out else str(known)
    return f"{tasks}, {len(unfinished)} unfinished" if unfinished else tasks


def comparison_views(report: Report) -> Iterator[View]:
    """Yield what to show of a comparison: the figures, the tasks that differ, and those without a pair."""
    origins = tuple(f"{run.run_id}: {line}" for run in report.runs for line in origin(run))
    rows = tuple((run.run_id, _extent(run), share(run.headline.score)) for run in report.runs)
    columns = ("run", "tasks", "mean score over its own tasks")
    first, *others = (run.run_id for run in report.runs)
    named = " and ".join(others) if len(others) < _TITLED else f"{len(others)} runs"
    yield _harmless(View(title=f"{named} against {first}", above=comparison_answer(report)))
    yield _harmless(View(title="Runs", above=origins, columns=columns, rows=rows))
    yield from evidence_views(report)
    for one in report.comparisons:
        yield from map(_harmless, _pairs(one))


def evidence_views(report: Report) -> Iterator[View]:
    """Yield what a comparison rests on, without its tasks: ranks, figures with intervals and p, and power."""
    yield from map(_harmless, [_ranks(report.ranks)] if report.ranks else [])
    for one in report.comparisons:
        yield _harmless(_compared(one, len(report.comparisons)))
        yield from map(_harmless, [_power(one, one.power)] if one.power else [])


def _summary(run: RunReport, summary: Summary, several: bool) -> View:
    title = f"{run.run_id}: {summary.headline}" if several else summary.headline
    return View(title=title, columns=summary.columns, rows=summary.rows, below=summary.notes)


def _harmless(view: View) -> View:
    """Escape control characters: messages and names come from strangers, and a terminal obeys them."""
    return View(
        title=printable(view.title),
        above=tuple(map(printable, view.above)),
        columns=tuple(map(printable, view.columns)),
        rows=tuple(tuple(map(printable, row)) for row in view.rows),
        below=tuple(map(printable, view.below)),
        bars=tuple(bar._replace(label=printable(bar.label)) for bar in view.bars),
    )


def _attempts(run: RunReport) -> View:
    columns = shown("table")
    rows = [row for row in run.attempts if row.standing != "not_attempted"]
    missing = [label(run, row) for row in run.attempts if row.standing == "not_attempted"]
    below = [_not_attempted(missing)] if missing else []
    return View(
        title=f"{run.suite} · {run.run_id}",
        above=_above(run),
        columns=tuple(column.head for column in columns) if rows else (),
        rows=_each_cause_once(run, rows, columns),
        below=(*below, *run.warnings, *_integrity(run)),
    )


def _each_cause_once(
    run: RunReport, rows: Sequence[AttemptRow], columns: Sequence[Column]
) -> tuple[tuple[str, ...], ...]:
    """Return the cells of *rows*; a long reason that an earlier row has, too, is told as that row's."""
    first: dict[str, str] = {}
    cells = []
    for row in rows:
        made = {column.head: column.told(run, row) for column in columns}
        why = made.get(_WHY, "")
        if len(why) > _LONG:
            known = first.setdefault(common_cause(why, row.task), label(run, row))
            if known != label(run, row):
                made[_WHY] = f"as {known}"
        cells.append(tuple(made.values()))
    return tuple(cells)


def _above(run: RunReport) -> tuple[str, ...]:
    part, answer = coverage(run), list(run_answer(run))
    if part is not None:
        answer[bool(run.unfit)] = part
    return (*answer, *origin(run))


def _coverage_and_origin(run: RunReport) -> tuple[str, ...]:
    part = coverage(run)
    return origin(run) if part is None else (part, *origin(run))


def coverage(run: RunReport) -> str | None:
    """Say what the score of a run for part of its tasks is over these, and over all; None for a whole one."""
    tasks = {row.task for row in run.attempts}
    attempted = {row.task for row in run.attempts if row.standing not in ("not_attempted", "pending")}
    if attempted == tasks or not run.counts.not_attempted:
        return None
    of_these = next(figure.score.value for figure in run.figures if figure.name == ATTEMPTED)
    score = "" if of_these is None else f": {percent(of_these)}"
    verb = "was" if len(attempted) == 1 else "were"
    known = round(run.headline.score.denominator)
    over = f"all {known}" if known == len(tasks) else f"the {known} with a verdict"
    return f"{len(attempted)} of {len(tasks)} tasks {verb} attempted{score}; over {over}: {_over_all(run)}"


def _over_all(run: RunReport) -> str:
    value = run.headline.score.value
    return "-" if value is None else percent(value)


def _not_attempted(missing: Sequence[str]) -> str:
    named = ", ".join(missing[:UNATTEMPTED_SHOWN])
    more = f" and {len(missing) - UNATTEMPTED_SHOWN} more" if len(missing) > UNATTEMPTED_SHOWN else ""
    return f"not attempted, counted as 0: {named}{more}; `evaluate --only-predicted` leaves such tasks out"


def _integrity(run: RunReport) -> tuple[str, ...]:
    """Say what was seen of tampering, where graders looked for it."""
    if run.flagged:
        return (f"verdicts with signs of tampering: {run.flagged}; `groundup review {run.run_id}` shows them",)
    return (f"{CLEAN} (verdicts checked: {run.looked_at})",) if run.looked_at else ()


def origin(run: RunReport) -> tuple[str, ...]:
    """Say what made a run's submissions, and what graded them."""
    options = f" ({settings})" if (settings := run.subject.told_settings) else ""
    subject = run.subject.name + options + (f" with {run.subject.model_name}" if run.subject.model else "")
    graders = "; ".join(grader_words(grader) for grader in run.graders) or "no verdict yet"
    conditions = "; ".join(condition_sentences(run.conditions)) if run.conditions else ""
    made = f"{subject}; {run.suite} {run.suite_version}; sandbox {run.sandbox}"
    return (made, f"graded by {graders}", *([conditions] if conditions else []))


def grader_words(grader: GraderIdentity) -> str:
    """Name a grader with its version, its data and the kind of environment it used."""
    return f"{grader.name} {grader.version}, data {grader.data_version}, environment {grader.environment}"


_MEANINGS = {
    "infrastructure": "a machine or a network failed; in no mean, and `groundup resume` makes them",
    "unfit": "the run's records do not fit, so it has no score; in no mean",
    "pending": "no verdict yet; in no mean; `groundup resume` makes them",
    "decided by time": "verdicts that a limit of time decided",
    "between attempts": "standard deviation of a task's attempts, and of tasks without it; agreement: the share "
    "of the variance that lies between tasks",
}


def figures_view(run: RunReport) -> View:
    """Return the figures of one run with their meanings, and how its attempts stand."""
    view = _harmless(_figures((run,)))
    meanings = _MEANINGS | {figure_name(figure): figure.meaning for figure in run.figures}
    rows = tuple((*row, meanings.get(row[0], "")) for row in view.rows)
    return view.but(title="All figures", columns=(*view.columns, "meaning"), rows=rows)


def _figures(runs: tuple[RunReport, ...]) -> View:
    found = {figure.name: figure for run in runs for figure in run.figures if figure.name != ATTEMPTED}
    names = list(found)
    rows = [(figure_name(figure), *(_figure(run, name) for run in runs)) for name, figure in found.items()]
    rows += [
        (word, *(_count(run, word) for run in runs))
        for word in ("unfit", "tampered", "infrastructure", "not attempted")
    ]
    rows += [("made, without a score yet", *(_count(run, "made") for run in runs))]
    rows += [("pending", *(_count(run, "pending") for run in runs))]
    rows += [("decided by time", *(str(run.by_time) for run in runs))]
    rows += [("between attempts", *(_spread(run) for run in runs))]
    rows = [row for row in rows if any(cell not in ("", "0") for cell in row[1:])]
    shares = [shares_lost(run.points_lost) for run in runs]
    stages = list(dict.fromkeys(stage for one in shares for stage in one))
    if stages != [UNSTATED]:  # a suite that compares texts has no stages to be lost at
        rows += [(f"lost: {stage}", *(one.get(stage, "") for one in shares)) for stage in stages]
    kinds = dict.fromkeys(kind for run in runs for kind in run.kinds_lost if kind != NOT_RUN)
    brought = [(f"mending: {kind}", *(_brought(run, kind) for run in runs)) for kind in kinds]
    rows += [row for row in brought if any(row[1:])]
    ends = sorted({outcome for run in runs for outcome in run.cut_short})
    rows += [(f"ended by {end}", *(str(run.cut_short.get(end, 0)) for run in runs)) for end in ends]
    if any(run.effort for run in runs):
        rows += [(name, *(_took(run.effort, name) for run in runs)) for name in _TOOK]
        rows = [row for row in rows if row[0] not in _TOOK or any(row[1:])]
    methods: dict[str, dict[str, None]] = {}
    for figure in (figure for run in runs for figure in run.figures):
        if figure.interval and figure.name in names:
            methods.setdefault(figure.interval.method, {})[words(figure.name)] = None
    notes = tuple(f"95 % interval of {', '.join(methods[one])}: {one}" for one in sorted(methods))
    notes += tuple(sentence for run in runs for sentence in noise_sentences(run) if len(runs) == 1)
    headings = ("value",) if len(runs) == 1 else tuple(run.run_id for run in runs)
    bars = tuple(_bars(runs)) if len(runs) > 1 else ()
    return View(title="Summary", columns=("figure", *headings), rows=tuple(rows), below=notes, bars=bars)


def _brought(run: RunReport, kind: str) -> str:
    """Return what mending one kind of cause alone would bring back."""
    gained = run.kinds_lost.get(kind, 0.0)
    return f"+{gained:.1f} points" if gained >= 0.05 else ""


def _bars(runs: Sequence[RunReport]) -> Iterator[Bar]:
    """Yield the headline of each run that has one."""
    for run in runs:
        figure = run.headline
        if figure.score.value is not None:
            low, high = (figure.interval.low, figure.interval.high) if figure.interval else (None, None)
            yield Bar(f"{percent(figure.score.value)} {run.run_id}", figure.score.value, low, high)


def _figure(run: RunReport, name: str) -> str:
    found: Figure | None = next((figure for figure in run.figures if figure.name == name), None)
    if found is None or found.score.value is None:
        return ""
    tasks = len({row.task for row in run.attempts})
    part = f", of {tasks}" if found.unit == "tasks" and round(found.score.denominator) < tasks else ""
    return f"{share(found.score)[:-1]} {found.unit}{part}){between(found.interval)}"


def figure_name(figure: Figure) -> str:
    """Return a figure's name, with the tasks that it is over where these are not all that have a score."""
    return f"{words(figure.name)}, {figure.over}" if figure.over else words(figure.name)


def _spread(run: RunReport) -> str:
    if run.spread is None:
        return ""
    found = run.spread
    words = f"deviation {points(found.within)}, between tasks {points(found.between)}"
    return words if found.agreement is None else f"{words}; agreement {found.agreement:.2f}"


_TOOK = ("turns", "input tokens", "output tokens", "cost")


def _took(effort: Effort | None, name: str) -> str:
    if effort is None:
        return ""
    cost = "" if effort.cost_usd is None else money(effort.cost_usd)
    usage = effort.usage
    values = (f"{effort.turns:,}", f"{usage.input_tokens:,}", f"{usage.output_tokens:,}", cost)
    value = dict(zip(_TOOK, values, strict=True))[name]
    return f"{value} (in part estimated)" if value and effort.estimated and name != "turns" else value


def _count(run: RunReport, word: str) -> str:
    return str(getattr(run.counts, word.replace(" ", "_")))


def _side_by_side(report: Report) -> View:
    tasks = dict.fromkeys(row.task for run in report.runs for row in run.attempts)
    rows = [(task, *(_cell(run, task) for run in report.runs)) for task in tasks]
    rows = [row for row in rows if any(cell not in ("", "not attempted") for cell in row[1:])]
    return View(
        title="Runs side by side",
        above=(
            *comparison_answer(report),
            *(f"{run.run_id}: {line}" for run in report.runs for line in _coverage_and_origin(run)),
        ),
        columns=("task", *(run.run_id for run in report.runs)),
        rows=tuple(rows),
        below=tuple(_remarks(report)),
    )


def _remarks(report: Report) -> Iterator[str]:
    """Yield why points were lost, as long as that stays readable, and every warning."""
    for run in report.runs:
        lost = [row for row in run.attempts if row.reasons]
        if len(lost) <= REASONS_SHOWN:
            yield from (f"{run.run_id}, {label(run, row)}: {row_words(row)}" for row in lost)
    yield from (f"{run.run_id}: {warning}" for run in report.runs for warning in run.warnings)


def _cell(run: RunReport, task: str) -> str:
    rows = [row for row in run.attempts if row.task == task]
    return ", ".join(share(row.score) if row.standing == "graded" else standing(row) for row in rows)


def _comparisons(comparisons: tuple[RunComparison, ...]) -> View:
    rows = []
    for one in map(from_ahead, comparisons):
        lead = one.lead
        rows.append(
            (
                f"{one.other} over {one.base}",
                str(one.tasks),
                "-" if one.difference is None else signed(one.difference, one.interval),
                chance(lead.p_value if lead else None),
                str(one.better),
                str(one.worse),
                str(one.equal),
                str(len(one.left_out)),
            )
        )
    return View(
        title="Paired by task",
        columns=("runs", "tasks", "difference", "p", "better", "worse", "equal", "left out"),
        rows=tuple(rows),
    )


def _compared(one: RunComparison, comparisons: int) -> View:
    """Return a row per figure, over the tasks that have it in both runs."""
    one = from_ahead(one)
    rows = tuple(
        (
            words(figure.name),
            str(figure.pairs),
            percent(figure.other),
            percent(figure.base),
            signed(figure.difference, figure.interval),
            chance(figure.p_value),
            str(figure.better),
            str(figure.worse),
            str(figure.equal),
        )
        for figure in one.figures
    )
    methods = {figure.interval.method for figure in one.figures if figure.interval}
    several = f", corrected for {comparisons} comparisons" if comparisons > 1 else ""
    below = [f"95 % interval of the difference{several}: {method}" for method in sorted(methods)]
    if methods:
        below.append("p is of this interval: at most 0.05 where it leaves out 0, and nowhere else")
    below += [
        f"score: standard error of the difference {points(figure.standard_error)}; "
        f"correlation of the two runs {figure.correlation:.2f}"
        for figure in one.figures
        if figure.name == "score" and figure.standard_error is not None and figure.correlation is not None
    ]
    return View(
        title=f"{one.other} over {one.base}, on the tasks that both have a score for",
        columns=("figure", "tasks", one.other, one.base, "difference", "p", "better", "worse", "equal"),
        rows=rows,
        below=tuple(below),
    )


def _ranks(found: tuple[Rank, ...]) -> View:
    rows = (
        (
            str(one.rank),
            str(one.low) if one.low == one.high else f"{one.low} to {one.high}",
            one.run,
            percent(one.score),
        )
        for one in found
    )
    return View(
        title=f"Ranks, over the {found[0].tasks} tasks that all runs have a score for",
        columns=("rank", "95 % interval", "run", "score"),
        rows=tuple(rows),
        below=(f"95 % interval of ranks: {found[0].method}",),
    )


def _power(one: RunComparison, found: Power) -> View:
    attempts = str(found.attempts_needed) if found.attempts_needed is not None else "no number is enough"
    if found.attempts_needed is None and not found.attempts_known:
        attempts = "unknown with one attempt at each task"
    detectable = "none" if found.detectable is None else points(found.detectable)
    return View(
        title=f"{one.other} and {one.base}, until a difference of {points(found.difference)} shows",
        columns=("", "at hand", "needed"),
        rows=(
            ("difference", "", points(found.difference)),
            ("the smallest that shows", detectable, ""),
            ("tasks", str(found.tasks), str(found.tasks_needed)),
            ("attempts at each task in both runs", amount(found.attempts), attempts),
            ("deviation of paired differences", points(found.deviation), ""),
        ),
        below=(f"power: {found.method}; tasks with as many attempts, or attempts with as many tasks",),
    )


def _pairs(one: RunComparison) -> Iterator[View]:
    one = from_ahead(one)
    differing = sorted((pair for pair in one.pairs if pair.difference), key=lambda pair: -abs(pair.difference))
    equal = [pair.task for pair in one.pairs if not pair.difference]
    yield View(
        title=f"{one.other} over {one.base}, task by task",
        columns=("task", one.other, one.base, "difference") if differing else (),
        rows=tuple(
            (pair.task, percent(pair.other), percent(pair.base), signed(pair.difference, None))
            for pair in differing
        ),
        below=(f"equal: {', '.join(equal)}",) if equal else (),
    )
    if one.unpaired:
        yield View(
            title=f"{one.other} and {one.base}, in no mean: no score in one of the two",
            columns=("task", one.other, one.base),
            rows=tuple((lone.task, lone.other, lone.base) for lone in one.unpaired),
        )
