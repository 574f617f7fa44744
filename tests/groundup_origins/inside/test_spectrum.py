"""Lines that lost tests run and passing ones do not are suspicious, those that all run are not."""

import sys
from types import CodeType

from groundup_origins.inside.spectrum import LineTracer, outstanding, ranked, suspicions


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
    place = outstanding(lost[0], suspicion)
    assert place is not None
    assert (place[0], _below(place[1])) == (__file__, 5)
    assert round(suspicion[checked.__code__, checked.__code__.co_firstlineno + 4], 3) == 0.707


def test_where_several_stand_out_the_function_is_named() -> None:
    """And nothing where passing tests run the same lines, or where one line alone is asked."""
    lost = [_ran("maybe")]
    suspicion = suspicions(lost, [_ran("yes")])
    place = outstanding(lost[0], suspicion)
    assert place is not None
    assert _below(place[1]) == 0
    assert outstanding(lost[0], suspicion, alone=True) is None
    assert outstanding(lost[0], suspicions(lost, [_ran("maybe")])) is None
    assert outstanding({}, {}) is None
