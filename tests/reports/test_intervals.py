"""How sure a figure is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
