"""How likely a difference is by chance alone, and how sure a mean is."""

import numpy as np
import pytest
from scipy import stats

from groundup.reports.statistics import holm, sign_flips, standard_error, subset_sums, subsets


@pytest.mark.parametrize("tasks", [1, 7, 8, 9, 20, 97])
def test_sums_of_subsets_are_those_of_their_bits(tasks: int) -> None:
    """Tables of eight give what adding one by one does."""
    values = np.random.default_rng(tasks).normal(size=tasks)
    drawn = subsets(tasks, 50)
    for subset, found in zip(drawn, subset_sums(values.tolist(), drawn), strict=True):
        bits = np.unpackbits(np.frombuffer(subset, dtype=np.uint8), bitorder="little")[:tasks]
        assert found == pytest.approx(float(bits @ values))


def test_the_standard_error_is_that_of_scipy() -> None:
    """With one value for each task."""
    values = np.random.default_rng(5).uniform(size=30)
    assert standard_error([[value] for value in values.tolist()]) == pytest.approx(float(stats.sem(values)))
    assert standard_error([[0.5]]) is None


def test_holm_s_correction_by_hand() -> None:
    """The lowest of three is multiplied by three, the next by two, and none gets below one before it."""
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9]) == [0.9]
    assert holm([]) == []


@pytest.mark.parametrize("size", [5, 11])
def test_sign_flips_are_those_of_scipy(size: int) -> None:
    """All signs are tried, so both permutation tests are exact."""
    values = np.random.default_rng(size).normal(0.2, 0.4, size=size)
    other = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=2**size)
    assert sign_flips(list(values)) == pytest.approx(float(other.pvalue), abs=1e-9)


def test_a_single_pair_says_nothing_of_chance() -> None:
    """One difference is as likely as its opposite; two have a p, which never reaches 5 %."""
    assert sign_flips([0.5]) is None
    assert sign_flips([0.0, 0.0]) is None
    assert sign_flips([0.5, 0.5]) == 0.5


def test_tasks_are_drawn_and_not_attempts() -> None:
    """Ten attempts that always agree within their task say no more than one attempt each."""
    assert standard_error([[0.0], [1.0]] * 4) == standard_error([[0.0] * 10, [1.0] * 10] * 4)
