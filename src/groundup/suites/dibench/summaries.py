"""Tables over a run, textual and executed: by language, subset, kind, size and failure. Pure."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

from groundup.domain.errors import TaskError
from groundup.domain.figures import percent
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Score, Status, Verdict, share_alone
from groundup.suites.base import Summary
from groundup.suites.dibench.execution import KIND, ExecutionGrader
from groundup.suites.dibench.metrics import Aggregate, DependencyCounts, InstanceScore, aggregate, band
from groundup.suites.dibench.registry_check import Existence
from groundup.suites.dibench.textual import DIBenchOfficialGrader
from groundup.suites.dibench.verdict_facts import existence_of, fake_rate, instance_score

DEPENDENCY_BANDS = (1, 6, 11, 21, 51)
LINE_BANDS = (1, 1_000, 5_000, 20_000, 100_000)
TOKEN_BANDS = (1, 10_000, 50_000, 200_000, 1_000_000)
_DENSITY_BANDS: Mapping[str, tuple[int, ...]] = {
    "number of dependencies": (1, 2, 3, 5, 8, 13, 21, 34, 55, 89),
    "lines of source code": (1, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000),
    "tokens of source code": (1, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000),
}
SizeOf = Callable[[InstanceScore], int | None]
_SIZES: Mapping[str, tuple[SizeOf, tuple[int, ...]]] = {
    "number of dependencies": (attrgetter("expected"), DEPENDENCY_BANDS),
    "lines of source code": (attrgetter("lines"), LINE_BANDS),
    "tokens of source code": (attrgetter("tokens"), TOKEN_BANDS),
}
"""How large repositories are, by which tables and plots have bands."""
_COLUMNS = (
    "Exec",
    "P",
    "R",
    "F1",
    "macro F1",
    "exact P",
    "exact R",
    "exact F1",
    "exact macro F1",
    "elsewhere",
    "fake",
)


class Row(Record):
    """One instance of a run."""

    score: InstanceScore
    existence: dict[Existence, int] = {}
    executed: Score | None = None
    """Whether its job passed; None where it was not executed."""


def run_summaries(
    verdicts: Mapping[AttemptKey, Verdict | None], grader: str, missing: Callable[[str], InstanceScore | None]
) -> list[Summary]:
    """Return rates by language, subset, kind, number of dependencies and size.

    *missing* returns the counts of a task without a prediction, None where its data is not at hand. Raises
    `TaskError`.
    """
    rows: list[Row] = []
    notes: list[str] = []
    executes = grader == ExecutionGrader.name
    absent = [key for key, verdict in verdicts.items() if verdict is None]
    for key, verdict in verdicts.items():
        if verdict is not None and verdict.status is Status.GRADED and verdict.facts.get("readable", True):
            score = instance_score(key.task, verdict)
            ran = verdict.score if executes and verdict.score and verdict.score.denominator else None
            rows.append(Row(score=score, existence=dict(existence_of(verdict)), executed=ran))
    left_out = len(verdicts) - len(absent) - len(rows)
    if grader == DIBenchOfficialGrader.name and absent:
        notes.append(f"{len(absent)} without a prediction are left out, as the published code does")
    elif absent:
        failed = Score(numerator=0, denominator=1) if executes else None
        rows += [row.but(executed=failed) for row in _absent(absent, missing, notes)]
    if left_out:
        notes.append(f"{left_out} have no counts and are left out")
    subsets = sorted({row.score.subset for row in rows}, key=lambda name: (name != "regular", name))
    papers = [_paper(subset, rows, notes) for subset in subsets]
    found = [*summaries(rows, notes), *papers, *_densities(rows)]
    return [*execution_tables(verdicts), *found, *_paper_failures(verdicts)] if executes else found


def _paper(subset: str, every: Sequence[Row], notes: Sequence[str]) -> Summary:
    """Return the paper's figures of a subset by language: Exec, micro P, R and F1 by name, rate of fakes."""
    groups: dict[str, list[Row]] = {}
    for row in every:
        if row.score.subset == subset:
            groups.setdefault(row.score.language, []).append(row)
    scores: dict[str, dict[str, Score]] = {}
    for language in sorted(groups):
        members = groups[language]
        rates = _scores(aggregate(row.score.total for row in members), _existence(members))
        ran, fakes = _exec(members).get("Exec", _NOTHING), rates.get("fake", _NOTHING)
        scores[language] = {"Exec": ran, **{name: rates[name] for name in ("P", "R", "F1")}, "FR": fakes}
    headline = f"DI-Bench, {subset}: methods by language"
    return Summary(headline=headline, scores=scores, notes=tuple(notes), layout="paper")


