"""How the counts of one instance travel in a verdict's short line, and back out of it."""

from collections import Counter
from collections.abc import Mapping

from groundup.domain.verdicts import Score, Verdict
from groundup.manifests.records import DependencyKind
from groundup.suites.dibench.metrics import DependencyCounts, InstanceScore, MatchCounts
from groundup.suites.dibench.registry_check import Existence

Facts = dict[str, str | int | float | bool | None]
_KIND = "kind "
LOOKED_UP = "added"
ELSEWHERE = "declared elsewhere"
"""Names that a prediction declares in another section only: none of the main score's hits."""


def facts_of(score: InstanceScore, existence: Mapping[Existence, int] | None) -> Facts:
    """Return the facts of a verdict: counts as `TP FP FN`, kinds as both notions of equality one after another."""
    found: Facts = {
        "language": score.language,
        "subset": score.subset,
        "expected": score.expected,
        "lines": score.lines,
        "tokens": score.tokens,
        "exact": _written(score.total.exact),
        "name_only": _written(score.total.name_only),
    }
    if score.elsewhere is not None:
        found[ELSEWHERE] = score.elsewhere
    for kind, comparison in score.kinds.items():
        found[_KIND + kind] = f"{_written(comparison.exact)} {_written(comparison.name_only)}"
    if existence is not None:
        found[LOOKED_UP] = sum(existence.values())
        found.update({kind.value: existence.get(kind, 0) for kind in Existence if kind is not Existence.FOUND})
    return found


def scores_of(score: InstanceScore, existence: Mapping[Existence, int] | None) -> dict[str, Score]:
    """Return the named scores of a verdict besides the main one."""
    exact, names = score.total.exact, score.total.name_only
    found = {
        "precision": names.precision,
        "recall": names.recall,
        "exact F1": exact.f1,
        "exact precision": exact.precision,
        "exact recall": exact.recall,
    }
    if score.elsewhere is not None:
        expected = names.true_positives + names.false_negatives
        found[ELSEWHERE] = Score(numerator=score.elsewhere, denominator=expected)
    if existence is not None:
        found["fake rate"] = fake_rate(existence)
    return found


def fake_rate(existence: Mapping[Existence, int]) -> Score:
    """Return the share of fake names among those that could be looked up."""
    known = sum(existence.get(kind, 0) for kind in (Existence.FOUND, Existence.FAKE, Existence.VERSION_MISSING))
    return Score(numerator=existence.get(Existence.FAKE, 0), denominator=known)


def instance_score(name: str, verdict: Verdict) -> InstanceScore:
    """Return the counts that a verdict carries."""
    facts = verdict.facts
    kinds = {
        DependencyKind(key.removeprefix(_KIND)): str(value)
        for key, value in facts.items()
        if key.startswith(_KIND)
    }
    return InstanceScore.model_validate(
        {
            "id": name,
            "language": facts["language"],
            "subset": facts["subset"],
            "expected": facts["expected"],
            "elsewhere": facts.get(ELSEWHERE),
            "lines": facts.get("lines"),
            "tokens": facts.get("tokens"),
            "total": DependencyCounts(exact=_read(facts["exact"]), name_only=_read(facts["name_only"])),
            "kinds": {kind: _both(text) for kind, text in kinds.items()},
        }
    )


def existence_of(verdict: Verdict) -> Counter[Existence]:
    """Return what looking names up found; empty where that was not done."""
    found = Counter[Existence]()
    for kind in Existence:
        found[kind] = int(verdict.facts.get(kind.value) or 0)
    found[Existence.FOUND] = int(verdict.facts.get(LOOKED_UP) or 0) - found.total()
    return +found


def _written(counts: MatchCounts) -> str:
    return f"{counts.true_positives} {counts.false_positives} {counts.false_negatives}"


def _read(text: object) -> MatchCounts:
    right, wrong, missing = map(int, str(text).split())
    return MatchCounts(true_positives=right, false_positives=wrong, false_negatives=missing)


def _both(text: str) -> DependencyCounts:
    words = text.split()
    return DependencyCounts(exact=_read(" ".join(words[:3])), name_only=_read(" ".join(words[3:])))
