"""Statistics of scores: differences, repeated attempts, ranks, and how much data a comparison needs. Pure.

The best and the worst of k attempts: estimates draw k of a task's n attempts without replacement, so they have no
bias (Hoeffding (1948), "A class of statistics with asymptotically normal distribution").

How much data a comparison needs: as many tasks as the differences at hand must stand for until p is so low that a
sample of such tasks has p of at most 5 % with a chance of 80 %. More attempts at each task shrink what attempts
differ by, and leave what tasks do. Miller (2024), "Adding Error Bars to Evals: A Statistical Approach to Language
Model Evaluations", 5: the mean of n paired tasks has the variance (w + a/k + b/m) / n, where w is the variance of
the tasks' true differences, and a and b are the variances between the k and m attempts at one task.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations, pairwise
from statistics import NormalDist, fmean, variance

from pydantic import Field

from groundup.domain.records import Record
from groundup.reports.intervals import LEAST_TASKS, LEVEL, chance_of


def standard_error(groups: Sequence[Sequence[float]]) -> float | None:
    """Return the standard error of the mean of all values, where whole groups are independent; None below two.

    Of a ratio of sums, by linearisation: Cochran (1977), "Sampling Techniques", 6.4.
    """
    groups = [group for group in groups if group]
    if len(groups) < 2:
        return None
    count = sum(map(len, groups))
    mean = math.fsum(value for group in groups for value in group) / count
    squares = math.fsum(math.fsum(value - mean for value in group) ** 2 for group in groups)
    return math.sqrt(squares * len(groups) / (len(groups) - 1)) / count


def holm(chances: Sequence[float]) -> list[float]:
    """Return p-values corrected for being several, in their order.

    At most 5 % of such families have one below 0.05 by chance alone: Holm (1979), "A simple sequentially rejective
    multiple test procedure".
    """
    corrected = [0.0] * len(chances)
    highest = 0.0
    for place, number in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        highest = max(highest, min((len(chances) - place) * chances[number], 1.0))
        corrected[number] = highest
    return corrected


def one_of(successes: int, attempts: int, k: int) -> float:
    """Return the chance that one of *k* attempts succeeds, of which *successes* of *attempts* did: pass@k.

    Chen et al. (2021), "Evaluating Large Language Models Trained on Code": 1 - C(n-c, k) / C(n, k).
    """
    return 1 - math.comb(attempts - successes, k) / math.comb(attempts, k)


def all_of(successes: int, attempts: int, k: int) -> float:
    """Return the chance that all of *k* attempts succeed, of which *successes* of *attempts* did: pass^k.

    Yao et al. (2024), "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains":
    C(c, k) / C(n, k).
    """
    return math.comb(successes, k) / math.comb(attempts, k)


def best_of(scores: Sequence[float], k: int) -> float:
    """Return the expected best score of *k* attempts: the mean of the maximum over all draws of *k* from *scores*.

    With scores in ascending order, the i-th of n is the best of C(i-1, k-1) draws out of C(n, k). For scores of 0
    and 1 it is pass@k. Dodge et al. (2019), "Show Your Work", estimate the same with replacement, which is biased
    (Tang et al. (2020), "Showing Your Work Doesn't Always Work").
    """
    draws = math.comb(len(scores), k)
    best = (math.comb(place, k - 1) * score for place, score in enumerate(sorted(scores)))
    return math.fsum(best) / draws


class Spread(Record):
    """How much attempts at one task differ, beside how much tasks do. Shares of 1."""

    tasks: int = Field(description="with two known attempts or more")
    within: float = Field(description="standard deviation between attempts at one task")
    between: float = Field(description="standard deviation between tasks, without that between attempts")
    agreement: float | None = Field(
        description="share of the variance that lies between tasks: 1 where attempts always agree; None: all alike"
    )


def spread(groups: Collection[Sequence[float]]) -> Spread | None:
    """Return the variance components of scores by task; None without two tasks of two attempts.

    One-way random effects, from the means of squares, for groups of different size: Searle, Casella and McCulloch
    (1992), "Variance Components", 3.6. The agreement is ICC(1) of Shrout and Fleiss (1979), "Intraclass
    correlations". A variance between tasks that comes out negative is 0.
    """
    several = [group for group in groups if len(group) > 1]
    if len(several) < 2:
        return None
    counts = [len(group) for group in several]
    total = sum(counts)
    grand = math.fsum(value for group in several for value in group) / total
    means = [math.fsum(group) / len(group) for group in several]
    within = _within(several)
    assert within is not None
    squares = math.fsum(count * (mean - grand) ** 2 for count, mean in zip(counts, means, strict=True))
    size = (total - sum(count * count for count in counts) / total) / (len(several) - 1)
    between = max((squares / (len(several) - 1) - within) / size, 0.0)
    whole = within + between
    return Spread(
        tasks=len(several),
        within=math.sqrt(within),
        between=math.sqrt(between),
        agreement=between / whole if whole else None,
    )


def within_variance(groups: Collection[Sequence[float]]) -> float | None:
    """Return the variance between attempts at one task, pooled; None where no task has two attempts."""
    return _within([group for group in groups if len(group) > 1])


def _within(groups: Sequence[Sequence[float]]) -> float | None:
    if not groups:
        return None
    means = [math.fsum(group) / len(group) for group in groups]
    squares = ((value - mean) ** 2 for group, mean in zip(groups, means, strict=True) for value in group)
    return math.fsum(squares) / sum(len(group) - 1 for group in groups)


RANKS = "runs apart from this one by the interval of their difference, corrected for all pairs of runs (Holm)"
FEW = f"fewer than {LEAST_TASKS} shared tasks tell no places apart"
_ROUNDING = 1e-12


class Rank(Record):
    """A run's place among several, 1 being the best, by the mean over the tasks that all have a score for."""

    run: str
    tasks: int
    score: float = Field(description="mean over the shared tasks, a share of 1")
    rank: int = Field(description="1 + runs with a higher mean")
    low: int = Field(description="the best place that the data allows with 95 % confidence")
    high: int = Field(description="the worst such place")
    level: float = LEVEL
    method: str = RANKS


