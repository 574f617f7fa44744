"""Losses in words, where a screen has little room for them."""

import pytest

from groundup.domain.verdicts import PASSES_WITH, TestResult
from groundup.reports.causes import grouped
from groundup.reports.why import lacking_lines, why_lines


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


def test_what_a_submission_lacks_is_said_once_and_by_kind() -> None:
    """Names that are not there in one line, calls that do not fit below a line that counts them."""
    lacks = ("lib.split", "call split(text, limit=2) of /workspace/lib.py", "lib.join")
    tests = [_lost(0).but(lacks=lacks), _lost(1).but(lacks=lacks[::-1])]
    assert lacking_lines(tests) == [
        "names that the tests use and the submission lacks: lib.split, lib.join",
        "1 call that the submission's signatures do not take:",
        "  split(text, limit=2) of lib.py",
    ]
    assert lacking_lines([_lost(0)]) == []


def test_each_place_where_a_cause_may_lie_is_a_line() -> None:
    """The likelier first; the line that a traceback names is told once more only with what mends it."""
    one = _lost(0).but(probably="/workspace/a.py:4: x\na.py:7: y", detail="a.py:7: in f\n    y\nE   AError: x")
    assert [line for line in why_lines(grouped([one]), 40, 80)[0] if ".py:" in line][:2] == [
        "  a.py:7: y",
        "  probably a.py:4: x",
    ]
    mended = one.but(probably=f"a.py:7: y{PASSES_WITH}z")
    assert why_lines(grouped([mended]), 40, 80)[0][1:3] == ["  a.py:7: y", f"  probably a.py:7: y{PASSES_WITH}z"]
    (apart,) = why_lines(grouped([one.but(detail="")]), 40, 80)
    assert apart[1:3] == ["  probably a.py:4: x", "  else a.py:7: y"]


@pytest.mark.parametrize("room", [5, 10, 20, 30, 40, 60, 80])
def test_causes_share_the_room_that_there_is(room: int) -> None:
    """All fit it with the empty lines around those of several lines; none is much longer than others."""
    demand = "\n".join(["> f() == 1", *(f"value {number}" for number in range(60))])
    detail = "a.py:7: in f\n    y\nE   AError: x"
    blocks = why_lines(grouped([_lost(number).but(demand=demand, detail=detail) for number in range(3)]), room, 80)
    assert sum(len(block) + 2 * (len(block) > 2) for block in blocks) <= room
    lengths = [len(block) for block in blocks if len(block) > 2]
    assert not lengths or max(lengths) - min(lengths) <= 3
    assert len(lengths) == {5: 0, 10: 0, 20: 1}.get(room, 3)
