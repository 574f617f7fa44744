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


class Interval(Record):
    """Where the true figure lies with 95 % confidence, if the tasks are a sample of such tasks."""

    low: float
    high: float
    level: float = LEVEL
    method: str = Field(description="how it was computed")


def mean_interval(values: Sequence[float], lowest: float = 0.0, highest: float = 1.0) -> Interval | None:
    """Return the interval of the mean of *values*, one for each task, which can lie from *lowest* to *highest*.

    None for fewer than `LEAST_TASKS`.
    """
    if len(values) < LEAST_TASKS:
        return None
    lowest, highest = min(lowest, *values), max(highest, *values)
    width = highest - lowest
    return Interval(
        low=highest - width * _upper_end([(highest - value) / width for value in values]),
        high=lowest + width * _upper_end([(value - lowest) / width for value in values]),
        method=CLOPPER_PEARSON if set(values) <= {0, 1} and lowest == 0 else GAFFKE,
    )


_CHANCE = (1 - LEVEL) / 2
_PRECISION = 1e-7
_MOST_STEPS = 60


def _upper_end(values: Collection[float]) -> float:
    """Return what the weighted mean of *values* and 1 exceeds with 2.5 %; values lie from 0 to 1.

    Newton's method on the logarithm of that chance, which is concave: after one step all ends are approached from
    above.
    """
    counts = Counter([*values, 1.0])
    end = math.fsum(value * count for value, count in counts.items()) / counts.total()
    for _ in range(_MOST_STEPS):
        if 1 - end < _PRECISION:
            return 1.0
        chance, slope = _exceeding(counts, end)
        nearer = end + chance * math.log(chance / _CHANCE) / slope
        if abs(nearer - end) < _PRECISION:
            break
        end = min(nearer, (end + 1) / 2)
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