def ranks(runs: Sequence[tuple[str, Mapping[str, float]]]) -> tuple[Rank, ...]:
    """Rank *runs*, each a name with its score by task, over the tasks that all have; nothing for fewer than two.

    A run's interval leaves out the places of runs that are surely better or worse: those whose difference from it
    has p of at most 5 %, corrected for all pairs, so that all intervals hold at once. Ranks from such tests:
    Mogstad, Romano, Shaikh and Wilhelm (2024), "Inference for Ranks with Applications to Mobility across
    Neighbourhoods and Academic Achievement across Countries", 3.1. Percentiles of resampled ranks do not cover
    where runs are nearly equal: Hall and Miller (2009), "Using the bootstrap to quantify the authority of an
    empirical ranking".
    """
    shared = [task for task in runs[0][1] if all(task in scores for _, scores in runs)] if runs else []
    if len(runs) < 2 or len(shared) < LEAST_TASKS:
        return ()
    means = [fmean(scores[task] for task in shared) for _, scores in runs]
    apart = _apart([[scores[task] for task in shared] for _, scores in runs])
    made = []
    for place, (name, _) in enumerate(runs):
        leads = [mean - means[place] for mean in means]
        sure = [lead for number, lead in enumerate(leads) if frozenset((place, number)) in apart]
        made.append(
            Rank(
                run=name,
                tasks=len(shared),
                score=means[place],
                rank=1 + sum(lead > _ROUNDING for lead in leads),
                low=1 + sum(lead > 0 for lead in sure),
                high=len(runs) - sum(lead < 0 for lead in sure),
            )
        )
    return tuple(sorted(made, key=lambda one: (one.rank, one.low, one.high)))


def _apart(scores: Sequence[Sequence[float]]) -> set[frozenset[int]]:
    """Return the pairs of runs, by number, that the tasks tell apart."""
    pairs = list(combinations(range(len(scores)), 2))
    found = [
        chance_of([one - two for one, two in zip(scores[left], scores[right], strict=True)])
        for left, right in pairs
    ]
    return {frozenset(pair) for pair, chance in zip(pairs, holm(found), strict=True) if chance <= 1 - LEVEL}


