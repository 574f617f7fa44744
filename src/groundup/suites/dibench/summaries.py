"""Tables over a run: rates by language, subset, kind, number of dependencies and size of the repository."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from groundup.domain.records import Record
from groundup.domain.verdicts import Score
from groundup.suites.dibench.metrics import Aggregate, Comparison, InstanceScore, aggregate, band
from groundup.suites.dibench.registry_check import Existence
from groundup.suites.dibench.verdict_facts import fake_rate
from groundup.suites.protocol import Summary

DEPENDENCY_BANDS = (1, 6, 11, 21, 51)
LINE_BANDS = (1, 1_000, 5_000, 20_000, 100_000)
_COLUMNS = ("instances", "P", "R", "F1", "macro F1", "exact P", "exact R", "exact F1", "exact macro F1", "fake")
_ORDER = (
    "<1",
    "1-5",
    "6-10",
    "11-20",
    "21-50",
    "1-999",
    "1000-4999",
    "5000-19999",
    "20000-99999",
    ">=",
    "unknown",
)


class Row(Record):
    """One instance of a run."""

    score: InstanceScore
    existence: dict[Existence, int] = {}


def summaries(rows: Sequence[Row], notes: Sequence[str] = ()) -> list[Summary]:
    """Return the tables of a run."""
    several = len({row.score.subset for row in rows}) > 1
    groups = _by_language_and_subset if several else _by_language
    found = [
        _table("Dependencies by language and subset", rows, groups, notes),
        _table("By number of dependencies", rows, lambda row: [band(row.score.expected, DEPENDENCY_BANDS)]),
        _table("By lines of source code", rows, lambda row: [band(row.score.lines, LINE_BANDS)]),
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
    groups: dict[str, list[Comparison]] = {}
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


def _position(name: str) -> tuple[int, str]:
    """Sort bands by size; everything together comes first, other names by the alphabet."""
    if name == "all":
        return -1, name
    return next(
        (at for at, known in enumerate(_ORDER) if name == known or (known == ">=" and name.startswith(known))), 0
    ), name
