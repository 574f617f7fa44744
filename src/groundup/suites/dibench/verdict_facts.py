"""What a verdict on one instance holds: its facts, its counts, from which tables are made, and named scores."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from pydantic import JsonValue

from groundup.domain.verdicts import Score, Verdict
from groundup.suites.dibench.metrics import InstanceScore, MatchCounts
from groundup.suites.dibench.registry_check import Existence

Facts = dict[str, str | int | float | bool | None]
LOOKED_UP = "added"
ELSEWHERE = "declared elsewhere"
"""Names that a prediction declares in another section only: none of the main score's hits."""
BY_LINE = "tests by line"
"""How many passed by each line of a runner, by step and runner."""
_MOST_LINES = 24
_MOST_SUBSTITUTES = 1000
"""Characters of a fact; logs, which a job writes, may name as many packages as they like."""


def facts_of(score: InstanceScore, existence: Mapping[Existence, int] | None) -> Facts:
    found: Facts = {
        "language": score.language,
        "subset": score.subset,
        "expected": score.expected,
        "lines": score.lines,
        "tokens": score.tokens,
    }
    if score.elsewhere is not None:
        found[ELSEWHERE] = score.elsewhere
    if existence is not None:
        found[LOOKED_UP] = sum(existence.values())
        found.update({kind.value: existence.get(kind, 0) for kind in Existence if kind is not Existence.FOUND})
    return found


def counts_of(score: InstanceScore) -> dict[str, JsonValue]:
    """Return the counts of a verdict: right, wrong and missing ones, in all and of each kind."""
    return score.model_dump(mode="json", include={"total", "kinds"})


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
    return InstanceScore.model_validate(
        {
            "id": name,
            "language": facts["language"],
            "subset": facts["subset"],
            "expected": facts["expected"],
            "elsewhere": facts.get(ELSEWHERE),
            "lines": facts.get("lines"),
            "tokens": facts.get("tokens"),
            **(verdict.counts or _counts_in(facts)),
        }
    )


def existence_of(verdict: Verdict) -> Counter[Existence]:
    """Return what looking names up found; empty where that was not done."""
    found = Counter[Existence]()
    for kind in Existence:
        found[kind] = int(verdict.facts.get(kind.value) or 0)
    found[Existence.FOUND] = int(verdict.facts.get(LOOKED_UP) or 0) - found.total()
    return +found


def written_substitutes(substitutes: Sequence[str]) -> str:
    """Return what stood in for what was asked, in one line; `ci.json` has what is too much for it."""
    ends = accumulate(len(one) + 2 for one in substitutes)
    kept = [one for one, end in zip(substitutes, ends, strict=True) if end <= _MOST_SUBSTITUTES]
    left = len(substitutes) - len(kept)
    return "; ".join((*kept, f"and {left} more in ci.json") if left else kept)


def written_lines(lines: Mapping[str, Sequence[int]]) -> str:
    """Return counts as `3 pytest: 10 2; 4 jest: 7`, most first: the highest ones, and no zeros."""
    each = max(_MOST_LINES // max(len(lines), 1), 1)
    kept = {name: [count for count in counts if count][:each] for name, counts in lines.items()}
    return "; ".join(f"{name}: {' '.join(map(str, counts))}" for name, counts in kept.items() if counts)


def read_lines(text: object) -> dict[str, tuple[int, ...]]:
    """Return what `written_lines` wrote; nothing for what is none."""
    found = {}
    for part in text.split("; ") if isinstance(text, str) else ():
        name, _, counts = part.rpartition(": ")
        if name and counts.replace(" ", "").isdigit():
            found[name] = tuple(map(int, counts.split()))
    return found


def _counts_in(facts: Facts) -> dict[str, JsonValue]:
    """Read counts as earlier versions packed them: `TP FP FN`, of a kind by both notions of equality."""
    kinds = {name.removeprefix("kind "): str(said) for name, said in facts.items() if name.startswith("kind ")}
    return {
        "total": _unpacked(f"{facts['exact']} {facts['name_only']}"),
        "kinds": {kind: _unpacked(said) for kind, said in kinds.items()},
    }


def _unpacked(said: str) -> JsonValue:
    numbers = list(map(int, said.split()))
    return {
        notion: dict(zip(MatchCounts.model_fields, part, strict=True))
        for notion, part in (("exact", numbers[:3]), ("name_only", numbers[3:]))
    }
