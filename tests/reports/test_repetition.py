"""Several attempts at each task: formulas against enumeration and simulation."""

import itertools
import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.reports.repetition import noise_of
from groundup.reports.statistics import all_of, best_of, one_of, spread, within_variance
from tests.effort import often


@given(scores=st.lists(st.floats(0, 1), min_size=1, max_size=7), data=st.data())
@settings(max_examples=often(40), deadline=None)
def test_the_best_of_k_is_the_mean_over_all_draws(scores: list[float], data: st.DataObject) -> None:
    """Every draw of k attempts enters once, ties or not."""
    k = data.draw(st.integers(1, len(scores)))
    draws = [max(draw) for draw in itertools.combinations(scores, k)]
    assert best_of(scores, k) == pytest.approx(fmean(draws))


@pytest.mark.parametrize(("successes", "attempts"), [(0, 5), (2, 5), (5, 5), (1, 1)])
def test_one_and_all_of_k_are_shares_of_draws(successes: int, attempts: int) -> None:
    """For attempts that are solved or not, the best of k is pass@k and the worst of k is pass^k."""
    values = [1.0] * successes + [0.0] * (attempts - successes)
    for k in range(1, attempts + 1):
        draws = list(itertools.combinations(values, k))
        assert one_of(successes, attempts, k) == pytest.approx(fmean(max(draw) for draw in draws))
        assert all_of(successes, attempts, k) == pytest.approx(fmean(min(draw) for draw in draws))
        assert best_of(values, k) == pytest.approx(one_of(successes, attempts, k))


def test_the_estimates_have_no_bias() -> None:
    """Over many samples of five attempts, the means are the true chances of three attempts."""
    generator = np.random.default_rng(1)
    successes = generator.binomial(5, 0.6, size=20_000)
    assert fmean(one_of(int(c), 5, 3) for c in successes) == pytest.approx(1 - 0.4**3, abs=0.005)
    assert fmean(all_of(int(c), 5, 3) for c in successes) == pytest.approx(0.6**3, abs=0.005)
    uniform = generator.uniform(size=(4_000, 5))
    assert fmean(best_of(list(row), 3) for row in uniform.tolist()) == pytest.approx(3 / 4, abs=0.005)


def test_variances_are_found_again() -> None:
    """Attempts with a deviation of 0.1 around tasks with one of 0.2, in groups of two to four."""
    generator = np.random.default_rng(2)
    tasks = generator.normal(0.5, 0.2, size=3_000)
    groups = [list(generator.normal(mean, 0.1, size=2 + number % 3)) for number, mean in enumerate(tasks)]
    found = spread(groups)
    assert found is not None
    assert (found.within, found.between) == pytest.approx((0.1, 0.2), rel=0.03)
    assert found.agreement == pytest.approx(0.04 / 0.05, rel=0.03)


def test_the_worked_example_of_intraclass_correlation() -> None:
    """Shrout and Fleiss (1979), table 2: six targets, four judges, ICC(1,1) = 0.17."""
    table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = spread([[float(value) for value in row] for row in table])
    assert found is not None
    assert found.agreement == pytest.approx(0.166, abs=0.001)
    assert found.within**2 == pytest.approx(6.26, abs=0.01)


def test_attempts_that_always_agree_and_tasks_that_are_alike() -> None:
    """Agreement is 1, 0, or unknown where nothing differs at all."""
    steady = spread([[1.0, 1.0], [0.0, 0.0]])
    chance = spread([[1.0, 0.0], [0.0, 1.0]])
    alike = spread([[1.0, 1.0], [1.0, 1.0]])
    assert steady is not None
    assert (steady.within, steady.agreement) == (0.0, 1.0)
    assert chance is not None
    assert (chance.between, chance.agreement) == (0.0, 0.0)
    assert chance.within == math.sqrt(0.5)
    assert alike is not None
    assert alike.agreement is None


def test_single_attempts_tell_nothing_of_spread() -> None:
    """There is no figure where no two attempts can differ."""
    assert spread([[1.0], [0.0]]) is None
    assert spread([[1.0, 0.0], [0.0]]) is None
    assert within_variance([[1.0], [0.0]]) is None


def test_the_noise_of_a_run_by_hand() -> None:
    """Two tasks with two attempts of three: variances 1/2 and 0, so a run's mean has 1/4 divided by 3."""
    values = {"a": [0.0, 1.0], "b": [1.0, 1.0], "c": [1.0]}
    found = noise_of(values, values)
    assert found
    assert (found.tasks, found.flipping) == (2, ("a",))
    expected = (0.288675, 0.408248, 0.800167)
    assert (found.deviation, found.difference, found.needed) == pytest.approx(expected, abs=1e-6)
    assert noise_of({"c": [1.0]}, {"c": [1.0]}) is None
