"""How often intervals hold the truth, and how often runs seem to differ: by the product's own functions.

    python -m benchmarks.intervals [--draws 60] [--sizes 3,5,8,12,20,50,100] [--seed 1] [--table]
    python -m benchmarks.intervals --agree 10000 [--runs FOLDER ...]

Tasks are drawn from ten populations whose means are known: easy (70 % of tasks full, 3 % zero, the rest 0.5 to
0.99), hard (its mirror), two-humped (nearly all full or zero), symmetric, all equal (0.9 throughout), stair (40
% zero, the rest near 0.8), rare (3 % zero, the rest 0.97), three (0, 0.5 and 1), skew (most near 0), and narrow
(0.8 to 1). Each attempt has 50 tests. A second run is another of the same subject, or loses 5 % of the tasks,
loses 4 % and gains 2 %, loses 20 %, or gets half of what the first misses.

A line tells, for a number of tasks, how often the interval holds the truth and how wide it is on average: of the
mean score, of solved tasks, of pass@2, and of each of these differences; half of the samples have one attempt at
each task and half have three. Widths of differences are of each third sample, where interval and p are compared,
too. Then how often the two runs are told apart, and how often some of five equal runs is ranked apart. `--table`
prints a row for each number of tasks instead: the worst cell and the mean width, how often the gain of half is
found and how often anything that keeps its promise could find it, beside what others do: signs flipped (p of the
shifted differences), t, and Gaffke's with half of the bounds. The exit code is 1 when less
than 95 % of a cell's intervals hold (less three standard errors of the draws), over 6 % of a size's equal runs
are told apart or ranked apart (more three), or an interval and its p contradict each other once.

`--agree` asks that last question alone, of so many comparisons with ten tests a task, one to nine at once, and of
each figure of each two recorded runs of a suite in the folders of `--runs`; it takes minutes.
"""

import argparse
import contextlib
import functools
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from groundup.api.reports import read_report
from groundup.domain.errors import GroundupError
from groundup.reports.comparison import compare
from groundup.reports.document import RunReport
from groundup.reports.intervals import LEVEL, DifferenceInterval, chance_of, difference_of, mean_interval
from groundup.reports.statistics import one_of, ranks
from groundup.store.folder import runs_in

Values = NDArray[np.float64]
LEAST_HELD = 0.95
MOST_DIFFER = 0.06
_TESTS = 50
_FEW_TESTS = 10
_SIZES = (3, 5, 8, 12, 20, 50, 100)
_ROUNDING = 1e-6
_ENOUGH = 200_000
_ATTEMPTS = (1, 3)
_RANKED = 5
_WHOLE = 3
"""Of so many samples one has its interval computed; of the others, whether it would hold the truth."""
_SIGNS = 2_000
_BOUNDED = 40_000
"""Samples by which `most_found` is computed."""


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
    "stair": lambda generator, tasks: np.where(generator.random(tasks) < 0.4, 0.0, generator.beta(8, 2, tasks)),
    "rare": lambda generator, tasks: np.where(generator.random(tasks) < 0.03, 0.0, 0.97),
    "three": lambda generator, tasks: generator.choice([0.0, 0.5, 1.0], tasks),
    "skew": lambda generator, tasks: generator.beta(0.3, 3, tasks),
    "narrow": lambda generator, tasks: generator.uniform(0.8, 1, tasks),
}
"""Chances of a test to pass, by task."""


def _moved(lost: float, gained: float) -> Callable[[np.random.Generator, Values], Values]:
    def change(generator: np.random.Generator, chances: Values) -> Values:
        drawn = generator.random(len(chances))
        return np.where(drawn < lost, 0.0, np.where(drawn > 1 - gained, 1.0, chances))

    return change


CHANGES: dict[str, Callable[[np.random.Generator, Values], Values]] = {
    "equal": lambda _, chances: chances,
    "loses 5 %": _moved(0.05, 0.0),
    "loses 4 %, gains 2 %": _moved(0.04, 0.02),
    "loses 20 %": _moved(0.2, 0.0),
    "gains half": lambda _, chances: (1 + chances) / 2,
}
"""The second run's chances by the first one's."""


