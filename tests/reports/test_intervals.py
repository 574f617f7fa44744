"""How sure a figure is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from groundup.reports import statistics
from groundup.reports.statistics import bootstrap, sign_flips, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (2, 2, 0.3424, 1.0),
        (81, 263, 0.2553, 0.3662),  # the example of Newcombe (1998), table I
    ],
)
def test_wilson_s_interval(successes: int, trials: int, low: float, high: float) -> None:
    """The values of the published formula, and no rounding beyond 0 and 1."""
    found = wilson(successes, trials)
    assert found is not None
    assert [found.low, found.high] == pytest.approx([low, high], abs=1e-4)
    assert 0 <= found.low <= found.high <= 1


def test_one_task_has_neither_interval_nor_p() -> None:
    """Nothing is known of a share of nothing, and one task says nothing of others."""
    assert wilson(0, 0) is None
    assert wilson(1, 1) is None
    assert bootstrap([[0.5, 1.0]]) is None
    assert sign_flips([0.5]) is None
    assert sign_flips([0.5, 0.0]) is not None


def test_the_bootstrap_of_two_values() -> None:
    """0 and 1 drawn twice give 0 in a quarter of the cases and 1 in another: both ends are inside 95 %."""
    found = bootstrap([[0.0], [1.0]])
    assert found is not None
    assert (found.low, found.high) == (0.0, 1.0)


def test_the_bootstrap_of_a_share_comes_near_the_binomial() -> None:
    """50 of 100: the binomial's 2.5 % and 97.5 % quantiles are 40 and 60."""
    found = bootstrap([[float(number % 2)] for number in range(100)])
    assert found is not None
    assert [found.low, found.high] == pytest.approx([0.40, 0.60], abs=0.011)


def test_the_bootstrap_draws_tasks_and_not_attempts() -> None:
    """Ten attempts that always agree within their task say no more than one attempt each."""
    single = bootstrap([[0.0], [1.0], [0.0], [1.0]])
    repeated = bootstrap([[0.0] * 10, [1.0] * 10, [0.0] * 10, [1.0] * 10])
    assert single is not None
    assert repeated is not None
    assert (single.low, single.high) == (repeated.low, repeated.high)


@pytest.mark.parametrize("groups", [[], [[0.5]], [[0.5], []], [[1.0], [1.0], [1.0]]])
def test_what_resampling_cannot_tell_has_no_interval(groups: list[list[float]]) -> None:
    """One task, or tasks that are all alike, would give an interval of no width: there is none instead."""
    assert bootstrap(groups) is None


@given(groups=st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=3), min_size=2, max_size=6))
@settings(max_examples=25, deadline=None)
def test_the_bootstrap_is_the_same_each_time_and_stays_in_range(groups: list[list[float]]) -> None:
    """A report can be made again, number for number."""
    first, second = bootstrap(groups), bootstrap(groups)
    assert first == second
    if first is not None:
        values = [value for group in groups for value in group]
        assert min(values) - 1e-9 <= first.low <= first.high <= max(values) + 1e-9


def test_many_tasks_have_the_same_interval_by_a_quicker_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing how often each distinct result comes up changes how long it takes, not what is found."""
    groups = [[number % 11 / 10, float(number % 3 == 0)] for number in range(400)]
    slow = bootstrap(groups)
    monkeypatch.setattr(statistics, "MANY_TASKS", 10)
    quick = bootstrap(groups)
    assert slow is not None
    assert quick is not None
    assert (quick.low, quick.high) == pytest.approx((slow.low, slow.high), abs=2e-3)


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (1, 2), (7, 30), (104, 104), (50, 400)])
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


@pytest.mark.parametrize(("tasks", "attempts", "least"), [(30, 1, 0.88), (104, 1, 0.92)])
def test_the_bootstrap_covers_the_true_mean(tasks: int, attempts: int, least: float) -> None:
    """Of scores as suites have them: many zeros, many full ones, and what is between. Few tasks cover less."""
    generator = np.random.default_rng(11)
    samples, held = 200, 0
    for _ in range(samples):
        easy = generator.beta(0.6, 0.6, size=tasks)  # mean 0.5
        scores = generator.binomial(10, easy[:, None], size=(tasks, attempts)) / 10
        found = bootstrap(scores.tolist())
        assert found
        held += found.low <= 0.5 <= found.high
    assert held / samples >= least
