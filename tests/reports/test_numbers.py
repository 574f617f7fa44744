"""Figures as people read them."""

import pytest

from groundup.reports.intervals import Interval
from groundup.reports.numbers import around, between, chance, points, signed, words


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "-"),
        (0.0, "< 0.001"),
        (0.0009, "< 0.001"),
        (0.001, "0.001"),
        (0.0494, "0.049"),
        (0.0496, "0.0496"),
        (0.0504, "0.0504"),
        (0.0506, "0.051"),
        (0.5, "0.500"),
    ],
)
def test_a_chance_has_a_digit_more_around_5_percent(value: float | None, said: str) -> None:
    """Where three would hide on which side it is."""
    assert chance(value) == said


def test_differences_and_intervals() -> None:
    """Differences in points with a sign, shares in percent without; nothing for an interval that is not there."""
    interval = Interval(low=-0.0521, high=0.25, method="m")
    assert points(0.1234) == "12.3 points"
    assert signed(0.1, None) == "+10.0 points"
    assert signed(-0.1, interval) == "-10.0 points [-5.2, +25.0]"
    assert (around(None), between(None)) == ("", "")
    assert between(interval.but(low=0.0521)) == " [5.2 %, 25.0 %]"


def test_names_of_scores() -> None:
    """Known ones have words of their own."""
    names = ("of_declared", "port_in_time", "api_coverage", "f1", "one_two_three")
    assert list(map(words, names)) == [
        "share of the declared tests",
        "port open in time",
        "API coverage",
        "F1",
        "one two three",
    ]
