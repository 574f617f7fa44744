"""What clients of all registries share: moments, and how long a page counts."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from groundup.domain.errors import UsageError
from groundup.registries.client import FRESH_S, Kept, Published, cutoff_instant, first_after, instant

DAY = datetime(2024, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment", "left_out"),
    [
        ("2024-01-31", DAY, DAY + timedelta(days=1)),
        ("2024-01-31T00:00:00", DAY, DAY),
        ("2024-01-31T02:00:00+02:00", DAY, DAY),
        ("2024-01-31 00:00:00Z", DAY, DAY),
    ],
)
def test_a_bare_date_counts_to_its_end(text: str, moment: datetime, left_out: datetime) -> None:
    """In UTC where no zone is named."""
    assert instant(text) == moment
    assert cutoff_instant(text) == left_out


@pytest.mark.parametrize("text", ["", "today", "20240131", "2024-W05-3", "2024-02-30", "2024-01-31x", "x" * 99])
def test_other_forms_of_a_cut_off_are_refused(text: str) -> None:
    """Also those that Python takes for the beginning of the day."""
    with pytest.raises(UsageError) as caught:
        cutoff_instant(text)
    assert str(caught.value) == f"the cut-off {text[:80]!r} is not an RFC 3339 date such as 2024-01-31"


def test_what_names_no_moment_is_none() -> None:
    """Registries may send anything."""
    given: tuple[object, ...] = (None, 5, "", "soon", [])
    assert [instant(one) for one in given] == [None] * 5


def test_the_first_that_is_hidden() -> None:
    """The instant itself is hidden; what has no date tells nothing, and is not known to be old."""
    days = [Published(published=DAY + timedelta(days=number)) for number in (2, 0, 1)] + [Published()]
    assert first_after(days, DAY) == DAY
    assert first_after(days, DAY + timedelta(seconds=1)) == DAY + timedelta(days=1)
    assert first_after(days, DAY + timedelta(days=3)) is None
    assert first_after(days, None) is None
    assert [one.published_by(DAY + timedelta(days=1)) for one in days] == [False, True, False, False]


def test_a_page_counts_for_ten_minutes() -> None:
    """Not one from the future; and for ever where it was asked for after the cut-off."""
    now = time.time()
    for age_s, is_fresh in ((0, True), (FRESH_S - 30, True), (FRESH_S + 1, False), (-60, False)):
        kept = Kept[int](page=1, fetched_at=now - age_s)
        assert kept.is_fresh() is is_fresh
        assert kept.is_fresh(datetime.fromtimestamp(now - age_s + 1, UTC)) is is_fresh
        assert kept.is_fresh(datetime.fromtimestamp(now - age_s, UTC))
