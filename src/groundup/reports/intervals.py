"""Intervals of means whose values lie between known bounds. Pure.

A score is never below 0 or above 1, so what a sample did not show is bounded as well. Each end adds one value at
its bound, weights all values by the spacings of uniform random numbers (a Dirichlet distribution of ones), and
takes the 2.5 % quantile of that weighted mean. For zeros and ones these are the Clopper-Pearson limits of a
share. Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable". Learned-Miller and Thomas (2020), "A New Confidence Interval for the Mean of a Bounded Random
Variable", know of no distribution whose mean it holds less often than it says; `benchmarks/intervals.py` measures
ours.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence

from pydantic import Field

from groundup.domain.records import Record

LEVEL = 0.95
LEAST_TASKS = 6
"""Of fewer tasks an interval spans half of what is possible, and no permutation test by signs can reach 5 %."""
TOO_FEW = f"no interval: it takes {LEAST_TASKS} tasks or more"
CLOPPER_PEARSON = "Clopper-Pearson"
GAFFKE = "Gaffke's, for means of values between bounds"
MIDWAY = f"{GAFFKE}, mid-p"


class Interval(Record):
    """Where the true figure lies with 95 % confidence, if the tasks are a sample of such tasks."""

    low: float
    high: float
    level: float = LEVEL
    method: str = Field(description="how it was computed")


def mean_interval(scores: Sequence[float]) -> Interval | None:
    """Return the interval of the mean of *scores*, shares of 1, one for each task; None below `LEAST_TASKS`."""
    if len(scores) < LEAST_TASKS:
        return None
    highest = max(1.0, *scores)  # an old run may hold more points than there are
    return Interval(
        low=highest - highest * _upper_end([1 - value / highest for value in scores], added=[1.0]),
        high=highest * _upper_end([value / highest for value in scores], added=[1.0]),
        method=CLOPPER_PEARSON if set(scores) <= {0, 1} else GAFFKE,
    )


def difference_interval(differences: Sequence[float]) -> Interval | None:
    """Return the interval of the mean of *differences* of scores, one for each task; None below `LEAST_TASKS`.

    They can lie from -1 to 1, so a value added at a far bound allows for more than need be. Half the chance is
    therefore that with the value at the other bound: mid-p, Lancaster (1961), "Significance tests in discrete
    distributions".
    """
    if len(differences) < LEAST_TASKS:
        return None
    most = max(1.0, *map(abs, differences))
    ends = [
        _upper_end([(sign * value / most + 1) / 2 for value in differences], added=[0.0, 1.0]) for sign in (-1, 1)
    ]
    return Interval(low=(1 - 2 * ends[0]) * most, high=(2 * ends[1] - 1) * most, method=MIDWAY)


_CHANCE = (1 - LEVEL) / 2
_PRECISION = 1e-7


def _upper_end(values: Collection[float], added: Sequence[float]) -> float:
    """Return what the weighted mean exceeds with a chance of 2.5 %; values lie from 0 to 1.

    The chance is the average over the numbers *added*, one at a time, to the *values*. Newton's method on its
    logarithm, and halving where that leaves the bracket.
    """
    counts = [Counter([*values, one]) for one in added]
    low, high = math.fsum(values) / len(values), 1.0
    end = (low * len(values) + 1) / (len(values) + 1)
    while high - low >= _PRECISION:
        found = [_exceeding(one, end) for one in counts]
        chance = math.fsum(chance for chance, _ in found) / len(found)
        slope = math.fsum(slope for _, slope in found) / len(found)
        low, high = (end, high) if chance > _CHANCE else (low, end)
        nearer = end + chance * math.log(chance / _CHANCE) / slope if chance else high
        if abs(nearer - end) < _PRECISION:
            break
        end = nearer if low < nearer < high else (low + high) / 2
    return end


_STEPS_PER_DEVIATION = 2
_NEGLIGIBLE = 1e-7


def _exceeding(counts: Counter[float], end: float) -> tuple[float, float]:
    """Return the chance that the weighted mean exceeds *end*, and how fast it falls there.

    Spacings are exponential numbers divided by their sum, so this is the chance that a sum of exponential numbers,
    each times what its value exceeds *end* by, is positive. That is an integral of the sum's moment generating
    function M(s) / s along a vertical line in the complex plane. Through the saddle point the trapezoidal rule
    converges exponentially: Rice (1980), "Distribution of quadratic forms in normal random variables: evaluation
    by numerical integration".
    """
    excesses = [(value - end, count) for value, count in counts.items()]
    if max(excesses)[0] <= 0:
        return 0.0, 0.0
    saddle, step = _saddle_point(excesses)
    chance = slope = 0.0
    place = complex(saddle, 0)
    weight = 0.5  # of the first point, in the middle of a line whose halves are alike
    while True:
        product, total = 1 / place, complex(0)
        for excess, count in excesses:
            factor = 1 / (1 - excess * place)
            product *= factor**count
            total += count * factor
        chance += weight * product.real
        slope += weight * (product * place * total).real
        if abs(product * place * total) <= _NEGLIGIBLE * abs(slope):
            return chance * step / math.pi, slope * step / math.pi
        weight = 1.0
        place += complex(0, step)


def _saddle_point(excesses: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Return where on the real axis M(s) / s is least, and a step that is small beside its curve there."""
    low, high = 0.0, 1 / max(excess for excess, _ in excesses)
    place = high / 2
    while True:
        shares = [(excess / (1 - excess * place), count) for excess, count in excesses]
        slope = math.fsum(count * share for share, count in shares) - 1 / place
        curve = math.fsum(count * share * share for share, count in shares) + 1 / place**2
        low, high = (place, high) if slope < 0 else (low, place)
        nearer = place - slope / curve
        if not low < nearer < high:
            nearer = (low + high) / 2
        if abs(nearer - place) <= 1e-6 * place:
            return nearer, 1 / math.sqrt(curve) / _STEPS_PER_DEVIATION
        place = nearer
