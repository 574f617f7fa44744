"""How much data a difference takes: against the exact test of scipy and by simulation."""

import math

import numpy as np
import pytest

from groundup.reports.formats import ShownComparison
from groundup.reports.intervals import chance_of
from groundup.reports.statistics import power
from groundup.reports.summary import report_run, side_by_side
from tests.effort import often
from tests.reports.made import Word, run_of


def single(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[tuple[list[float], list[float]]]:
    """Return pairs of single attempts that differ by *values*."""
    return [([0.0], [float(value)]) for value in values]


@pytest.mark.parametrize("difference", [0.1, 0.2])
def test_so_many_tasks_see_the_difference_four_times_in_five(difference: float) -> None:
    """By simulation: of samples of as many tasks as it names, 80 % have an interval that leaves out 0."""
    generator = np.random.default_rng(5)
    found = power(single(generator.normal(0, 0.3, size=400)), difference)
    assert found is not None
    samples = often(60)
    seen = sum(
        chance_of(generator.normal(difference, found.deviation, size=found.tasks_needed).tolist()) <= 0.05
        for _ in range(samples)
    )
    assert 0.65 <= seen / samples <= 0.95


def test_tasks_that_differ_alike_need_as_many_as_a_hand_counts() -> None:
    """All by half a point: p is (1 / 1.5)^n, and 80 % of samples need p of 0.0051: 13.02 tasks."""
    found = power([([0.0], [0.5]), ([0.5], [1.0])], 0.5)
    assert found is not None
    assert found.tasks_needed == 14
    assert found.detectable is None, "two tasks show nothing"
    assert found.deviation == 0


def test_the_detectable_difference_is_the_one_for_which_the_tasks_are_enough() -> None:
    """Asked for what 50 tasks can show, to a tenth of a point, the answer is 50 tasks or just fewer."""
    pairs = single(np.random.default_rng(6).normal(0, 0.3, size=50))
    first = power(pairs, 0.05)
    assert first is not None
    assert first.detectable is not None
    again, less = power(pairs, first.detectable), power(pairs, first.detectable - 0.001)
    assert again is not None
    assert less is not None
    assert again.tasks_needed <= 50 < less.tasks_needed


def test_so_many_attempts_reach_the_power_by_simulation() -> None:
    """With 100 tasks and a deviation of 0.3 between attempts, the number it names sees 6 points 4 times in 5."""
    generator = np.random.default_rng(7)
    tasks, steady, noise, difference = 100, 0.05, 0.3, 0.06
    true = generator.normal(0, steady, size=tasks)
    pairs = [
        (list(generator.normal(0, noise, size=8)), list(generator.normal(mean, noise, size=8))) for mean in true
    ]
    found = power(pairs, difference)
    assert found is not None
    attempts = found.attempts_needed
    assert attempts is not None
    samples = often(60)
    deviation = math.sqrt(steady**2 + 2 * noise**2 / attempts)
    seen = sum(
        chance_of(generator.normal(difference, deviation, size=tasks).tolist()) <= 0.05 for _ in range(samples)
    )
    assert seen / samples >= 0.65


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


def test_nothing_is_known_of_one_pair() -> None:
    """No figure rather than one of no width."""
    assert power([([0.0], [1.0])], 0.1) is None
