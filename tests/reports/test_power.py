"""How much data a difference takes: against the exact test of scipy and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from groundup.reports.formats import ShownComparison
from groundup.reports.statistics import power
from groundup.reports.summary import report_run, side_by_side
from tests.reports.made import Word, run_of


def single(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[tuple[list[float], list[float]]]:
    """Return pairs of single attempts that differ by *values*."""
    return [([0.0], [float(value)]) for value in values]


@pytest.mark.parametrize("difference", [0.02, 0.05, 0.2, 0.4])
def test_so_many_tasks_have_the_power_of_the_exact_test(difference: float) -> None:
    """The noncentral t of scipy gives 80 % or little more, and the task before gives less than 81 %."""
    found = power(single(np.random.default_rng(5).normal(0, 0.3, size=50)), difference)
    assert found is not None

    def exact(tasks: int) -> float:
        shift = difference / found.deviation * math.sqrt(tasks)
        bound = stats.t.ppf(0.975, tasks - 1)
        return float(stats.nct.sf(bound, tasks - 1, shift) + stats.nct.cdf(-bound, tasks - 1, shift))

    assert exact(found.tasks_needed) >= 0.79
    assert exact(found.tasks_needed - 1) < 0.81


def test_the_detectable_difference_is_the_one_for_which_the_tasks_are_enough() -> None:
    """Asked for what 50 tasks can show, the answer is 50 tasks."""
    pairs = single(np.random.default_rng(6).normal(0, 0.3, size=50))
    first = power(pairs, 0.05)
    assert first is not None
    again = power(pairs, first.detectable + 1e-9)
    assert again is not None
    assert again.tasks_needed == 50


def test_so_many_attempts_reach_the_power_by_simulation() -> None:
    """With 100 tasks and a deviation of 0.3 between attempts, the number it names sees 6 points 4 times in 5."""
    generator = np.random.default_rng(7)
    tasks, steady, noise, difference = 100, 0.1, 0.3, 0.06
    # Many tasks pin the variances down; the answer for 100 tasks is then the true one.
    true = generator.normal(0, steady, size=20_000)
    pairs = [
        (list(generator.normal(0, noise, size=2)), list(generator.normal(mean, noise, size=2))) for mean in true
    ]
    found = power(pairs, difference * math.sqrt(tasks / 20_000))
    assert found is not None
    attempts = found.attempts_needed
    assert attempts is not None
    samples = 4_000
    means = generator.normal(difference, steady, size=(samples, tasks))
    means += generator.normal(0, noise * math.sqrt(2 / attempts), size=(samples, tasks))
    seen = np.asarray(stats.ttest_1samp(means, 0, axis=1).pvalue) < 0.05
    assert 0.78 <= seen.mean() <= 0.86  # attempts are whole numbers, so a little more than 80 %


def test_no_number_of_attempts_replaces_tasks() -> None:
    """Where tasks differ by themselves, attempts at few of them never show a small difference."""
    found = power([([0.0, 0.1], [value, value + 0.1]) for value in (0.0, 0.5, -0.5, 0.3)], 0.01)
    assert found is not None
    assert found.attempts_known
    assert found.attempts_needed is None
    assert found.tasks_needed > 10_000


def test_without_several_attempts_their_number_is_unknown() -> None:
    """One attempt each tells how many tasks, and says that it cannot tell how many attempts."""
    words: list[dict[str, list[Word]]] = [
        {f"t{task}": [(task * step % 5, 4 + task)] for task in range(9)} for step in (1, 2)
    ]
    runs = [report_run(*run_of(name, one)) for name, one in zip("ab", words, strict=True)]
    made = ShownComparison.of(side_by_side(runs, 0.05))
    (found,) = made.comparisons
    assert found.power is not None
    assert not found.power.attempts_known
    text = made.markdown()
    assert "until a difference of 5.0 points shows" in text
    assert f"| tasks | 9 | {found.power.tasks_needed} |" in text
    assert "unknown with one attempt" in text
    assert side_by_side(runs).comparisons[0].power is None


def test_nothing_is_known_of_one_pair_or_of_differences_that_are_alike() -> None:
    """No figure rather than one of no width."""
    assert power([([0.0], [1.0])], 0.1) is None
    assert power([([0.0], [0.5]), ([0.5], [1.0])], 0.1) is None
