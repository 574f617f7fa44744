"""How sure a mean of scores is: intervals that hold the truth."""

import numpy as np
import pytest
from benchmarks.intervals import POPULATIONS, cell
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from groundup.reports.intervals import CLOPPER_PEARSON, GAFFKE, MIDWAY, chance_of, difference_of, mean_interval
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


def test_one_task_has_no_interval() -> None:
    """Of one nothing says how much tasks differ; two have Clopper and Pearson's: 0.025^(1/2) is 0.158."""
    assert mean_interval([1.0]) is None
    assert difference_of([1.0]) is None
    found = mean_interval([1.0, 1.0])
    assert found
    assert (found.low, found.high) == pytest.approx((0.158, 1.0), abs=1e-3)


@pytest.mark.parametrize("score", [0.0, 0.4, 1.0])
def test_tasks_that_are_alike_have_an_interval(score: float) -> None:
    """Eight full tasks do not show that every task is full: a run at 100 % has an interval, too."""
    found = mean_interval([score] * 8)
    assert found
    assert found.low <= score <= found.high
    assert found.high - found.low > 0.3


def test_runs_that_never_differed_may_still_differ_elsewhere() -> None:
    """Eight equal tasks leave room for a difference either way, alike."""
    compared = difference_of([0.0] * 8)
    assert compared
    assert compared.p_value == 1
    found = compared.interval
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


_DIFFERENCES = st.lists(st.sampled_from([-1.0, -0.1, 0.0, 0.2, 1 / 3]), min_size=2, max_size=18)


@given(differences=_DIFFERENCES)
@settings(max_examples=often(50), deadline=None)
def test_the_opposite_difference_has_the_opposite_interval(differences: list[float]) -> None:
    """B against A says what A against B does."""
    one, other = difference_of(differences), difference_of([-value for value in differences])
    assert one
    assert other
    assert one.p_value == pytest.approx(other.p_value, abs=1e-6)
    assert (one.interval.low, one.interval.high) == pytest.approx(
        (-other.interval.high, -other.interval.low), abs=1e-6
    )


@pytest.mark.parametrize(("tasks", "difference"), [(2, 1.0), (6, 0.5), (9, 0.5), (40, 0.1)])
def test_p_by_hand(tasks: int, difference: float) -> None:
    """Of tasks that differ alike by d, the value added at -1 weighs more than all with chance (1 / (1 + d))^n.

    Half of it is the chance of one side, and p is of both.
    """
    chance = (1 / (1 + difference)) ** tasks
    assert chance_of([difference] * tasks) == pytest.approx(chance, rel=1e-4)
    assert chance_of([-difference] * tasks) == pytest.approx(chance, rel=1e-4)
    assert chance_of([difference] * 4, tasks) == pytest.approx(chance, rel=1e-4), "four stand for more"


@given(differences=_DIFFERENCES | st.lists(st.floats(-1, 1), min_size=2, max_size=40), runs=st.integers(1, 6))
@example(differences=[0.0, 1.4e-271], runs=1)
@settings(max_examples=often(100), deadline=None)
def test_the_interval_leaves_out_0_where_p_is_low_and_nowhere_else(differences: list[float], runs: int) -> None:
    """One procedure: no reader finds a difference beside an interval that denies it, however many are compared."""
    found = difference_of(differences, runs)
    assert found
    holds = found.interval.low <= 0 <= found.interval.high
    assert holds == (found.p_value > 0.05)


def test_of_several_comparisons_each_is_wider() -> None:
    """Bonferroni: of three, p is three times as high and the interval that of 98.3 %."""
    one, three = difference_of([0.5] * 9), difference_of([0.5] * 9, 3)
    assert one
    assert three
    assert three.p_value == pytest.approx(3 * one.p_value)
    assert three.interval.level == pytest.approx(1 - 0.05 / 3)
    assert three.interval.low < 0 < one.interval.low


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("tasks", [3, 8, 20])
def test_intervals_hold_the_truth_and_equal_runs_seldom_differ(population: str, tasks: int) -> None:
    """The gate of `benchmarks/intervals.py` with fewer draws: 95 % and 6 %, less what 40 draws explain."""
    found = cell(population, tasks, draws=40, seed=1)
    assert min(found.held.values()) >= 0.85
    assert sum(found.held.values()) / len(found.held) >= 0.95
    assert found.apart["equal"] <= 0.1
    assert found.ranked <= 0.1
    assert found.contradictions == 0


SIX = [0.1, -0.2, 0.3, 0.5, 0.0, 0.25]


@pytest.mark.parametrize(
    ("scores", "low", "high", "method"),
    [
        ([0.2, 0.9, 0.5, 0.0, 1.0, 0.7], 0.21087, 0.844204, GAFFKE),
        ([0.5, 1.5, 0.2], 0.155362, 1.39245, GAFFKE),  # more points than there are
        ([0.0, 0.0], 0.0, 0.841886, CLOPPER_PEARSON),
        ([1.0, 0.0], 0.012579, 0.987421, CLOPPER_PEARSON),
        ([0.25] * 5, 0.119544, 0.641368, GAFFKE),
    ],
)
def test_intervals_of_means_number_by_number(scores: list[float], low: float, high: float, method: str) -> None:
    """A report that is made again says what it said, also where an old run held more points than there are."""
    found = mean_interval(scores)
    assert found
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-6)
    assert (found.level, found.method) == (0.95, method)


@pytest.mark.parametrize(
    ("differences", "comparisons", "low", "high", "chance"),
    [
        (SIX, 1, -0.310714, 0.508051, 0.463379),
        (SIX, 2, -0.385916, 0.561723, 0.926757),
        ([0.5] * 9, 1, 0.075307, 0.641564, 0.026012),
        ([0.5] * 9, 3, -0.048259, 0.682753, 0.078037),
        ([-0.4] * 9, 1, -0.569877, -0.00362, 0.0484),
        ([2.0, 1.5, 1.8], 1, -0.614434, 1.957047, 0.150376),
        ([-2.0, -1.5, -1.8, -1.7, -1.9, -2.0], 1, -1.934795, -0.314025, 0.020842),
        ([0.0, 0.0], 1, -0.776393, 0.776393, 1.0),
        ([1.0, -1.0, 0.5], 1, -0.770462, 0.86465, 0.777778),
    ],
)
def test_intervals_of_differences_number_by_number(
    differences: list[float], comparisons: int, low: float, high: float, chance: float
) -> None:
    """Also where an old run held more points than there are, and of several comparisons."""
    found = difference_of(differences, comparisons)
    assert found
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=2e-6)
    assert found.p_value == pytest.approx(chance, abs=2e-6)
    assert found.interval.level == pytest.approx(1 - 0.05 / comparisons)
    assert found.interval.method == MIDWAY


@pytest.mark.parametrize(
    ("differences", "tasks", "mean", "chance"),
    [
        (SIX, None, 0.0, 0.463379),
        (SIX, 12, 0.0, 0.216627),
        (SIX, None, 0.1, 0.79376),
        (SIX, 3, -0.1, 0.497352),
        ([2.0, 1.5], None, 0.0, 0.285714),
        ([2.0, 1.5], None, 1.0, 0.642857),
        ([0.3] * 3, None, 0.3, 1.0),
    ],
)
def test_chances_number_by_number(differences: list[float], tasks: int | None, mean: float, chance: float) -> None:
    """Of any mean, and of other numbers of such tasks."""
    assert chance_of(differences, tasks, mean) == pytest.approx(chance, abs=2e-6)
