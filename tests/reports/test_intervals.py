"""How sure a figure is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from groundup.reports.statistics import (
    holm,
    mean_interval,
    sign_flips,
    standard_error,
    subset_sums,
    subsets,
    wilson,
)
from tests.effort import often


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (6, 6, 0.6097, 1.0),
        (81, 263, 0.2553, 0.3662),  # the example of Newcombe (1998), table I
    ],
)
def test_wilson_s_interval(successes: int, trials: int, low: float, high: float) -> None:
    """The values of the published formula, and no rounding beyond 0 and 1."""
    found = wilson(successes, trials)
    assert found is not None
    assert [found.low, found.high] == pytest.approx([low, high], abs=1e-4)
    assert 0 <= found.low <= found.high <= 1


def test_few_tasks_have_no_interval() -> None:
    """With five tasks no signs are rarer than one in 32, which is no reason to refuse anything at 5 %."""
    assert wilson(0, 0) is None
    assert wilson(5, 5) is None
    assert wilson(6, 6)
    assert mean_interval([[0.5, 1.0]]) is None
    assert mean_interval([[0.0], [1.0], [0.2], [0.3], [0.4]]) is None
    assert mean_interval([[0.0], [1.0], [0.2], [0.3], [0.4], [0.5]])
    assert sign_flips([0.5]) is None
    assert sign_flips([0.5, 0.0]) is not None


def test_the_interval_of_six_values_by_hand() -> None:
    """Of 64 subsets, one mean may lie outside at either end: the lowest value, and the highest."""
    found = mean_interval([[float(value)] for value in range(6)])
    assert found is not None
    assert (found.low, found.high) == (0.0, 5.0)


def test_the_interval_of_a_share_comes_near_the_binomial() -> None:
    """50 of 100: the binomial's 2.5 % and 97.5 % quantiles are 40 and 60."""
    found = mean_interval([[float(number % 2)] for number in range(100)])
    assert found is not None
    assert [found.low, found.high] == pytest.approx([0.40, 0.60], abs=0.011)


def test_tasks_are_drawn_and_not_attempts() -> None:
    """Ten attempts that always agree within their task say no more than one attempt each."""
    single = mean_interval([[0.0], [1.0]] * 4)
    repeated = mean_interval([[0.0] * 10, [1.0] * 10] * 4)
    assert single is not None
    assert repeated is not None
    assert (single.low, single.high) == (repeated.low, repeated.high)
    assert standard_error([[0.0], [1.0]] * 4) == standard_error([[0.0] * 10, [1.0] * 10] * 4)


@pytest.mark.parametrize("groups", [[], [[0.5]], [[0.5], []], [[1.0]] * 7])
def test_tasks_that_are_alike_have_no_interval(groups: list[list[float]]) -> None:
    """One task, or tasks that are all alike, would give an interval of no width: there is none instead."""
    assert mean_interval(groups) is None


@given(groups=st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=3), min_size=2, max_size=16))
@settings(max_examples=25, deadline=None)
def test_an_interval_is_the_same_each_time_and_stays_in_range(groups: list[list[float]]) -> None:
    """A report can be made again, number for number."""
    first, second = mean_interval(groups), mean_interval(groups)
    assert first == second
    if first is not None:
        values = [value for group in groups for value in group]
        assert min(values) - 1e-9 <= first.low <= first.high <= max(values) + 1e-9


@given(differences=st.lists(st.sampled_from([-0.5, -0.1, 0.0, 0.1, 0.2, 1 / 3]), min_size=6, max_size=18))
@settings(max_examples=often(100), deadline=None)
def test_the_interval_and_the_test_beside_it_agree(differences: list[float]) -> None:
    """Zero lies outside of the interval exactly where p is at most 5 %."""
    found, chance = mean_interval([[value] for value in differences]), sign_flips(differences)
    if found is not None and chance is not None:
        assert (chance <= 0.05) == (not found.low - 1e-9 <= 0 <= found.high + 1e-9)


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


@pytest.mark.parametrize(("successes", "trials"), [(0, 6), (1, 12), (7, 30), (104, 104), (50, 400)])
def test_wilson_is_that_of_scipy(successes: int, trials: int) -> None:
    """An implementation of others gives the same ends."""
    found = wilson(successes, trials)
    other = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert found
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=1e-9)


@pytest.mark.parametrize("size", [5, 11])
def test_sign_flips_are_those_of_scipy(size: int) -> None:
    """All signs are tried, so both permutation tests are exact."""
    values = np.random.default_rng(size).normal(0.2, 0.4, size=size)
    other = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=2**size)
    assert sign_flips(list(values)) == pytest.approx(float(other.pvalue), abs=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("tasks", [10, 30, 104])
def test_wilson_covers_the_true_share(share: float, tasks: int) -> None:
    """Exactly: the chance of every count at which its interval holds the truth adds up to 91 % or more."""
    held = 0.0
    for successes in range(tasks + 1):
        found = wilson(successes, tasks)
        assert found
        if found.low <= share <= found.high:
            held += float(stats.binom.pmf(successes, tasks, share))
    assert held >= 0.91


def _scores(generator: np.random.Generator, tasks: int, attempts: int) -> NDArray[np.float64]:
    """Scores as suites have them: many zeros, many full ones, and what is between; their mean is 0.5."""
    easy = generator.beta(0.6, 0.6, size=tasks)
    return generator.binomial(10, easy[:, None], size=(tasks, attempts)) / 10


@pytest.mark.parametrize(("tasks", "attempts"), [(6, 1), (10, 1), (30, 3), (104, 1)])
def test_intervals_cover_the_true_mean(tasks: int, attempts: int) -> None:
    """95 % of them, by the product's own function."""
    generator = np.random.default_rng(11)
    samples, held = 200, 0
    for _ in range(samples):
        found = mean_interval(_scores(generator, tasks, attempts).tolist())
        held += found is None or found.low - 1e-9 <= 0.5 <= found.high + 1e-9
    assert held / samples >= 0.93


@pytest.mark.parametrize("tasks", [3, 6, 9, 30])
def test_two_runs_that_do_not_differ_seldom_seem_to(tasks: int) -> None:
    """At most 6 %: three tasks never do, which the bootstrap before called different in up to 23 %."""
    generator = np.random.default_rng(12)
    samples, differ = 200, 0
    for _ in range(samples):
        differences = (_scores(generator, tasks, 1) - _scores(generator, tasks, 1)).ravel().tolist()
        chance = sign_flips(differences)
        found = mean_interval([[value] for value in differences])
        outside = found is not None and not found.low - 1e-9 <= 0 <= found.high + 1e-9
        assert outside == (found is not None and chance is not None and chance <= 0.05)
        differ += outside
    assert differ / samples <= 0.07
