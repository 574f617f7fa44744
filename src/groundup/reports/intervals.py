"""Intervals of means whose values lie between known bounds, and whether a difference is one. Pure.

A score is never below 0 or above 1, so what a sample did not show is bounded as well. Each end adds one value at
its bound, weights all values by the spacings of uniform random numbers (a Dirichlet distribution of ones), and
takes the 2.5 % quantile of that weighted mean. For zeros and ones these are the Clopper-Pearson limits of a
share. Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable". Learned-Miller and Thomas (2020), "A New Confidence Interval for the Mean of a Bounded Random
Variable", know of no distribution whose mean it holds less often than it says; `benchmarks/intervals.py` measures
ours.

Of a difference the interval and p are one procedure: p is how far the confidence may rise until the interval holds
0. A test of its own, such as flipped signs, would ask another question: whether two runs are alike in everything.
Its inverse holds a mean of rare large losses in a third of small samples.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from groundup.domain.records import Record

LEVEL = 0.95
LEAST_TASKS = 2
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


class DifferenceInterval(NamedTuple):
    """What is known of a mean difference: the interval holds 0 where p is above 5 %, and nowhere else."""

    interval: Interval
    p_value: float


def difference_of(differences: Sequence[float], comparisons: int = 1) -> DifferenceInterval | None:
    """Return the interval of the mean of *differences* of scores, one for each task, and p; None below two tasks.

    They can lie from -1 to 1, so a value added at a far bound allows for more than need be. Half the chance is
    therefore that with the value at the other bound: mid-p, Lancaster (1961), "Significance tests in discrete
    distributions". Of several *comparisons* both are corrected (Bonferroni): all hold at once in 95 %.
    """
    if len(differences) < LEAST_TASKS:
        return None
    chance = min(comparisons * chance_of(differences), 1.0)
    most = max(1.0, *map(abs, differences))
    level = 1 - (1 - LEVEL) / comparisons
    ends = [
        _upper_end([(sign * value / most + 1) / 2 for value in differences], added=[0.0, 1.0], level=level)
        for sign in (-1, 1)
    ]
    low, high = (1 - 2 * ends[0]) * most, (2 * ends[1] - 1) * most
    if chance > 1 - LEVEL:
        low, high = min(low, 0.0), max(high, 0.0)
    elif low <= 0 <= high:  # as close to 0 as ends are known
        low, high = (_PRECISION, high) if math.fsum(differences) > 0 else (low, -_PRECISION)
    return DifferenceInterval(Interval(low=low, high=high, level=level, method=MIDWAY), chance)


def chance_of(differences: Sequence[float], tasks: float | None = None, mean: float = 0.0) -> float:
    """Return p of *mean* being what *differences* have: the interval holds what has p above 5 %.

    With *tasks* it is that of so many tasks, of which these are typical.
    """
    most = max(1.0, *map(abs, differences))
    weight = 1.0 if tasks is None else tasks / len(differences)
    known = [round(one, _DIGITS) for one in differences]
    sides = []
    for sign in (-1, 1):
        counts = {value: weight * count for value, count in Counter(sign * one for one in known).items()}
        beyond = [_exceeding(_with(counts, added), sign * mean)[0] for added in (-most, most)]
        sides.append(math.fsum(beyond) / len(beyond))
    return min(2 * min(sides), 1.0)


def _with(counts: Mapping[float, float], added: float) -> dict[float, float]:
    return {**counts, added: counts.get(added, 0.0) + 1.0}


_PRECISION = 1e-7
_DIGITS = 12
"""Smaller differences are none: squares of the smallest numbers have no place among floats."""


def _upper_end(values: Collection[float], added: Sequence[float], level: float = LEVEL) -> float:
    """Return what the weighted mean exceeds with half the chance that *level* leaves; values lie from 0 to 1.

    The chance is the average over the numbers *added*, one at a time, to the *values*. Newton's method on its
    logarithm, and halving where that leaves the bracket.
    """
    counts = [Counter([*values, one]) for one in added]
    left = (1 - level) / 2
    low, high = math.fsum(values) / len(values), 1.0
    end = (low * len(values) + 1) / (len(values) + 1)
    while high - low >= _PRECISION:
        found = [_exceeding(one, end) for one in counts]
        chance = math.fsum(chance for chance, _ in found) / len(found)
        slope = math.fsum(slope for _, slope in found) / len(found)
        low, high = (end, high) if chance > left else (low, end)
        nearer = end + chance * math.log(chance / left) / slope if chance and slope else high
        if abs(nearer - end) < _PRECISION:
            break
        end = nearer if low < nearer < high else (low + high) / 2
    return end


_STEP = 0.15
_NEGLIGIBLE = 1e-8


def _exceeding(counts: Mapping[float, float], end: float) -> tuple[float, float]:
    """Return the chance that the weighted mean exceeds *end*, and how fast it falls there.

    Spacings are exponential numbers divided by their sum, so this is the chance that a sum of exponential numbers,
    each times what its value exceeds *end* by, is positive. That is an integral of the sum's moment generating
    function M(s) / s along a vertical line in the complex plane: Rice (1980), "Distribution of quadratic forms in
    normal random variables: evaluation by numerical integration". The line goes through the saddle point, and its
    points lie as hyperbolic sines do: then the trapezoidal rule converges exponentially even where values that lie
    at *end* leave two or three to decide, and M falls slowly.
    """
    excesses = [(value - end, count) for value, count in counts.items()]
    if max(excesses)[0] <= 0:
        return 0.0, 0.0
    if min(excesses)[0] >= 0:
        return 1.0, 0.0
    saddle, scale = _saddle_point(excesses)
    chance = slope = 0.0
    weight, at = 0.5, 0.0  # of the first point, in the middle of a line whose halves are alike
    while True:
        place = complex(saddle, scale * math.sinh(at))
        product, total = weight * math.cosh(at) / place, complex(0)
        for excess, count in excesses:
            factor = 1 / (1 - excess * place)
            product *= factor**count
            total += count * factor
        chance += product.real
        slope += (product * place * total).real
        if abs(product) <= _NEGLIGIBLE * abs(chance) and abs(product * place * total) <= _NEGLIGIBLE * abs(slope):
            return chance * scale * _STEP / math.pi, slope * scale * _STEP / math.pi
        weight, at = 1.0, at + _STEP


def _saddle_point(excesses: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return where on the real axis M(s) / s is least, and over which length it bends there."""
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
            return nearer, 1 / math.sqrt(curve)
        place = nearer
