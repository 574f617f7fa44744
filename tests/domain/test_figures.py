"""Figures as people read them: one home for all tables, pages and messages."""

import math
from datetime import datetime, timedelta, timezone

import pytest

from groundup.domain.figures import amount, minute, money, percent, size
from groundup.domain.verdicts import (
    GraderIdentity,
    Score,
    Status,
    Verdict,
    got,
    share,
    share_alone,
    told_in_counts,
)


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (0.0, 1, "0.0 %"),
        (0.0004, 1, "<0.1 %"),
        (0.5, 1, "50.0 %"),
        (0.9996, 1, ">99.9 %"),
        (1.0, 1, "100.0 %"),
        (0.004, 0, "<1 %"),
        (0.996, 0, ">99 %"),
        (1.0, 0, "100 %"),
    ],
)
def test_all_and_nothing_are_shown_only_where_they_are_exact(value: float, digits: int, shown: str) -> None:
    """2,999 of 3,000 is not 100.0 %, in whatever table."""
    assert percent(value, digits) == shown


def test_a_score_has_its_parts_everywhere() -> None:
    """Counts without a point, sums of shares with three digits, large ones whole; 0 of 0 is no score."""
    part = Score(numerator=8 / 3, denominator=3)
    assert (str(part), part.fraction, share(part)) == ("2.667 of 3", "2.667/3", "88.9 % (2.667/3)")
    assert str(Score(numerator=1234567, denominator=2000000)) == "1234567 of 2000000"
    assert share_alone(Score(numerator=2999, denominator=3000)) == ">99.9"
    assert (share(Score(numerator=0, denominator=0)), share_alone(None)) == ("-", "-")
    assert [amount(one) for one in (0.0, -2.0, 0.0005, 0.0004, -0.0004, 1e15 - 1, 1e15)] == [
        "0", "-2", "0.001", "0.0004", "-0.0004", "999999999999999", "1e+15",
    ]  # fmt: skip
    assert [amount(one) for one in (3.0, math.nan, -math.inf, 1e308, 1e-300)] == [
        "3", "nan", "-inf", "1e+308", "1e-300",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("usd", "digits", "shown"),
    [(0.0, 4, "$0.0000"), (0.00001, 4, "<$0.0001"), (0.004, 2, "<$0.01"), (1.5, 2, "$1.50")],
)
def test_what_cost_something_is_not_shown_as_free(usd: float, digits: int, shown: str) -> None:
    """A cheap model's attempts cost less than a hundredth of a cent."""
    assert [money(0.00001), money(1.23456), percent(0.12345), percent(0.0004)] == [
        "<$0.0001", "$1.2346", "12.3 %", "<0.1 %",
    ]  # fmt: skip
    assert money(usd, digits) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (999_949, "999.9 KB"),
        (999_950, "1.0 MB"),
        (1500, "1.5 KB"),
        (999_960, "1.0 MB"),
        (5e9, "5.0 GB"),
        (2e13, "20000.0 GB"),
    ],
)
def test_bytes_are_never_a_thousand_of_a_unit(count: float, shown: str) -> None:
    """999,960 bytes were "1000 KB" here and "1000.0 KB" there."""
    assert size(count) == shown


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (Score(numerator=1, denominator=2), "Score 0.5000: 1 of 2 passed."),
        (Score(numerator=29999.5, denominator=30000), "Score 0.9999: 29999.500 of 30000 passed."),
        (Score(numerator=30000, denominator=30000), "Score 1.0000: 30000 of 30000 passed."),
        (Score(numerator=0, denominator=0), "There is no score."),
        (None, "There is no score."),
    ],
)
def test_an_agent_is_told_all_points_only_where_it_has_them(score: Score | None, told: str) -> None:
    """Whoever reads 1.0000 stops."""
    verdict = Verdict(status=Status.GRADED, score=score, grader=GraderIdentity(name="strict", version="1"))
    assert told_in_counts(verdict) == told


def test_an_attempt_stands_in_one_word_for_all_tables() -> None:
    """`why` had a dash for 0 of 0, and `show` one for everything without a score."""
    grader = GraderIdentity(name="strict", version="1")
    nothing = Verdict(status=Status.GRADED, score=Score(numerator=0, denominator=0), grader=grader)
    failed = Verdict(status=Status.INFRASTRUCTURE, score=None, grader=grader)
    half = nothing.but(score=Score(numerator=1, denominator=2))
    told = [got(half), got(nothing), got(failed), got(None), got(None, is_pending=True)]
    assert told == ["50.0 % (1/2)", "with nothing to count (0/0)", "infrastructure", "not attempted", "pending"]


def test_a_moment_is_told_in_utc_with_its_zone() -> None:
    """`runs` said local time without a word, beside ids in UTC."""
    there = datetime(2026, 11, 30, 23, 30, tzinfo=timezone(-timedelta(hours=2)))
    assert minute(there) == "2026-12-01 01:30 UTC"
