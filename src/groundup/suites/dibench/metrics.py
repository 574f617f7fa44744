"""Textual metrics: what a prediction declares against what the original declared, per build file, summed up.

Pure: records in, counts out. This is the `strict` reading; `published.py` reproduces the published one.

`declarations.py` says when two declarations are equal. Within one file a declaration counts once. A name in a
section where the original does not have it is wrong there and missing here, as a wrong name would be.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from pydantic import Field

from groundup.domain.records import Record
from groundup.domain.verdicts import Score
from groundup.manifests.records import Dependency, DependencyKind, Language
from groundup.suites.dibench.declarations import NameKey, exact_key, is_request, name_key, section_of


class MatchCounts(Record):
    """How many declarations are right, wrong and missing."""

    true_positives: int = Field(default=0, ge=0)
    false_positives: int = Field(default=0, ge=0)
    false_negatives: int = Field(default=0, ge=0)

    def __add__(self, other: "MatchCounts") -> "MatchCounts":
        return MatchCounts(
            true_positives=self.true_positives + other.true_positives,
            false_positives=self.false_positives + other.false_positives,
            false_negatives=self.false_negatives + other.false_negatives,
        )

    @property
    def precision(self) -> Score:
        """Right ones among those declared."""
        return Score(numerator=self.true_positives, denominator=self.true_positives + self.false_positives)

    @property
    def recall(self) -> Score:
        """Right ones among those that should have been declared."""
        return Score(numerator=self.true_positives, denominator=self.true_positives + self.false_negatives)

    @property
    def f1(self) -> Score:
        """The harmonic mean of both, as 2 TP over 2 TP + FP + FN."""
        right = 2 * self.true_positives
        return Score(numerator=right, denominator=right + self.false_positives + self.false_negatives)


class DependencyCounts(Record):
    """Counts under both notions of equality."""

    exact: MatchCounts = MatchCounts()
    name_only: MatchCounts = MatchCounts()

    def __add__(self, other: "DependencyCounts") -> "DependencyCounts":
        return DependencyCounts(exact=self.exact + other.exact, name_only=self.name_only + other.name_only)


class FileAnswer(Record):
    """One build file: what it should declare, and what the prediction makes it declare."""

    path: str
    expected: tuple[Dependency, ...]
    predicted: tuple[Dependency, ...] | None = Field(
        description="None: no prediction, or a file that cannot be read; all that is expected is then missing"
    )
    given: tuple[Dependency, ...] = Field(default=(), description="what the masked file declares")


class InstanceAnswer(Record):
    """All build files of one instance, with what results are grouped by."""

    id: str
    language: Language
    subset: str
    files: tuple[FileAnswer, ...]
    lines: int | None = Field(default=None, ge=0, description="of source code in the repository")
    tokens: int | None = Field(default=None, ge=0, description="of source code, estimated")


class InstanceScore(Record):
    """The counts of one instance."""

    id: str
    language: Language
    subset: str
    expected: int = Field(ge=0, description="declarations that should be there")
    elsewhere: int | None = Field(
        default=None,
        ge=0,
        description="names declared in another section only; None: not counted",
    )
    lines: int | None = None
    tokens: int | None = Field(default=None, ge=0, description="of source code, estimated")
    total: DependencyCounts
    kinds: dict[DependencyKind, DependencyCounts] = {}


class Rates(Record):
    """Precision, recall and F1 of several instances."""

    precision: Score
    recall: Score
    f1: Score


class Aggregate(Record):
    """Several instances together: micro sums counts, macro averages the instances' own rates.

    A rate that is undefined for an instance (0/0) is left out of its macro average, which the denominator shows;
    an instance that should declare something and declares nothing has precision 0.
    """

    instances: int
    exact_micro: Rates
    exact_macro: Rates
    name_only_micro: Rates
    name_only_macro: Rates


def compare(expected: Collection[Hashable], predicted: Collection[Hashable]) -> MatchCounts:
    """Return the counts of two collections taken as sets."""
    wanted, found = set(expected), set(predicted)
    return MatchCounts(
        true_positives=len(wanted & found),
        false_positives=len(found - wanted),
        false_negatives=len(wanted - found),
    )


def score_instance(answer: InstanceAnswer, kinds: Collection[DependencyKind] | None = None) -> InstanceScore:
    """Compare all build files, each by itself, in the dependencies of *kinds* (None: all kinds)."""
    present = {item.kind for file in answer.files for item in (*file.expected, *(file.predicted or ()))}
    counted = present if kinds is None else present & set(kinds)
    files = [_of_kinds(file, counted) for file in answer.files]
    return InstanceScore(
        id=answer.id,
        language=answer.language,
        subset=answer.subset,
        expected=sum(len({exact_key(item) for item in file.expected}) for file in files),
        elsewhere=len(declared_elsewhere(files)),
        lines=answer.lines,
        tokens=answer.tokens,
        total=_compared(files),
        kinds={kind: _compared([_of_kinds(file, {kind}) for file in files]) for kind in sorted(counted)},
    )


def aggregate(comparisons: Iterable[DependencyCounts]) -> Aggregate:
    """Sum up and average over instances."""
    rows = list(comparisons)
    exact, names = [row.exact for row in rows], [row.name_only for row in rows]
    return Aggregate(
        instances=len(rows),
        exact_micro=_micro(exact),
        exact_macro=_macro(exact),
        name_only_micro=_micro(names),
        name_only_macro=_macro(names),
    )


def band(value: int | None, edges: Sequence[int]) -> str:
    """Return the name of the band of *value*: `1-5` for edges 1, 6, 11; for plots by dependencies or by size."""
    if value is None:
        return "unknown"
    if value < edges[0]:
        return f"<{edges[0]}"
    for low, high in pairwise(edges):
        if value < high:
            return f"{low}-{high - 1}" if high - low > 1 else str(low)
    return f">={edges[-1]}"


def request_keys(dependencies: Iterable[Dependency]) -> set[NameKey]:
    """Return the keys of those declarations that count by name."""
    return {name_key(item) for item in dependencies if is_request(item)}


def predicted_keys(file: FileAnswer) -> set[NameKey]:
    """Return what a prediction declares by name; a given name in another version is no new one."""
    return request_keys(file.predicted or ()) - (request_keys(file.given) - request_keys(file.expected))


class DeclaredElsewhere(NamedTuple):
    """Where a prediction declares a name that it should declare in another section."""

    path: str
    dependency: Dependency


def declared_elsewhere(files: Sequence[FileAnswer]) -> dict[tuple[str, NameKey], DeclaredElsewhere]:
    """Return, for names that are missing in a section of a file, where a prediction wrongly has them instead.

    Another section of the same file comes before other build files.
    """
    wrong: dict[str, list[DeclaredElsewhere]] = {}
    for file in files:
        right = request_keys(file.expected) | {name_key(item) for item in file.given}
        for item in file.predicted or ():
            if (key := name_key(item)) not in right:
                wrong.setdefault(key.name, []).append(DeclaredElsewhere(file.path, item))
    found = {}
    for file in files:
        for key in request_keys(file.expected) - predicted_keys(file):
            places = [one for one in wrong.get(key.name, ()) if _is_elsewhere(one, file.path, key)]
            if places:
                found[file.path, key] = min(places, key=lambda one: one.path != file.path)
    return found


def _is_elsewhere(one: DeclaredElsewhere, path: str, key: NameKey) -> bool:
    """Whether it is another place than the one that *key* names, where it may inherit what is not there."""
    return (one.path, section_of(one.dependency)) != (path, key.section)


def _compared(files: Sequence[FileAnswer]) -> DependencyCounts:
    total = DependencyCounts()
    for file in files:
        total += DependencyCounts(
            exact=compare([*map(exact_key, file.expected)], [*map(exact_key, file.predicted or ())]),
            name_only=compare(request_keys(file.expected), predicted_keys(file)),
        )
    return total


def _of_kinds(file: FileAnswer, kinds: Collection[DependencyKind]) -> FileAnswer:
    predicted = None if file.predicted is None else tuple(item for item in file.predicted if item.kind in kinds)
    return file.but(expected=tuple(item for item in file.expected if item.kind in kinds), predicted=predicted)


def _micro(counts: Sequence[MatchCounts]) -> Rates:
    total = sum(counts, MatchCounts())
    return Rates(precision=total.precision, recall=total.recall, f1=total.f1)


def _macro(counts: Sequence[MatchCounts]) -> Rates:
    def mean(values: Iterable[float | None]) -> Score:
        known = [value for value in values if value is not None]
        return Score(numerator=sum(known), denominator=len(known))

    return Rates(
        precision=mean(
            0.0 if item.precision.value is None and item.false_negatives else item.precision.value
            for item in counts
        ),
        recall=mean(item.recall.value for item in counts),
        f1=mean(item.f1.value for item in counts),
    )
