"""How sure a figure is: 95 % intervals for shares and means. Deterministic; numpy loads when asked for."""

import math
from collections.abc import Sequence

from pydantic import Field

from groundup.domain.records import Record

LEVEL = 0.95
RESAMPLES = 10_000
SEED = 20261121
MANY_TASKS = 2000
"""From here on tasks are drawn by how often each distinct result comes up."""
WILSON = "Wilson"
EXACT_FLIPS = 12
"""Up to so many pairs that differ, all their signs are tried."""
SIGN_FLIPS = f"sign flips: all of them up to {EXACT_FLIPS} pairs that differ, else {RESAMPLES}, seed {SEED}"
BOOTSTRAP = f"percentile bootstrap over tasks, {RESAMPLES} resamples, seed {SEED}"


class Interval(Record):
    """Where the true figure lies with 95 % confidence, if the tasks are a sample of such tasks."""

    low: float
    high: float
    level: float = LEVEL
    method: str = Field(description="how it was computed")


def wilson(successes: int, trials: int) -> Interval | None:
    """Return Wilson's score interval of a share; None for fewer than two trials, of which it says nothing.

    Wilson, E. B. (1927), "Probable inference, the law of succession, and statistical inference".
    """
    if trials < 2:
        return None
    z = 1.959963984540054  # the normal distribution's 97.5 % quantile
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    # At 0 and at all, one end is exact; rounding must not push it over.
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == trials else (centre + spread) / scale
    return Interval(low=low, high=high, method=WILSON)


def bootstrap(groups: Sequence[Sequence[float]]) -> Interval | None:
    """Return the interval of the mean of all values, drawing whole groups (a task's attempts) with replacement.

    None for fewer than two groups, and when all groups are alike: resampling then says nothing.
    """
    groups = [group for group in groups if group]
    if len(groups) < 2 or len({(sum(group), len(group)) for group in groups}) == 1:
        return None
    import numpy as np

    pairs = [(math.fsum(group), len(group)) for group in groups]
    generator = np.random.default_rng(SEED)
    distinct, often = np.array(pairs), None
    if len(groups) > MANY_TASKS:
        # How often each distinct task is drawn has the same distribution, and few of so many are distinct.
        distinct, often = np.unique(distinct, axis=0, return_counts=True)
    means = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, 1000):  # in pieces: 600 tasks would need 50 MB at once
        if often is None:
            picks = generator.integers(0, len(groups), size=(1000, len(groups)))
            sums, counts = distinct[picks, 0].sum(axis=1), distinct[picks, 1].sum(axis=1)
        else:
            times = generator.multinomial(len(groups), often / len(groups), size=1000)
            sums, counts = times @ distinct[:, 0], times @ distinct[:, 1]
        means[start : start + 1000] = sums / counts
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(low=float(low), high=float(high), method=BOOTSTRAP)


def sign_flips(differences: Sequence[float]) -> float | None:
    """Return how often chance alone makes a mean difference at least as large: a two-sided permutation test.

    Without an effect, each pair's difference is as likely as its opposite. None when no pair differs, and for one
    pair alone, of which it says nothing.
    """
    differing = [value for value in differences if value]
    if not differing or len(differences) < 2:
        return None
    import numpy as np

    values = np.array(differing)
    seen = abs(values.sum()) * (1 - 1e-12)  # sums in another order differ by rounding
    if len(differing) <= EXACT_FLIPS:
        numbers = np.arange(2 ** len(differing))[:, None]
        signs = 1 - 2 * ((numbers >> np.arange(len(differing))) & 1)
        return float((np.abs(signs @ values) >= seen).mean())
    signs = np.random.default_rng(SEED).choice((-1, 1), size=(RESAMPLES, len(differing)))
    return float((1 + (np.abs(signs @ values) >= seen).sum()) / (1 + RESAMPLES))