class Cell(NamedTuple):
    """What samples of one population, and size came to: shares of the draws, by figure."""

    held: dict[str, float]
    widths: dict[str, float]
    apart: dict[str, float]
    """By change: how often the two runs are told apart."""
    ranked: float
    """How often some of five equal runs is ranked apart."""
    others: dict[str, float]
    """How often the intervals of other procedures hold, of the worst change."""
    contradictions: int
    compared: int


def main() -> int:
    """Print a line for each cell, or a row for each number of tasks; then what misses its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--sizes", default=",".join(map(str, _SIZES)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--agree", type=int)
    parser.add_argument("--runs", nargs="*", type=Path, default=[])
    asked = parser.parse_args()
    if asked.agree:
        return _agree(asked.agree, asked.seed, asked.runs)
    missed: list[str] = []
    every: list[Cell] = []
    if asked.table:
        print("| " + " | ".join(_HEADS) + " |\n|" + "---|" * len(_HEADS))
    for tasks in map(int, asked.sizes.split(",")):
        cells = []
        for population in POPULATIONS:
            name = f"{population:10}{tasks:5}"
            cells.append(cell(population, tasks, asked.draws, asked.seed, others=asked.table))
            missed += (f"{name}: {one}" for one in _missed(cells[-1], asked.draws))
            if not asked.table:
                print(name, _line(cells[-1]), flush=True)
        if asked.table:
            print(_row(tasks, cells), flush=True)
        every += cells
    compared, contradictions = sum(one.compared for one in every), sum(one.contradictions for one in every)
    print(f"interval and p agree in {compared - contradictions} of {compared} comparisons")
    print("\n".join(missed) or "every cell is within its target")
    return int(bool(missed))


def _agree(count: int, seed: int, folders: Sequence[Path]) -> int:
    """Print how often the interval of a difference and its p agree."""
    wrong = 0
    for kind, every in (("simulated", _simulated(count, seed)), ("recorded", _recorded(folders))):
        apart = [(one.p_value <= 1 - LEVEL, not one.interval.low <= 0 <= one.interval.high) for one in every]
        agreeing = sum(by_p == by_interval for by_p, by_interval in apart)
        told = sum(by_p for by_p, _ in apart)
        print(f"{kind}: interval and p agree in {agreeing} of {len(apart)}; told apart {told}", flush=True)
        wrong += len(apart) - agreeing
    return int(wrong > 0)


def _simulated(count: int, seed: int) -> Iterator[DifferenceInterval]:
    generator, cases = np.random.default_rng(seed), itertools.product(POPULATIONS, CHANGES, _ATTEMPTS, _SIZES)
    for population, change, attempts, tasks in itertools.islice(itertools.cycle(cases), count):
        chances = POPULATIONS[population](generator, tasks)
        run, other = (
            generator.binomial(_FEW_TESTS, one[:, None], (tasks, attempts)) / _FEW_TESTS
            for one in (chances, CHANGES[change](generator, chances))
        )
        found = difference_of(_difference(run, other), int(generator.choice([1, 1, 3, 9])))
        assert found is not None
        yield found


def _recorded(folders: Sequence[Path]) -> Iterator[DifferenceInterval]:
    runs: list[RunReport] = []
    for folder in (below for given in folders for below in runs_in(given)):
        with contextlib.suppress(GroundupError):  # what cannot be read is compared with nothing
            runs += read_report([folder]).runs
    for base, other in itertools.combinations(runs, 2):
        figures = compare(base, other).figures if base.benchmark == other.benchmark else ()
        for one in figures:
            if one.interval is not None and one.p_value is not None:
                yield DifferenceInterval(one.interval, one.p_value)


def _line(found: Cell) -> str:
    held = "; ".join(f"{name} {share:.1%} {found.widths[name]:.3f}" for name, share in found.held.items())
    apart = "; ".join(f"{name} {share:.1%}" for name, share in found.apart.items())
    return f"held, width: {held} | told apart: {apart}; ranked apart {found.ranked:.1%}"


_HEADS = (
    "tasks",
    "score: held, width",
    "solved",
    "pass@2",
    "difference",
    "equal runs told apart: most, mean",
    "some of 5 equal runs ranked apart: most, mean",
    "gain found",
    "at most",
    "signs flipped: held",
    "t: held",
    "half the bounds: held",
)


def _row(tasks: int, cells: Sequence[Cell]) -> str:
    def worst(names: Sequence[str]) -> str:
        held = min(cell.held[name] for cell in cells for name in names)
        return f"{held:.1%}, {np.mean([cell.widths[name] for cell in cells for name in names]):.3f}"

    equal, ranked = [cell.apart["equal"] for cell in cells], [cell.ranked for cell in cells]
    row = (
        str(tasks),
        *(worst([name]) for name in ("score", "solved", "pass@2")),
        worst(list(CHANGES)),
        f"{max(equal):.1%}, {np.mean(equal):.1%}",
        f"{max(ranked):.1%}, {np.mean(ranked):.1%}",
        f"{np.mean([cell.apart['gains half'] for cell in cells]):.0%}",
        f"{np.mean([most_found(population, tasks) for population in POPULATIONS]):.0%}",
        *(f"{min(cell.others[name] for cell in cells):.1%}" for name in _OTHERS),
    )
    return "| " + " | ".join(row).replace("%", " %") + " |"


def _missed(found: Cell, draws: int) -> Iterator[str]:
    """Yield each figure that misses what it should, by more than *draws* explain."""
    least = LEAST_HELD - 3 * math.sqrt(LEAST_HELD * (1 - LEAST_HELD) / draws)
    yield from (f"{name} held {share:.1%}" for name, share in found.held.items() if share < least)
    most = MOST_DIFFER + 3 * math.sqrt(MOST_DIFFER * (1 - MOST_DIFFER) / draws)
    if found.apart["equal"] > most:
        yield f"equal runs told apart {found.apart['equal']:.1%}"
    if found.ranked > most:
        yield f"equal runs ranked apart {found.ranked:.1%}"
    if found.contradictions:
        yield f"interval and p contradict each other {found.contradictions} times"


def cell(population: str, tasks: int, draws: int, seed: int, *, others: bool = False) -> Cell:
    """Draw *draws* samples of *tasks* tasks and compare what they say with the truth."""
    place = list(POPULATIONS).index(population)
    truths = {k: _truths(population, (seed, place), k) for k in _ATTEMPTS}
    generator = np.random.default_rng((seed, place, tasks))
    held, apart = dict.fromkeys(truths[1], 0.0), dict.fromkeys(CHANGES, 0.0)
    widths: dict[str, list[float]] = {name: [] for name in held}
    rivals = {(name, change): 0.0 for name in _OTHERS for change in CHANGES}
    ranked, contradictions = 0.0, 0
    for draw in range(draws):
        attempts = _ATTEMPTS[draw % len(_ATTEMPTS)]
        truth, chances = truths[attempts], POPULATIONS[population](generator, tasks)
        run = _scores(generator, chances, attempts)
        for name, values in _figures(run).items():
            interval = mean_interval(values.tolist())
            assert interval is not None
            held[name] += (interval.low - _ROUNDING <= truth[name] <= interval.high + _ROUNDING) / draws
            widths[name].append(interval.high - interval.low)
        for name, change in CHANGES.items():
            differences = _difference(run, _scores(generator, change(generator, chances), attempts))
            is_apart = chance_of(differences) <= 1 - LEVEL
            held[name] += (chance_of(differences, mean=truth[name]) > 1 - LEVEL) / draws
            apart[name] += is_apart / draws
            if draw % _WHOLE == 0:
                found = difference_of(differences)
                assert found is not None
                widths[name].append(found.interval.high - found.interval.low)
                contradictions += is_apart == (found.interval.low <= 0 <= found.interval.high)
            for rival in _OTHERS if others else ():
                rivals[rival, name] += (_OTHERS[rival](differences, truth[name]) > 1 - LEVEL) / draws
        ranked += _ranked([run, *(_scores(generator, chances, attempts) for _ in range(_RANKED - 1))]) / draws
    return Cell(
        held=held,
        widths={name: float(np.mean(found)) for name, found in widths.items()},
        apart=apart,
        ranked=ranked,
        others={rival: min(rivals[rival, change] for change in CHANGES) for rival in _OTHERS},
        contradictions=contradictions,
        compared=len(CHANGES) * len(range(0, draws, _WHOLE)),
    )


def most_found(population: str, tasks: int) -> float:
    """Return how often the gain of half can be found at most by whatever calls equal means different in 5 %.

    The population of differences nearest to theirs whose mean is 0 gives each difference d the weight
    1 / (1 + sd), s at most 1, and what is then left to the loss of whole tasks. No test that errs in 5 % of its
    samples finds more than the one by the ratio of the two likelihoods (Neyman and Pearson, 1933).
    """
    generator = np.random.default_rng(list(POPULATIONS).index(population))
    chances = POPULATIONS[population](generator, _ENOUGH)
    run = _scores(generator, chances, 1)
    other = _scores(generator, CHANGES["gains half"](generator, chances), 1)
    differences = np.maximum((other - run).mean(axis=1), _ROUNDING - 1)
    low, high = 0.0, 1.0
    while high - low > _ROUNDING:
        middle = (low + high) / 2
        is_below = np.mean(differences / (1 + middle * differences)) > 0
        low, high = (middle, high) if is_below else (low, middle)
    drawn = generator.integers(0, _ENOUGH, (_BOUNDED, tasks))
    ratios = np.sort(np.log1p(low * differences[drawn]).sum(axis=1))[::-1]
    wrong = np.cumsum(np.exp(-ratios)) / _BOUNDED
    return float((wrong <= 1 - LEVEL).mean())


@functools.cache
def _truths(population: str, seed: tuple[int, int], attempts: int) -> dict[str, float]:
    generator = np.random.default_rng(seed)
    chances = POPULATIONS[population](generator, _ENOUGH)
    figures = _figures(_scores(generator, chances, attempts))
    truths = {name: float(values.mean()) for name, values in figures.items()}
    return truths | {
        name: float((change(generator, chances) - chances).mean()) for name, change in CHANGES.items()
    }


def _scores(generator: np.random.Generator, chances: Values, attempts: int) -> Values:
    """Return scores by task and attempt."""
    return generator.binomial(_TESTS, chances[:, None], (len(chances), attempts)) / _TESTS


def _difference(run: Values, other: Values) -> list[float]:
    return [round(float(value), 12) for value in other.mean(axis=1) - run.mean(axis=1)]


def _figures(run: Values) -> dict[str, Values]:
    """Return the values of each figure of a run by task."""
    solved = (run == 1.0).sum(axis=1)
    attempts = run.shape[1]
    k = min(attempts, 2)
    chances = np.array([one_of(count, attempts, k) for count in range(attempts + 1)])
    return {"score": run.mean(axis=1), "solved": solved / attempts, "pass@2": chances[solved]}


def _ranked(runs: Sequence[Values]) -> bool:
    """Tell whether some of equal runs has a place that leaves out the places of others."""
    named = [
        (str(number), {str(task): float(value) for task, value in enumerate(run.mean(axis=1))})
        for number, run in enumerate(runs)
    ]
    return any((one.low, one.high) != (1, len(named)) for one in ranks(named))


def _by_signs(differences: Sequence[float], truth: float) -> float:
    """Return p of the permutation test by signs of what differences are beyond *truth*: its inverse's interval."""
    values = np.array(differences) - truth
    if not np.any(np.abs(values) > _ROUNDING):
        return 1.0
    signs = np.random.default_rng(1).integers(0, 2, (_SIGNS, len(values))) * 2.0 - 1
    return float((1 + (np.abs(signs @ values) >= abs(values.sum()) - 1e-9).sum()) / (1 + _SIGNS))


def _by_t(differences: Sequence[float], truth: float) -> float:
    if max(differences) - min(differences) < _ROUNDING:
        return float(abs(differences[0] - truth) < _ROUNDING)
    return float(stats.ttest_1samp(differences, truth).pvalue)


def _by_half_bounds(differences: Sequence[float], truth: float) -> float:
    """Return p of Gaffke's where values are added at half of their bounds: as if scores went from 0 to 0.5."""
    return chance_of([2 * (value - truth) for value in differences])


_OTHERS: dict[str, Callable[[Sequence[float], float], float]] = {
    "signs flipped": _by_signs,
    "t": _by_t,
    "half the bounds": _by_half_bounds,
}
"""p of a true difference by other procedures, whose intervals leave it out where p is at most 5 %."""

if __name__ == "__main__":
    sys.exit(main())
