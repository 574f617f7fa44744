"""Statistics of scores: differences, repeated attempts, ranks, and how much data a comparison needs. Pure.

The best and the worst of k attempts: estimates draw k of a task's n attempts without replacement, so they have no
bias (Hoeffding (1948), "A class of statistics with asymptotically normal distribution").

How much data a comparison needs: normal approximation of the paired test, two-sided at 5 %, with a chance of 80 %
to see the difference. Miller (2024), "Adding Error Bars to Evals: A Statistical Approach to Language Model
Evaluations", 5: the mean of n paired tasks has the variance (w + a/k + b/m) / n, where w is the variance of the
tasks' true differences, and a and b are the variances between the k and m attempts at one task.

The permutation test by signs is made of sums over subsets of tasks. If two runs do not differ, a difference is as
likely as its opposite. Flipping the signs of some differences makes the mean at least as large exactly where the
mean of the flipped ones is not above 0, so a list of subset means gives p. Hartigan (1969), "Using subsample
values as typical values"; Fisher (1935), "The Design of Experiments", 21.
"""

import math
import random
from collections.abc import Collection, Mapping, Sequence
from operator import getitem
from statistics import NormalDist, fmean, variance

from pydantic import Field

from groundup.domain.records import Record
from groundup.reports.intervals import LEAST_TASKS, LEVEL

DRAWS = 10_000
ALL_SUBSETS = 13
"""Up to so many tasks, every subset is taken."""
SEED = 20261121


def subsets(tasks: int, draws: int = DRAWS) -> list[bytes]:
    """Return subsets of *tasks* numbered tasks, as bits: all but the empty one, or *draws* at random."""
    size = (tasks + 7) // 8
    if tasks <= ALL_SUBSETS:
        return [number.to_bytes(size, "little") for number in range(1, 2**tasks)]
    generator = random.Random(SEED)  # noqa: S311 (repeatable, and nothing secret)
    return [generator.randbytes(size) for _ in range(draws)]


def subset_sums(values: Sequence[float], drawn: Sequence[bytes]) -> list[float]:
    """Return the sum of the *values* in each subset. One look into a table per eight values and subset."""
    tables = [_all_sums(values[start : start + 8]) for start in range(0, len(values), 8)]
    return [sum(map(getitem, tables, subset)) for subset in drawn]


def _all_sums(values: Sequence[float]) -> list[float]:
    """Return the sum for each byte, whose bits say which of up to eight values are in; bits beyond say nothing."""
    sums = [0.0]
    for value in values:
        sums += [known + value for known in sums]
    return sums * (256 // len(sums))


SIGN_FLIPS = f"permutation test over tasks by signs: all up to {ALL_SUBSETS} tasks, else {DRAWS} by seed {SEED}"


def _subset_means(groups: Sequence[Sequence[float]]) -> list[float]:
    drawn = subsets(len(groups))
    sums = subset_sums([math.fsum(group) for group in groups], drawn)
    counts = subset_sums([float(len(group)) for group in groups], drawn)
    return [total / count for total, count in zip(sums, counts, strict=True) if count]


def sign_flips(differences: Sequence[float]) -> float | None:
    """Return how often chance alone makes a mean difference at least as large: a two-sided permutation test.

    None when no pair differs, and for one pair alone, of which it says nothing.
    """
    if not any(differences) or len(differences) < 2:
        return None
    means = _subset_means([[value] for value in differences])
    rounding = 1e-12 * max(map(abs, differences))
    # The signs as they were (the empty subset) count, too, so that no p-value is 0.
    fewer = min(sum(mean <= rounding for mean in means), sum(mean >= -rounding for mean in means))
    return min(2 * (1 + fewer) / (1 + len(means)), 1.0)


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


RANKS = f"runs apart from this one with p of at most 5 %, corrected for several (Holm); {SIGN_FLIPS}"
_LEAST_TASKS = 2
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
    has p of at most 5 %, corrected for several. Ranks from such tests: Mogstad, Romano, Shaikh and Wilhelm (2024),
    "Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement across
    Countries", 3.1. Percentiles of resampled ranks, by contrast, do not cover where runs are nearly equal (Hall
    and Miller (2009), "Using the bootstrap to quantify the authority of an empirical ranking").
    """
    shared = [task for task in runs[0][1] if all(task in scores for _, scores in runs)] if runs else []
    if len(runs) < 2 or len(shared) < _LEAST_TASKS:
        return ()
    means = [fmean(scores[task] for task in shared) for _, scores in runs]
    chances = _chances([[scores[task] for task in shared] for _, scores in runs])
    made = []
    for place, (name, _) in enumerate(runs):
        leads = [mean - means[place] for number, mean in enumerate(means) if number != place]
        sure = [lead for lead, chance in zip(leads, holm(chances[place]), strict=True) if chance <= 1 - LEVEL]
        made.append(
            Rank(
                run=name,
                tasks=len(shared),
                score=means[place],
                rank=1 + sum(lead > _ROUNDING for lead in leads),
                low=1 + sum(lead > 0 for lead in sure),
                high=len(runs) - sum(lead < 0 for lead in sure),
                method=FEW if len(shared) < LEAST_TASKS else RANKS,
            )
        )
    return tuple(sorted(made, key=lambda one: (one.rank, one.low, one.high)))


def _chances(scores: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return for each run the p-values of its differences from all others, in their order."""
    chances: list[list[float]] = [[] for _ in scores]
    for place, own in enumerate(scores):
        for number, other in enumerate(scores[:place]):
            found = sign_flips([one - two for one, two in zip(own, other, strict=True)])
            chances[place].append(1.0 if found is None else found)
            chances[number].append(chances[place][-1])
    return chances


CHANCE = 0.8
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
