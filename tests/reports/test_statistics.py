"""How likely a difference is by chance alone, and how sure a mean is."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from groundup.reports.statistics import (
    METHOD,
    RANKS,
    Power,
    Rank,
    Spread,
    all_of,
    best_of,
    holm,
    one_of,
    power,
    ranks,
    spread,
    standard_error,
    within_variance,
)


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


GROUPS = [[0, 1, 0.5], [1.0, 1.0], [0.2], [0.3, 0.4, 0.1, 0.9]]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (GROUPS, (3, 0.375832, 0.179208, 0.185247)),
        ([[1, 1], [1, 1]], (2, 0.0, 0.0, None)),
        ([[1, 0], [0, 1]], (2, 0.707107, 0.0, 0.0)),
        ([[0, 0], [1, 1]], (2, 0.0, 0.707107, 1.0)),
        ([[1, 0], [1]], None),
        ([], None),
    ],
)
def test_the_spread_by_hand(groups: list[list[float]], expected: tuple[float | None, ...] | None) -> None:
    """Tasks of one attempt do not count; where all are alike there is no agreement to speak of."""
    found = spread(groups)
    if expected is None:
        assert found is None
        return
    assert isinstance(found, Spread)
    assert found.tasks == expected[0]
    assert (found.within, found.between) == pytest.approx(expected[1:3], abs=1e-6)
    assert found.agreement == (None if expected[3] is None else pytest.approx(expected[3], abs=1e-6))


def test_errors_and_variances_by_hand() -> None:
    """Groups of different size; empty ones count for nothing."""
    assert standard_error(GROUPS) == pytest.approx(0.125857, abs=1e-6)
    assert standard_error([[1.0], [0.0]]) == 0.5
    assert standard_error([[1.0], []]) is None
    assert within_variance(GROUPS) == pytest.approx(0.14125)
    assert within_variance([[0.0, 1.0]]) == 0.5
    assert within_variance([[1.0]]) is None


def test_of_k_attempts_by_hand() -> None:
    """The best, one that succeeds, and all that do, of each number that can be drawn."""
    assert [best_of([0.2, 0.9, 0.5, 0.4], k) for k in (1, 2, 3, 4)] == pytest.approx([0.5, 4.1 / 6, 0.8, 0.9])
    assert [one_of(2, 5, k) for k in (1, 2, 4, 5)] == pytest.approx([0.4, 0.7, 1.0, 1.0])
    assert [all_of(3, 5, k) for k in (1, 2, 3, 4)] == pytest.approx([0.6, 0.3, 0.1, 0.0])


def test_places_among_four_runs() -> None:
    """By the tasks that all have; those alike share a place and stand as they were given; some cannot be told."""
    tasks = [f"t{number}" for number in range(12)]
    runs = [
        ("low", dict.fromkeys(tasks, 0.1) | {"more": 1.0}),
        ("mid", dict.fromkeys(tasks, 0.5)),
        ("high", dict.fromkeys(tasks, 0.9)),
        ("also", {task: 0.6 if number % 2 else 0.4 for number, task in enumerate(tasks)}),
    ]
    found = ranks(runs)
    assert [(one.run, one.rank, one.low, one.high) for one in found] == [
        ("high", 1, 1, 3),
        ("mid", 2, 1, 4),
        ("also", 2, 1, 4),
        ("low", 4, 2, 4),
    ]
    assert found[0] == Rank(
        run="high", tasks=12, score=found[0].score, rank=1, low=1, high=3, level=0.95, method=RANKS
    )
    assert [one.score for one in found] == pytest.approx([0.9, 0.5, 0.5, 0.1])


def test_too_little_has_no_places() -> None:
    """Two runs and two tasks that both have are the least."""
    assert ranks([]) == ()
    assert ranks([("a", {"t": 1.0, "s": 0.0})]) == ()
    assert ranks([("a", {"t": 1.0, "s": 0.0}), ("b", {"t": 0.0})]) == ()
    found = ranks([("a", {"t": 1.0, "s": 0.0}), ("b", {"s": 1.0, "t": 0.0})])
    assert [(one.run, one.rank, one.low, one.high) for one in found] == [("a", 1, 1, 2), ("b", 1, 1, 2)]


Pairs = Sequence[tuple[Sequence[float], Sequence[float]]]
FIVE: Pairs = [
    ([0.1, 0.3], [0.5, 0.4]),
    ([0.9, 0.8], [0.9, 1.0]),
    ([0.0, 0.0], [0.2, 0.6]),
    ([0.5, 0.5], [0.3, 0.3]),
    ([0.6, 0.2], [0.7, 0.7]),
]
SINGLE: Pairs = [([base[0]], [other[0]]) for base, other in FIVE]
NOISY: Pairs = [([0.0, 0.4], [0.1, 0.5]), ([0.6, 0.2], [0.7, 0.3]), ([0.9, 0.1], [0.2, 0.9]), ([0.5], [0.6])] * 10


@pytest.mark.parametrize(
    ("pairs", "difference", "expected"),
    [
        (FIVE, 0.1, (0.233452, 5, None, 71, 2.0, None, True)),
        (FIVE, 0.02, (0.233452, 5, None, 934, 2.0, None, True)),
        (SINGLE, 0.2, (0.223607, 5, None, 32, 1.0, None, False)),
        ([*FIVE] * 10, 0.1, (0.210926, 50, 0.134, 71, 2.0, None, True)),
        ([*SINGLE] * 9, 0.1, (0.20226, 45, 0.143, 68, 1.0, None, False)),
        (NOISY, 0.08, (0.021926, 40, 0.142, 69, 1.75, None, True)),
        (NOISY, 0.15, (0.021926, 40, 0.142, 38, 1.75, 16, True)),
        (NOISY, 0.02, (0.021926, 40, 0.142, 270, 1.75, None, True)),
        ([([0.5], [0.5])] * 3, 0.1, (0.0, 3, None, 56, 1.0, None, False)),
    ],
)
def test_power_number_by_number(
    pairs: Pairs, difference: float, expected: tuple[float, int, float | None, int, float, int | None, bool]
) -> None:
    """What the differences and the attempts at hand say of more tasks and of more attempts."""
    deviation, tasks, detectable, tasks_needed, attempts, attempts_needed, known = expected
    found = power(pairs, difference)
    assert found
    assert found.deviation == pytest.approx(deviation, abs=1e-6)
    assert found == Power(
        difference=difference,
        deviation=found.deviation,
        tasks=tasks,
        detectable=detectable,
        tasks_needed=tasks_needed,
        attempts=attempts,
        attempts_needed=attempts_needed,
        attempts_known=known,
        method=METHOD,
    )


def test_one_pair_has_no_power() -> None:
    """And what the method is called."""
    assert power(FIVE[:1], 0.1) is None
    assert METHOD == "by the interval of the difference at 95 %, seen with a chance of 80 %"
