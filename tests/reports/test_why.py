"""Losses in words, where a screen has little room for them."""

import pytest

from groundup.domain.verdicts import TestResult
from groundup.reports.causes import grouped
from groundup.reports.why import why_lines


def _lost(number: int) -> TestResult:
    said = f"{chr(65 + number)}Error: x"
    return TestResult(id=f"tests/test_a.py::t{number}", outcome="failed", expected=True, message=said)


@pytest.mark.parametrize("room", [-3, 0, 1, 2, 5])
def test_causes_without_room_are_counted(room: int) -> None:
    """With no room at all, too; "more" is said beside others alone."""
    blocks = why_lines(grouped(map(_lost, range(4))), room, 80)
    *shown, (last,) = blocks
    rest = 4 - len(shown)
    assert len(shown) == max(room - 2, 0) // 2
    more = f"and {rest} causes more" if shown else f"{rest} causes"
    assert last == f"{more}, of {rest} tests; --full prints them"
