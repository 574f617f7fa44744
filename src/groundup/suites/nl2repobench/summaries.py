"""What a run's report shows of NL2RepoBench: the paper's table by difficulty, and one by category."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Score, Status, Verdict
from groundup.suites.base import Summary
from groundup.suites.nl2repobench.listing import PUBLISHED_BANDS, categories

_BANDS = ("easy", "medium", "hard")
_UNKNOWN = "unknown"
"""The band of a task whose original was not measured."""


def by_difficulty(verdicts: Mapping[AttemptKey, Verdict | None], bands: Mapping[str, str | None]) -> Summary:
    """Return the paper's table: mean score and share of solved attempts over tasks, in all and by band.

    *verdicts* is None where nothing was handed in, which counts 0, as what was tampered with does. What failed
    with the machine is in no mean. *bands* are by task.
    """
    measured = Counter(filter(None, bands.values()))
    counts = ", ".join(f"{band} {measured[band]} ({PUBLISHED_BANDS[band]})" for band in _BANDS)
    return Summary(
        headline="NL2RepoBench: models by difficulty",
        scores=_grouped(verdicts, bands, _BANDS),
        notes=(
            "difficulty by lines of the original: easy up to 1,500, hard from 4,000",
            f"tasks of each as measured here, and in parentheses as published, without a list: {counts}",
        ),
        layout="paper",
    )


def by_category(verdicts: Mapping[AttemptKey, Verdict | None]) -> Summary:
    """Return the same by the nine categories."""
    return Summary(
        headline="NL2RepoBench: models by category",
        scores=_grouped(verdicts, categories(), tuple(dict.fromkeys(categories().values()))),
        notes=("categories as published, with as many tasks in each; which task is in which was decided here",),
        layout="paper",
    )


def _grouped(
    verdicts: Mapping[AttemptKey, Verdict | None], groups: Mapping[str, str | None], order: Sequence[str]
) -> dict[str, dict[str, Score]]:
    values: dict[str, dict[str, list[float]]] = {"all": {}}
    for key, verdict in verdicts.items():
        value = _value(verdict)
        if value is not None:
            for name in ("all", groups.get(key.task) or _UNKNOWN):
                values.setdefault(name, {}).setdefault(key.task, []).append(value)
    return {name: _figures(values[name]) for name in ("all", *order, _UNKNOWN) if name in values}


def _value(verdict: Verdict | None) -> float | None:
    if verdict is None or verdict.status is Status.TAMPERED:
        return 0.0
    return verdict.score.value if verdict.status is Status.GRADED and verdict.score else None


def _figures(tasks: Mapping[str, list[float]]) -> dict[str, Score]:
    """Return means over *tasks* of the means over their attempts."""
    values = [fmean(scores) for scores in tasks.values()]
    solved = [fmean(score == 1.0 for score in scores) for scores in tasks.values()]
    return {
        "score": Score(numerator=math.fsum(values), denominator=len(values)),
        "solved": Score(numerator=math.fsum(solved), denominator=len(values)),
    }