CHANCE = 0.8
_SURE = 2 * (1 - NormalDist().cdf(NormalDist().inv_cdf((1 + LEVEL) / 2) + NormalDist().inv_cdf(CHANCE)))
"""p of the differences that a sample has on average, where 80 % of samples have 5 % or less."""
_TYPES = 40
_MOST_TASKS = 1_000_000
_MOST_ATTEMPTS = 1_000
METHOD = f"by the interval of the difference at {LEVEL:.0%}, seen with a chance of {CHANCE:.0%}".replace("%", " %")


class Power(Record):
    """What it takes until a difference shows. Scores are shares of 1."""

    difference: float = Field(description="the one that should show")
    deviation: float = Field(description="standard deviation of the differences between paired tasks")
    tasks: int = Field(description="pairs at hand")
    detectable: float | None = Field(
        description="the smallest difference that shows with the tasks at hand; None: not even the largest does"
    )
    tasks_needed: int = Field(description="with as many attempts as there are")
    attempts: float = Field(description="at a task in each run, on average, at hand")
    attempts_needed: int | None = Field(
        description="at each task in both runs, with the tasks at hand; None: no number is enough, or unknown"
    )
    attempts_known: bool = Field(description="whether some task has several attempts, to tell how they differ")
    method: str = METHOD


def power(pairs: Sequence[tuple[Sequence[float], Sequence[float]]], difference: float) -> Power | None:
    """Return what it takes to see *difference*, a share of 1, by tasks with their attempts' scores in both runs.

    None where fewer than two tasks are paired.
    """
    if len(pairs) < LEAST_TASKS:
        return None
    differences = [fmean(other) - fmean(base) for base, other in pairs]
    spread = _typical(differences)
    sizes = [len(scores) for pair in pairs for scores in pair]
    return Power(
        difference=difference,
        deviation=math.sqrt(variance(differences)),
        tasks=len(pairs),
        detectable=_detectable(spread, len(pairs)),
        tasks_needed=max(_least(lambda tasks: _shows(spread, difference, tasks), _MOST_TASKS), LEAST_TASKS),
        attempts=fmean(sizes),
        attempts_needed=_attempts(pairs, spread, difference),
        attempts_known=any(size > 1 for size in sizes),
    )


def _typical(differences: Sequence[float]) -> list[float]:
    """Return how far from their mean differences lie: at most `_TYPES`, each the mean of as many neighbours."""
    mean, ordered, types = fmean(differences), sorted(differences), min(len(differences), _TYPES)
    ends = [len(ordered) * number // types for number in range(types + 1)]
    return [fmean(ordered[start:end]) - mean for start, end in pairwise(ends)]


def _shows(spread: Sequence[float], difference: float, tasks: float) -> bool:
    return chance_of([difference + one for one in spread], tasks) <= _SURE


def _least(enough: Callable[[int], bool], most: int) -> int:
    """Return the least whole number that is *enough*, up to *most*."""
    low, high = 0, 1
    while high < most and not enough(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return min(high, most)


def _detectable(spread: Sequence[float], tasks: int) -> float | None:
    """Return the difference for which the tasks at hand are enough, to a tenth of a point."""
    found = _least(lambda thousandths: _shows(spread, thousandths / 1000, tasks), 1000) / 1000
    return found if _shows(spread, found, tasks) else None


def _attempts(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], spread: Sequence[float], difference: float
) -> int | None:
    """Return how many attempts at each task of both runs are enough with these tasks."""
    base = within_variance([scores for scores, _ in pairs])
    other = within_variance([scores for _, scores in pairs])
    seen = variance(fmean(right) - fmean(left) for left, right in pairs)
    if base is None or other is None or not seen:
        return None
    steady = max(seen - fmean(base / len(left) + other / len(right) for left, right in pairs), 0.0)

    def enough(attempts: int) -> bool:
        factor = math.sqrt((steady + (base + other) / attempts) / seen)
        return _shows([factor * one for one in spread], difference, len(pairs))

    return _least(enough, _MOST_ATTEMPTS) if enough(_MOST_ATTEMPTS) else None
