"""How sure a mean of scores is: intervals that hold the truth."""

import numpy as np
import pytest
from benchmarks.intervals import FALSE_CLAIMS, POPULATIONS, claims, coverage
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from groundup.reports.intervals import CLOPPER_PEARSON, GAFFKE, difference_interval, mean_interval
from tests.effort import often


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (8, 10, 0.4439, 0.9748),
        (0, 10, 0.0, 0.3085),
        (8, 8, 0.6306, 1.0),  # 0.025 to the power of 1/8
        (81, 263, 0.2527, 0.3676),  # the example of Newcombe (1998), table I
    ],
)
def test_the_interval_of_a_share(successes: int, trials: int, low: float, high: float) -> None:
    """The published limits of Clopper and Pearson, and no rounding beyond 0 and 1."""
    found = mean_interval([1.0] * successes + [0.0] * (trials - successes))
    assert found is not None
    assert [found.low, found.high] == pytest.approx([low, high], abs=1e-4)
    assert 0 <= found.low <= found.high <= 1
    assert found.method == CLOPPER_PEARSON


@pytest.mark.parametrize(("successes", "trials"), [(0, 6), (1, 12), (7, 30), (104, 104), (50, 400)])
def test_the_interval_of_a_share_is_that_of_scipy(successes: int, trials: int) -> None:
    """An implementation of others gives the same ends."""
    found = mean_interval([1.0] * successes + [0.0] * (trials - successes))
    other = stats.binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert found
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=1e-6)


@pytest.mark.parametrize("tasks", [6, 9, 40])
def test_ends_are_the_quantiles_of_the_weighted_mean(tasks: int) -> None:
    """By simulation: with one value more at the bound, 2.5 % of the means weighted by spacings lie beyond."""
    generator = np.random.default_rng(tasks)
    values = generator.beta(0.6, 0.6, size=tasks)
    weights = generator.dirichlet(np.ones(tasks + 1), size=100_000)
    found = mean_interval(values.tolist())
    assert found
    assert (weights @ [*values, 1.0] > found.high).mean() == pytest.approx(0.025, abs=0.002)
    assert (weights @ [*values, 0.0] < found.low).mean() == pytest.approx(0.025, abs=0.002)
    assert found.method == GAFFKE


def test_few_tasks_have_no_interval() -> None:
    """Fewer than six would span half of what is possible."""
    assert mean_interval([0.0, 1.0, 0.2, 0.3, 0.4]) is None
    assert mean_interval([0.0, 1.0, 0.2, 0.3, 0.4, 0.5])


@pytest.mark.parametrize("score", [0.0, 0.4, 1.0])
def test_tasks_that_are_alike_have_an_interval(score: float) -> None:
    """Eight full tasks do not show that every task is full: a run at 100 % has an interval, too."""
    found = mean_interval([score] * 8)
    assert found
    assert found.low <= score <= found.high
    assert found.high - found.low > 0.3


def test_runs_that_never_differed_may_still_differ_elsewhere() -> None:
    """Eight equal tasks leave room for a difference either way, alike."""
    found = difference_interval([0.0] * 8)
    assert found
    assert found.low == pytest.approx(-found.high)
    assert 0.3 < found.high < 0.4  # (1 - 0.05 to the power of 1/8) is 0.312


@given(values=st.lists(st.floats(0, 1), min_size=6, max_size=40))
@settings(max_examples=often(50), deadline=None)
def test_an_interval_is_the_same_each_time_and_stays_in_range(values: list[float]) -> None:
    """A report can be made again, number for number; the mean lies within, however close values lie."""
    first, second = mean_interval(values), mean_interval(values)
    assert first == second
    assert first
    mean = sum(values) / len(values)
    assert -1e-9 <= first.low <= mean + 1e-6
    assert mean - 1e-6 <= first.high <= 1 + 1e-9


@given(differences=st.lists(st.sampled_from([-1.0, -0.1, 0.0, 0.2, 1 / 3]), min_size=6, max_size=18))
@settings(max_examples=often(50), deadline=None)
def test_the_opposite_difference_has_the_opposite_interval(differences: list[float]) -> None:
    """B against A says what A against B does."""
    one = difference_interval(differences)
    other = difference_interval([-value for value in differences])
    assert one
    assert other
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-6)


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize(("tasks", "attempts"), [(8, 1), (20, 3)])
def test_intervals_hold_the_truth_in_every_population(population: str, tasks: int, attempts: int) -> None:
    """The gate of `benchmarks/intervals.py` with fewer draws: 94 % less what 80 draws explain."""
    held, _ = coverage(population, tasks, attempts, draws=80, seed=1)
    assert min(held.values()) >= 0.9


@pytest.mark.parametrize("population", POPULATIONS)
def test_runs_that_do_not_differ_seldom_seem_to(population: str) -> None:
    """By p and by rank at most 6 %, and what 100 draws explain."""
    claimed = claims(population, tasks=12, attempts=1, draws=100, seed=1)
    assert max(claimed[name] for name in FALSE_CLAIMS) <= 0.08
