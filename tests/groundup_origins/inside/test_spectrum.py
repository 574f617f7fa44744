"""Lines that lost tests run and passing ones do not are suspicious, those that all run are not."""

import sys
from types import CodeType

from groundup_origins.inside.spectrum import LineTracer, ranked, suspicions


def checked(word: str) -> bool:
    """Return whether it is a word."""
    if word == "yes":
        return True
    if word == "maybe":
        return False
    return len(word) > 3


def _ran(word: str) -> dict[tuple[CodeType, int], int]:
    lines = LineTracer(lambda code: code is checked.__code__)
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        checked(word)
    finally:
        sys.settrace(before)
    return lines.last


def _below(line: int) -> int:
    return line - checked.__code__.co_firstlineno


def test_the_line_that_lost_tests_alone_run_stands_out() -> None:
    """It comes first, then those that fewer passing tests run, of equal ones the last that ran."""
    lost, passing = [_ran("maybe")], [_ran("yes"), _ran("nothing")]
    suspicion = suspicions(lost, passing)
    assert [_below(line) for _, line in ranked(lost[0], suspicion)] == [5, 4, 2]
    assert round(suspicion[checked.__code__, checked.__code__.co_firstlineno + 4], 3) == 0.707
