"""What the suite makes of a run: the paper's table by difficulty, which is the size of the original. Pure."""

import math
from collections.abc import Mapping

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Score, Status, Verdict
from groundup.suites.base import Summary

_ORDER = ("easy", "medium", "hard")
UNKNOWN = "unknown"


def by_difficulty(verdicts: Mapping[AttemptKey, Verdict | None], bands: Mapping[str, str | None]) -> Summary:
    """Return the mean score and the share of solved attempts, in all and by band of difficulty.

    *verdicts* is None where nothing was handed in, which counts 0, as what was tampered with does. What failed
    with the machine is in no mean. *bands* are by task.
    """
    groups: dict[str, list[float]] = {"all": []}
    for key, verdict in verdicts.items():
        value = _value(verdict)
        if value is not None:
            groups["all"].append(value)
            groups.setdefault(bands.get(key.task) or UNKNOWN, []).append(value)
    order = [name for name in ("all", *_ORDER, UNKNOWN) if name in groups]
    return Summary(
        headline="NL2RepoBench: models by difficulty",
        scores={name: _figures(groups[name]) for name in order},
        notes=("difficulty by lines of the original: easy up to 1,500, hard from 4,000",),
        layout="paper",
    )


def _value(verdict: Verdict | None) -> float | None:
    if verdict is None or verdict.status is Status.TAMPERED:
        return 0.0
    return verdict.score.value if verdict.status is Status.GRADED and verdict.score else None


def _figures(values: list[float]) -> dict[str, Score]:
    solved = sum(value == 1.0 for value in values)
    return {
        "score": Score(numerator=math.fsum(values), denominator=len(values)),
        "solved": Score(numerator=solved, denominator=len(values)),
    }
