"""Lines that lost tests run and passing ones do not are suspicious, those that all run are not."""

import reprlib
import sys
from collections.abc import Callable
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


class Boat:
    """Which writes itself."""

    def __repr__(self) -> str:
        """Return its name."""
        return named("boat")


def named(word: str) -> str:
    """Return a word as names are written."""
    return word.title()


def test_what_only_writes_a_compared_value_is_not_seen() -> None:
    """A failed comparison shows its values, so lost tests alone would run that."""
    assert _written_by(reprlib.Repr().repr) == set()
    assert _written_by(repr) == {"__repr__", "named"}


def _written_by(write: Callable[[object], str]) -> set[str]:
    lines = LineTracer(lambda code: code in (Boat.__repr__.__code__, named.__code__))
    before = sys.gettrace()
    sys.settrace(lines)
    try:
        assert write(Boat()) == "Boat"
    finally:
        sys.settrace(before)
    return {code.co_name for code, _ in lines.last}
