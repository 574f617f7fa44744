"""Lines that lost tests run and passing ones do not are suspicious, those that all run are not."""

import reprlib
import sys
from collections.abc import Callable
from types import CodeType, SimpleNamespace

from groundup_origins.inside.spectrum import LineTracer, Spectrum


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


def _test(word: str, cause: str = "") -> SimpleNamespace:
    return SimpleNamespace(lines=_ran(word), cause=cause)


def _line(below: int) -> int:
    return checked.__code__.co_firstlineno + below


def _below(line: int) -> int:
    return line - checked.__code__.co_firstlineno


def test_the_line_that_lost_tests_alone_run_stands_out() -> None:
    """It comes first, then those that fewer passing tests run, of equal ones the last that ran."""
    lost = _test("maybe")
    seen = Spectrum([lost], [_test("yes"), _test("nothing")])
    assert [_below(line) for _, line in seen.ranked(lost)] == [5, 4, 2]
    assert round(seen.of(lost)[checked.__code__, _line(4)], 3) == 0.707


def test_tests_that_are_lost_for_something_else_take_little_suspicion_away() -> None:
    """Those of one cause are compared with passing ones alone, too, and that is half of it."""
    lost, other = _test("maybe"), [_test("no", cause="network") for _ in range(9)]
    assert Spectrum([lost, *other], [_test("yes")]).of(lost)[checked.__code__, _line(5)] > 0.5


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
