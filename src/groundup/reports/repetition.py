"""How much runs of one subject differ by chance, as its repeated attempts show. Pure."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, variance

from pydantic import Field

from groundup.domain.records import Record

_BOUND = 1.96
"""Standard deviations of a normal distribution between which 95 % lie."""


class Noise(Record):
    """What chance alone does to a run with one attempt at each task. Shares of 1."""

    tasks: int = Field(description="with two attempts or more that have a score")
    flipping: tuple[str, ...] = Field(description="tasks that some attempts solved and others did not")
    deviation: float = Field(description="standard deviation of a single run's mean score")
    difference: float = Field(description="standard deviation of the difference of two single runs")
    needed: float = Field(description="by how much two single runs must differ: more happens once in 20 times")


def noise_of(scores: Mapping[str, Sequence[float]], solved: Mapping[str, Sequence[float]]) -> Noise | None:
    """Return the noise of a run by the *scores* of each task's attempts; None where no task has two.

    A run's mean over n tasks has the variance of attempts at one task, averaged over tasks, divided by n: two runs
    have the same tasks, so only attempts vary. *solved* is 1 or 0 for each attempt.
    """
    variances = [variance(values) for values in scores.values() if len(values) > 1]
    if not variances:
        return None
    deviation = math.sqrt(fmean(variances) / len(scores))
    return Noise(
        tasks=len(variances),
        flipping=tuple(task for task, values in solved.items() if len(set(values)) > 1),
        deviation=deviation,
        difference=math.sqrt(2) * deviation,
        needed=_BOUND * math.sqrt(2) * deviation,
    )
