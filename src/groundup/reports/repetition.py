"""What several attempts at each task tell: the best of k, all of k, and how much attempts differ. Pure.

Estimates draw k of a task's n attempts without replacement, so they have no bias (Hoeffding (1948), "A class of
statistics with asymptotically normal distribution").
"""

import math
from collections.abc import Collection, Sequence

from pydantic import Field

from groundup.domain.records import Record


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
