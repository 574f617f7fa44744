"""How much data a comparison needs until a difference shows. Pure.

Normal approximation of the paired test, two-sided at 5 %, with a chance of 80 % to see the difference. Miller
(2024), "Adding Error Bars to Evals: A Statistical Approach to Language Model Evaluations", 5: the mean of n paired
tasks has the variance (w + a/k + b/m) / n, where w is the variance of the tasks' true differences, and a and b are
the variances between the k and m attempts at one task.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, variance

from pydantic import Field

from groundup.domain.records import Record
from groundup.reports.repetition import within_variance

CHANCE = 0.8
LEVEL = 0.95
_BOUND = NormalDist().inv_cdf((1 + LEVEL) / 2)
_FACTOR = _BOUND + NormalDist().inv_cdf(CHANCE)
METHOD = f"paired, two-sided at {1 - LEVEL:.0%}, seen with a chance of {CHANCE:.0%}".replace("%", " %")


class Power(Record):
    """What it takes until a difference shows. Scores are shares of 1."""

    difference: float = Field(description="the one that should show")
    deviation: float = Field(description="standard deviation of the differences between paired tasks")
    tasks: int = Field(description="pairs at hand")
    detectable: float = Field(description="the smallest difference that shows with the tasks at hand")
    tasks_needed: int = Field(description="with as many attempts as there are")
    attempts: float = Field(description="at a task in each run, on average, at hand")
    attempts_needed: int | None = Field(
        description="at each task in both runs, with the tasks at hand; None: no number is enough, or unknown"
    )
    attempts_known: bool = Field(description="whether some task has several attempts, to tell how they differ")
    method: str = METHOD


def power(pairs: Sequence[tuple[Sequence[float], Sequence[float]]], difference: float) -> Power | None:
    """Return what it takes to see *difference*, a share of 1, by tasks with their attempts' scores in both runs.

    None where fewer than two tasks are paired or all differences are alike: nothing is known of their variance.
    """
    differences = [fmean(other) - fmean(base) for base, other in pairs]
    if len(differences) < 2 or len(set(differences)) == 1:
        return None
    seen = variance(differences)
    sizes = [len(scores) for pair in pairs for scores in pair]
    needed = _tasks(seen, difference)
    return Power(
        difference=difference,
        deviation=math.sqrt(seen),
        tasks=len(pairs),
        detectable=_detectable(seen, len(pairs)),
        tasks_needed=needed,
        attempts=fmean(sizes),
        attempts_needed=_attempts(pairs, seen, difference),
        attempts_known=any(size > 1 for size in sizes),
    )


def _tasks(seen: float, difference: float) -> int:
    """Return how many pairs are enough.

    Half the squared bound more makes up for the variance's being estimated: Guenther (1981), "Sample size formulas
    for normal theory T tests".
    """
    return max(math.ceil(_FACTOR**2 * seen / difference**2 + _BOUND**2 / 2), 2)


def _detectable(seen: float, tasks: int) -> float:
    """Return the difference for which *tasks* pairs are enough: `_tasks`, solved for it."""
    return _FACTOR * math.sqrt(seen / max(tasks - _BOUND**2 / 2, 1))


def _attempts(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], seen: float, difference: float
) -> int | None:
    """Return how many attempts at each task of both runs are enough with these tasks."""
    base = within_variance([scores for scores, _ in pairs])
    other = within_variance([scores for _, scores in pairs])
    if base is None or other is None:
        return None
    noise = fmean(base / len(left) + other / len(right) for left, right in pairs)
    steady = max(seen - noise, 0.0)
    left = max(len(pairs) - _BOUND**2 / 2, 1) * difference**2 / _FACTOR**2 - steady
    return max(math.ceil((base + other) / left), 1) if left > 0 else None
