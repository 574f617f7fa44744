"""Whether what gradings found is what a bundle claims."""

import inspect
from collections.abc import Sequence
from dataclasses import asdict

import pytest

from groundup.store.records import VerdictLine
from groundup_board.cli import Recheck
from groundup_board.verification import _Check, _notes, verify
from tests.reports.made import Word, run_of


def _line(word: Word) -> VerdictLine:
    (line,) = run_of("one", {"task": [word]})[1].values()
    return line


@pytest.mark.parametrize(
    ("claimed", "found", "agrees", "holds"),
    [
        ((3, 4), [(3, 4)], True, True),
        ((3, 4), [(2, 4)], False, False),
        ((3, 4), [(2, 4), (3, 4)], False, True),
        ((3, 4), [(2, 4), (4, 4)], False, True),
        ((1, 4), [(2, 4), (4, 4)], False, False),
        ((4, 4), [(2, 4), (3, 4)], False, False),
        ((3, 4), [(6, 8)], True, True),
        ((0, 0), [(0, 0)], True, True),
        ((0, 0), [(0, 0), (0, 0)], True, True),
        ((0, 0), [(0, 4)], False, False),
        ((0, 4), [(0, 0)], False, False),
        ((0, 4), [(0, 0), (0, 4)], False, True),
        ("tampered", ["tampered"], True, True),
        ("tampered", [(0, 4)], False, False),
        ((0, 4), ["tampered"], False, False),
        ("not_attempted", [(0, 4)], False, False),
    ],
)
def test_a_claim_agrees_or_lies_between(
    claimed: Word, found: Sequence[Word], *, agrees: bool, holds: bool
) -> None:
    """It agrees with what every grading found, and holds where some grading found it or two lie around it.

    An attempt of 0 of 0 points has no value; it agrees with its like alone.
    """
    key = next(iter(run_of("one", {"task": [claimed]})[1]))
    check = _Check(key, _line(claimed), 0.0, [_line(word) for word in found])
    assert (check.agrees, check.holds) == (agrees, holds)


@pytest.mark.parametrize(("tolerance", "agrees"), [(0.0, False), (0.25, True), (0.2, False)])
def test_a_tolerance_is_allowed_on_both_sides(tolerance: float, *, agrees: bool) -> None:
    """It is a share of the points, and itself allowed."""
    for found in ((2, 4), (4, 4)):
        claimed = _line((3, 4))
        assert _Check(claimed.attempt, claimed, tolerance, [_line(found)]).agrees is agrees


def test_a_difference_is_told_in_words() -> None:
    """Where each stands, with its points, in the order of the gradings."""
    claimed = _line((3, 4))
    check = _Check(claimed.attempt, claimed, 0.0, [_line((2, 4)), _line("tampered"), _line("not_attempted")])
    told = check.in_words()
    assert (told.attempt, told.claimed) == ("task/0", "graded 3/4")
    assert told.found == ("graded 2/4", "tampered", "not attempted")


def test_what_graded_otherwise_than_in_the_bundle_is_told_once() -> None:
    """Each pair of graders once, however many attempts they differ in; equal ones and equal times say nothing."""
    claimed = _line((3, 4))
    assert claimed.verdict
    grader = claimed.verdict.grader
    newer = claimed.but(verdict=claimed.verdict.but(grader=grader.but(version="99")))
    same, other = (_Check(claimed.attempt, claimed, 0.0, [line]) for line in (claimed, newer))
    assert list(_notes(None, None, [same])) == []
    (told,) = _notes(60.0, 60.0, [same, other, other])
    assert told.startswith(f"graded by {grader.name} {grader.version}, ")
    assert f"in the bundle, by {grader.name} 99, " in told


def test_python_grades_again_as_the_command_line_does() -> None:
    """Whoever names nothing gets the same sample, as often, by the same tolerance."""
    flags = asdict(Recheck())
    parameters = inspect.signature(verify).parameters
    assert {name: parameters[name].default for name in flags} == flags
