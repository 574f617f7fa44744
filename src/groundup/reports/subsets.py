"""Sums over subsets of tasks: what intervals and tests of means are made of. Pure.

Without an effect, a difference is as likely as its opposite. Flipping the signs of some differences makes the mean
at least as large exactly where the mean of the flipped ones is not above 0; so one list of subset means gives the
permutation test by signs, and, as the effects that this test does not refuse, the interval. The two always agree.
Hartigan (1969), "Using subsample values as typical values"; Fisher (1935), "The Design of Experiments", 21.
"""

import random
from collections.abc import Sequence
from operator import getitem

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
