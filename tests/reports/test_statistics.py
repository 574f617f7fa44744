"""How likely a difference is by chance alone, and how sure a mean is."""

import numpy as np
import pytest
from scipy import stats

from groundup.reports.statistics import holm, standard_error


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


def test_tasks_are_drawn_and_not_attempts() -> None:
    """Ten attempts that always agree within their task say no more than one attempt each."""
    assert standard_error([[0.0], [1.0]] * 4) == standard_error([[0.0] * 10, [1.0] * 10] * 4)
