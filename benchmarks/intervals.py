"""How often intervals hold the truth, and how often two equal runs seem to differ: by the product's own functions.

    python -m benchmarks.intervals [--draws 1000] [--least 3] [--most 30] [--seed 1]

Tasks are drawn from a population whose means are known: each has 20 tests, many are nearly hopeless and many
nearly certain. Two runs of one strength attempt the same tasks once, so there is no true effect. For each number
of tasks a line tells how often the interval of a run's mean score, of its solved tasks, and of both differences
between the runs holds the truth, of those samples that have an interval; and how often the runs differ: p is at
most 5 %. The exit code is 1 when less than 93 % of a figure's intervals hold, or over 6 % of comparisons at any
size differ.
"""

import argparse
import math
import sys
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from groundup.reports.statistics import LEVEL, Interval, mean_interval, sign_flips, wilson

FIGURES = ("score", "solved", "score difference", "solved difference")
_TESTS = 20
_SHAPE = 0.6
_LEAST_HELD = 0.93
_MOST_DIFFER = 0.06
_ROUNDING = 1e-9


def main() -> int:
    """Print a line for each number of tasks, and what they come to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--least", type=int, default=3)
    parser.add_argument("--most", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    whole: Counter[str] = Counter()
    most = 0.0
    print("tasks" + "".join(f"{name:>24}" for name in FIGURES) + f"{'differ: score':>18}{'solved':>10}")
    for tasks in range(asked.least, asked.most + 1):
        counts: Counter[str] = Counter()
        generator = np.random.default_rng((asked.seed, tasks))
        for _ in range(asked.draws):
            counts += _of_sample(generator, tasks)
        differ = [counts[f"{name} differs"] / asked.draws for name in FIGURES[2:]]
        most = max(most, *differ)
        held = "".join(f"{_share(counts, name):>24}" for name in FIGURES)
        print(f"{tasks:5}{held}{differ[0]:>18.1%}{differ[1]:>10.1%}", flush=True)
        whole += counts
    for name in FIGURES:
        print(f"{name}: {_share(whole, name)} intervals hold the truth, {LEVEL:.0%} are meant to")
    print(f"two equal runs differ in at most {most:.1%}")
    least = min(whole[f"{name} held"] / max(whole[f"{name} given"], 1) for name in FIGURES)
    return int(least < _LEAST_HELD or most > _MOST_DIFFER)


def _share(counts: Counter[str], name: str) -> str:
    given = counts[f"{name} given"]
    return f"{counts[f'{name} held'] / given:.1%} of {given}" if given else "-"


def _of_sample(generator: np.random.Generator, tasks: int) -> Counter[str]:
    """Return what became of each figure of one sample of tasks."""
    chances = generator.beta(_SHAPE, _SHAPE, size=tasks)
    base, other = generator.binomial(_TESTS, chances, size=(2, tasks)) / _TESTS
    differences = (other - base, (other == 1.0) * 1.0 - (base == 1.0) * 1.0)
    found: dict[str, tuple[Interval | None, float]] = {
        "score": (_mean(base), 0.5),
        "solved": (wilson(int((base == 1.0).sum()), tasks), _SOLVED),
        "score difference": (_mean(differences[0]), 0.0),
        "solved difference": (_mean(differences[1]), 0.0),
    }
    counts: Counter[str] = Counter()
    for name, (interval, truth) in found.items():
        if interval is not None:
            counts[f"{name} given"] += 1
            counts[f"{name} held"] += interval.low - _ROUNDING <= truth <= interval.high + _ROUNDING
    for name, values in zip(FIGURES[2:], differences, strict=True):
        p_value = sign_flips(values.tolist())
        counts[f"{name} differs"] += p_value is not None and p_value <= 1 - LEVEL
    return counts


def _mean(values: NDArray[np.float64]) -> Interval | None:
    return mean_interval([[value] for value in values.tolist()])


def _beta(left: float, right: float) -> float:
    return math.exp(math.lgamma(left) + math.lgamma(right) - math.lgamma(left + right))


_SOLVED = _beta(_SHAPE + _TESTS, _SHAPE) / _beta(_SHAPE, _SHAPE)
"""The chance that all tests of a task pass: the mean of the population's chances to the power of its tests."""


if __name__ == "__main__":
    sys.exit(main())
