"""Times as people write them."""

import pytest

from groundup.domain.durations import duration
from groundup.domain.errors import UsageError


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("90s", 90),
        ("10m", 600),
        ("12h", 43_200),
        ("30d", 2_592_000),
        ("2w", 1_209_600),
        ("1.5h", 5400),
        (" 8h ", 28_800),
    ],
)
def test_a_number_and_a_unit_are_seconds(text: str, asked: float) -> None:
    """Every unit is worth what it says, with a fraction and blanks around it."""
    assert duration(text, None) == asked
    assert duration(text) == asked


def test_a_number_alone_is_in_the_unit_that_is_asked_for() -> None:
    """Seconds unless another unit is usual."""
    assert duration("90") == 90
    assert duration(".5", "h") == 1800
    with pytest.raises(UsageError, match="is no time"):
        duration("90", None)


@pytest.mark.parametrize("text", ["", "h", "-1h", "1 h", "1y", "1h30m", "1.h", "nan", "1e3s"])
def test_other_words_are_refused(text: str) -> None:
    """What is no time is named, with a form that is one."""
    with pytest.raises(UsageError, match="is no time"):
        duration(text)