_NOTHING = Score(numerator=0, denominator=0)


def _exec(members: Iterable[Row]) -> dict[str, Score]:
    """Return the share of passed jobs; without a prediction it failed, and what was not executed is in none."""
    points = [row.executed for row in members if row.executed is not None]
    passed = sum(one.numerator for one in points)
    return {"Exec": Score(numerator=passed, denominator=len(points))} if points else {}


def _paper_failures(verdicts: Mapping[AttemptKey, Verdict | None]) -> list[Summary]:
    """Return the shares of failed jobs by what went wrong, in all and by language; the most frequent first."""
    graded = [one.facts for one in verdicts.values() if one and one.status is Status.GRADED]
    failed = [facts for facts in graded if facts.get(KIND)]
    totals = Counter(word for facts in failed for word in ("all", str(facts["language"])))
    found = Counter((str(facts[KIND]), word) for facts in failed for word in ("all", str(facts["language"])))
    kinds = Counter(str(facts[KIND]) for facts in failed)
    scores = {
        kind: {
            word: Score(numerator=found[kind, word], denominator=totals[word])
            for word in sorted(totals, key=_position)
        }
        for kind, _ in kinds.most_common()
    }
    return [Summary(headline=_FAILURES, scores=scores, layout="paper")] if scores else []


_FAILURES = "DI-Bench: why jobs failed, in percent of the failed ones"


def _densities(rows: Sequence[Row]) -> Iterable[Summary]:
    """Yield how repositories of each language spread over numbers of dependencies, lines and tokens."""
    tasks = {row.score.id: row.score for row in rows}.values()
    for what, bounds in _DENSITY_BANDS.items():
        of, _ = _SIZES[what]
        found = Counter((one.language, band(of(one), bounds)) for one in tasks)
        totals = Counter(one.language for one in tasks)
        names = sorted({name for _, name in found}, key=_position)
        scores = {
            language: {
                name: Score(numerator=found[language, name], denominator=totals[language]) for name in names
            }
            for language in sorted(totals)
        }
        yield Summary(headline=f"Density by {what}", scores=scores, layout="figure")


def _absent(
    keys: Sequence[AttemptKey], missing: Callable[[str], InstanceScore | None], notes: list[str]
) -> list[Row]:
    """Return the counts of predictions that are not there: everything is missing."""
    known: dict[str, Row] = {}
    for task in sorted({key.task for key in keys}):
        try:
            score = missing(task)
        except TaskError as error:
            notes.append(f"{task} cannot be counted: {error}")
            continue
        if score is not None:
            known[task] = Row(score=score)
    unknown = sum(key.task not in known for key in keys)
    if unknown:
        notes.append(f"{unknown} without a prediction cannot be counted: this machine has no data of them")
    return [known[key.task] for key in keys if key.task in known]


def summaries(rows: Sequence[Row], notes: Sequence[str] = ()) -> list[Summary]:
    """Return the tables of a run."""
    several = len({row.score.subset for row in rows}) > 1
    groups = _by_language_and_subset if several else _by_language
    found = [
        _table("Dependencies by language and subset", rows, groups, notes),
        *(
            _table(f"By {what}", rows, functools.partial(_band_of, of, bounds))
            for what, (of, bounds) in _SIZES.items()
        ),
    ]
    by_kind = _kinds(rows)
    return [*found[:1], *([by_kind] if by_kind else []), *found[1:]]


def _band_of(of: SizeOf, bounds: Sequence[int], row: Row) -> list[str]:
    return [band(of(row.score), bounds)]


def _by_language(row: Row) -> list[str]:
    return ["all", row.score.language]


def _by_language_and_subset(row: Row) -> list[str]:
    language, subset = row.score.language, row.score.subset
    return ["all", language, f"{language}, {subset}", subset]


def _table(
    headline: str, rows: Sequence[Row], groups: Callable[[Row], Iterable[str]], notes: Sequence[str] = ()
) -> Summary:
    members: dict[str, list[Row]] = {}
    for row in rows:
        for name in groups(row):
            members.setdefault(name, []).append(row)
    made = {
        name: _exec(members[name])
        | _scores(aggregate(row.score.total for row in members[name]), _existence(members[name]))
        | _elsewhere(members[name])
        for name in sorted(members, key=_position)
    }
    return _summary(headline, made, {name: len(members[name]) for name in members}, notes)


