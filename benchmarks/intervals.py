"""How often intervals hold the truth, and how often runs seem to differ: by the product's own functions.

    python -m benchmarks.intervals [--draws 300] [--sizes 6,8,12,20,50,100] [--seed 1]

Tasks are drawn from five populations whose means are known: easy (70 % of tasks full, 3 % zero, the rest 0.5 to
0.99), hard (its mirror), two-humped (nearly all full or zero), symmetric, and all equal (0.9 throughout). Each
attempt has 50 tests. A line tells, for a number of tasks and attempts, how often the interval holds the truth, and
how wide it is on average: of the mean score, of solved tasks, of pass@k, and of the difference in scores between a
run and one that loses 5 % of the tasks. Then how often two equal runs differ (p of at most 5 %), how often that
loss is found, how often a run is found that gets half of what the other misses, and how often one of three equal
runs gets a place that leaves out others. The exit code is 1 when less than 94 % of a cell's intervals hold (less
three standard errors of the draws) or over 6 % of a size's equal runs differ (more three).
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from groundup.reports.intervals import LEVEL, Interval, difference_interval, mean_interval
from groundup.reports.statistics import one_of, ranks, sign_flips

Values = NDArray[np.float64]
FIGURES = ("score", "solved", "pass@k", "difference")
CLAIMS = ("equal runs differ", "loss found", "gain found", "equal runs ranked")
LEAST_HELD = 0.94
MOST_DIFFER = 0.06
FALSE_CLAIMS = ("equal runs differ", "equal runs ranked")
_TESTS = 50
_LOST = 0.05
_ROUNDING = 1e-6
_ENOUGH = 200_000


def _easy(generator: np.random.Generator, tasks: int) -> Values:
    kinds, rest = generator.random(tasks), generator.uniform(0.5, 0.99, tasks)
    return np.where(kinds < 0.7, 1.0, np.where(kinds > 0.97, 0.0, rest))


def _two_humped(generator: np.random.Generator, tasks: int) -> Values:
    kinds = generator.random(tasks)
    return np.where(kinds < 0.45, 1.0, np.where(kinds > 0.55, 0.0, generator.random(tasks)))


POPULATIONS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "easy": _easy,
    "hard": lambda generator, tasks: 1 - _easy(generator, tasks),
    "two-humped": _two_humped,
    "symmetric": lambda generator, tasks: generator.beta(0.6, 0.6, tasks),
    "all equal": lambda _, tasks: np.full(tasks, 0.9),
}
"""Chances of a test to pass, by task."""


def main() -> int:
    """Print a line for each population, number of tasks and number of attempts, then what misses its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--sizes", default="6,8,12,20,50,100")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print("population tasks  k" + "".join(f"{name:>18}" for name in (*FIGURES, *CLAIMS)))
    missed: list[str] = []
    for population in POPULATIONS:
        for tasks in map(int, asked.sizes.split(",")):
            for attempts in (1, 3):
                cell = f"{population:10}{tasks:5}{attempts:3}"
                held, widths = coverage(population, tasks, attempts, asked.draws, asked.seed)
                claimed = claims(population, tasks, attempts, asked.draws, asked.seed)
                shown = "".join(f"{held[name]:>12.1%} {widths[name]:.3f}" for name in FIGURES)
                print(f"{cell}{shown}" + "".join(f"{claimed[name]:>18.1%}" for name in CLAIMS), flush=True)
                missed += (f"{cell}: {name}" for name in _missed(held, claimed, asked.draws))
    print(f"of each figure: how often its interval holds the truth ({LEVEL:.0%} meant), and its mean width")
    print("\n".join(missed) or "every cell is within its target")
    return int(bool(missed))


def _missed(held: Mapping[str, float], claimed: Mapping[str, float], draws: int) -> Iterator[str]:
    """Yield each figure that misses what it should, by more than *draws* explain."""
    least = LEAST_HELD - 3 * math.sqrt(LEAST_HELD * (1 - LEAST_HELD) / draws)
    yield from (name for name, share in held.items() if share < least)
    most = MOST_DIFFER + 3 * math.sqrt(MOST_DIFFER * (1 - MOST_DIFFER) / draws)
    yield from (name for name in FALSE_CLAIMS if claimed[name] > most)


def coverage(
    population: str, tasks: int, attempts: int, draws: int, seed: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return how often each figure's interval holds the truth in samples of as many tasks, and its mean width."""
    place = list(POPULATIONS).index(population)
    known = _figures(*_runs(population, np.random.default_rng((seed, place)), _ENOUGH, attempts)[:2])
    truths = {name: float(values.mean()) for name, values in known.items()}
    generator = np.random.default_rng((seed, place, tasks, attempts))
    held, widths = dict.fromkeys(FIGURES, 0.0), dict.fromkeys(FIGURES, 0.0)
    for _ in range(draws):
        for name, values in _figures(*_runs(population, generator, tasks, attempts)[:2]).items():
            found = _interval(name, values)
            held[name] += (found.low - _ROUNDING <= truths[name] <= found.high + _ROUNDING) / draws
            widths[name] += (found.high - found.low) / draws
    return held, widths


def claims(population: str, tasks: int, attempts: int, draws: int, seed: int) -> dict[str, float]:
    """Return how often runs are said to differ that do not, and that do."""
    place = list(POPULATIONS).index(population)
    generator = np.random.default_rng((seed, place, tasks, attempts))
    claimed = dict.fromkeys(CLAIMS, 0.0)
    for _ in range(draws):
        run, losing, gaining, *equal = (one.mean(axis=1) for one in _runs(population, generator, tasks, attempts))
        claimed["equal runs differ"] += _differ(run, equal[0]) / draws
        claimed["loss found"] += _differ(run, losing) / draws
        claimed["gain found"] += _differ(run, gaining) / draws
        claimed["equal runs ranked"] += _ranked([run, *equal]) / draws
    return claimed


def _runs(population: str, generator: np.random.Generator, tasks: int, attempts: int) -> list[Values]:
    """Return scores by task and attempt: of a run, one that loses tasks, one that gains, and two equal ones."""
    chances = POPULATIONS[population](generator, tasks)
    losing = np.where(generator.random(tasks) < _LOST, 0.0, chances)
    every = (chances, losing, (1 + chances) / 2, chances, chances)
    return [generator.binomial(_TESTS, one[:, None], (tasks, attempts)) / _TESTS for one in every]


def _figures(run: Values, losing: Values) -> dict[str, Values]:
    """Return the values of each figure by task."""
    solved = (run == 1.0).sum(axis=1)
    attempts = run.shape[1]
    k = min(attempts, 2)
    chances = np.array([one_of(count, attempts, k) for count in range(attempts + 1)])
    return {
        "score": run.mean(axis=1),
        "solved": solved / attempts,
        "pass@k": chances[solved],
        "difference": losing.mean(axis=1) - run.mean(axis=1),
    }


def _interval(name: str, values: Values) -> Interval:
    found = (difference_interval if name == "difference" else mean_interval)(values.tolist())
    assert found is not None, "a number of tasks below the least"
    return found


def _differ(base: Values, other: Values) -> bool:
    chance = sign_flips((other - base).tolist())
    return chance is not None and chance <= 1 - LEVEL


def _ranked(means: list[Values]) -> bool:
    """Tell whether the first of equal runs has a place that leaves out the places of others."""
    named = [
        (str(number), {str(task): value for task, value in enumerate(run)}) for number, run in enumerate(means)
    ]
    first = next(one for one in ranks(named) if one.run == "0")
    return (first.low, first.high) != (1, len(named))


if __name__ == "__main__":
    sys.exit(main())
