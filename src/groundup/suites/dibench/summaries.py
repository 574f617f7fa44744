"""Tables over a run, textual and executed: by language, subset, kind, size and failure. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Score, Status, Verdict
from groundup.suites.base import Summary
from groundup.suites.dibench.execution import KIND, ExecutionGrader
from groundup.suites.dibench.metrics import Aggregate, DependencyCounts, InstanceScore, aggregate, band
from groundup.suites.dibench.registry_check import Existence
from groundup.suites.dibench.textual import DIBenchOfficialGrader
from groundup.suites.dibench.verdict_facts import existence_of, fake_rate, instance_score

DEPENDENCY_BANDS = (1, 6, 11, 21, 51)
LINE_BANDS = (1, 1_000, 5_000, 20_000, 100_000)
TOKEN_BANDS = (1, 10_000, 50_000, 200_000, 1_000_000)
_COLUMNS = ("instances", "P", "R", "F1", "macro F1", "exact P", "exact R", "exact F1", "exact macro F1", "fake")


class Row(Record):
    """One instance of a run."""

    score: InstanceScore
    existence: dict[Existence, int] = {}


def run_summaries(
    verdicts: Mapping[AttemptKey, Verdict | None], grader: str, missing: Callable[[str], InstanceScore | None]
) -> list[Summary]:
    """Return rates by language, subset, kind, number of dependencies and size.

    *missing* returns the counts of a task without a prediction, None where its data is not at hand. Raises
    `TaskError`.
    """
    rows: list[Row] = []
    notes: list[str] = []
    absent = [key for key, verdict in verdicts.items() if verdict is None]
    for key, verdict in verdicts.items():
        if verdict is not None and verdict.status is Status.GRADED and verdict.facts.get("readable", True):
            score = instance_score(key.task, verdict)
            rows.append(Row(score=score, existence=dict(existence_of(verdict))))
    left_out = len(verdicts) - len(absent) - len(rows)
    if grader == DIBenchOfficialGrader.name and absent:
        notes.append(f"{len(absent)} without a prediction are left out, as the published code does")
    elif absent:
        rows += _absent(absent, missing, notes)
    if left_out:
        notes.append(f"{left_out} have no counts and are left out")
    textual = [*summaries(rows, notes), _paper(rows, verdicts, grader, notes)]
    return [*execution_tables(verdicts), *textual] if grader == ExecutionGrader.name else textual


def _paper(
    rows: Sequence[Row], verdicts: Mapping[AttemptKey, Verdict | None], grader: str, notes: Sequence[str]
) -> Summary:
    """Return the paper's figures by language and subset: Exec, micro P, R and F1 by name, rate of fakes."""
    subsets = {row.score.subset for row in rows}
    groups: dict[str, list[Row]] = {}
    for row in rows:
        where = f"{row.score.language}, {row.score.subset}" if len(subsets) > 1 else row.score.language
        groups.setdefault(where, []).append(row)
    scores: dict[str, dict[str, Score]] = {}
    for where in sorted(groups):
        members = groups[where]
        rates = _scores(aggregate(row.score.total for row in members), _existence(members))
        tasks = {row.score.id for row in members}
        ran = _executed(verdicts, tasks) if grader == ExecutionGrader.name else _NOTHING
        fakes = rates.get("fake", _NOTHING)
        scores[where] = {"Exec": ran, **{name: rates[name] for name in ("P", "R", "F1")}, "FR": fakes}
    return Summary(headline="DI-Bench: methods by language", scores=scores, notes=tuple(notes), layout="paper")


_NOTHING = Score(numerator=0, denominator=0)


def _executed(verdicts: Mapping[AttemptKey, Verdict | None], tasks: Collection[str]) -> Score:
    """Return the share of passed jobs; without a prediction it failed, and what was not executed is in none."""
    found = [verdict for key, verdict in verdicts.items() if key.task in tasks]
    points = [one.score for one in found if one and one.status is Status.GRADED and one.score]
    points = [one for one in points if one.denominator]
    failed = sum(one is None or one.status is Status.TAMPERED for one in found)
    return Score(numerator=sum(one.numerator for one in points), denominator=len(points) + failed)


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
        _table("By number of dependencies", rows, lambda row: [band(row.score.expected, DEPENDENCY_BANDS)]),
        _table("By lines of source code", rows, lambda row: [band(row.score.lines, LINE_BANDS)]),
        _table("By tokens of source code", rows, lambda row: [band(row.score.tokens, TOKEN_BANDS)]),
    ]
    by_kind = _kinds(rows)
    return [*found[:1], *([by_kind] if by_kind else []), *found[1:]]


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
        name: _scores(aggregate(row.score.total for row in members[name]), _existence(members[name]))
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
    rows = []
    for name, scores in made.items():
        cells = (_percent(scores.get(column)) for column in _COLUMNS[1:])
        rows.append((name, str(sizes[name]), *cells))
    instances = {name: {"instances": Score(numerator=size, denominator=1)} for name, size in sizes.items()}
    return Summary(
        headline=headline,
        columns=("group", *_COLUMNS),
        rows=tuple(rows),
        scores={name: instances[name] | scores for name, scores in made.items()},
        notes=tuple(notes),
    )


def _percent(score: Score | None) -> str:
    if score is None or score.value is None:
        return "-"
    return f"{score.value * 100:.1f}"


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
        share = "-" if not counted else f"{100 * passed / counted:.1f} %"
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
