"""Tables of what was executed: how many jobs passed, by language, and why the others failed. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Score, Status, Verdict
from groundup.suites.dibench.execution import KIND
from groundup.suites.protocol import Summary


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