def _kinds(rows: Sequence[Row]) -> Summary | None:
    groups: dict[str, list[DependencyCounts]] = {}
    for row in rows:
        for kind, comparison in row.score.kinds.items():
            groups.setdefault(kind.value, []).append(comparison)
    made = {name: _scores(aggregate(groups[name]), Counter()) for name in sorted(groups)}
    return _summary("By kind", made, {name: len(groups[name]) for name in groups}, ()) if groups else None


def _elsewhere(rows: Iterable[Row]) -> dict[str, Score]:
    """Return the share of names that stand in another section only, of the rows that were counted so."""
    counted = [row.score for row in rows if row.score.elsewhere is not None]
    expected = sum(score.total.name_only.recall.denominator for score in counted)
    found = sum(score.elsewhere or 0 for score in counted)
    return {"elsewhere": Score(numerator=found, denominator=expected)} if counted else {}


def _existence(rows: Iterable[Row]) -> Counter[Existence]:
    return sum((Counter(row.existence) for row in rows), Counter())


def _scores(rates: Aggregate, existence: Mapping[Existence, int]) -> dict[str, Score]:
    names, exact = rates.name_only_micro, rates.exact_micro
    made = {
        "P": names.precision,
        "R": names.recall,
        "F1": names.f1,
        "macro F1": rates.name_only_macro.f1,
        "exact P": exact.precision,
        "exact R": exact.recall,
        "exact F1": exact.f1,
        "exact macro F1": rates.exact_macro.f1,
    }
    return made | ({"fake": fake_rate(existence)} if existence else {})


def _summary(
    headline: str, made: Mapping[str, dict[str, Score]], sizes: Mapping[str, int], notes: Sequence[str]
) -> Summary:
    columns = [column for column in _COLUMNS if any(column in scores for scores in made.values())]
    rows = []
    for name, scores in made.items():
        cells = (share_alone(scores.get(column)) for column in columns)
        rows.append((name, str(sizes[name]), *cells))
    instances = {name: {"instances": Score(numerator=size, denominator=1)} for name, size in sizes.items()}
    return Summary(
        headline=headline,
        columns=("group", "instances", *columns),
        rows=tuple(rows),
        scores={name: instances[name] | scores for name, scores in made.items()},
        notes=tuple(notes),
    )


def _position(name: str) -> tuple[int, int, str]:
    """Sort bands by size, the unknown one last; everything together comes first, other names by the alphabet."""
    found = re.match(r"(<|>=)?(\d+)", name)
    if found is None:
        return {"all": -1, "unknown": 2}.get(name, 1), 0, name
    return 0, int(found[2]) - (found[1] == "<"), name


def execution_tables(verdicts: Mapping[AttemptKey, Verdict | None]) -> Sequence[Summary]:
    """Return executability by language, and kinds of failures. What was not executed counts neither way."""
    groups: dict[str, list[Verdict]] = {"all": []}
    missing = sum(verdict is None for verdict in verdicts.values())
    for verdict in verdicts.values():
        if verdict is not None and verdict.status is Status.GRADED:
            groups["all"].append(verdict)
            groups.setdefault(str(verdict.facts.get("language", "unknown")), []).append(verdict)
    scores: dict[str, dict[str, Score]] = {}
    rows = []
    for name, members in groups.items():
        points = [verdict.score for verdict in members if verdict.score and verdict.score.denominator]
        passed = sum(point.numerator for point in points)
        counted = len(points) + (missing if name == "all" else 0)
        left_out = len(members) - len(points)
        scores[name] = {
            "executability": Score(numerator=passed, denominator=counted),
            "not executed": Score(numerator=left_out, denominator=len(members)),
        }
        share = "-" if not counted else percent(passed / counted)
        rows.append((name, f"{passed:g}", str(counted), share, str(left_out)))
    notes = [f"{missing} without a prediction count as failed"] if missing else []
    found = [
        Summary(
            headline="Executability",
            columns=("", "passed", "of", "share", "not executed"),
            rows=tuple(rows),
            scores=scores,
            notes=tuple(notes),
        )
    ]
    kinds = Counter(str(verdict.facts[KIND]) for verdict in groups["all"] if verdict.facts.get(KIND))
    if kinds:
        total = kinds.total()
        found.append(
            Summary(
                headline="Why jobs failed",
                columns=("", "jobs"),
                rows=tuple((kind, str(count)) for kind, count in kinds.most_common()),
                scores={kind: {"jobs": Score(numerator=n, denominator=total)} for kind, n in kinds.items()},
            )
        )
    return found
