"""After a mend: what came back, what is new, what is the same."""

from groundup.reports.changed_tests import mended, mended_lines
from tests.reports.test_causes import lost


def test_each_test_is_in_one_part() -> None:
    """One that is lost with other words told its next demand."""
    passed = [lost(name, "").but(outcome="passed") for name in "ac"]
    old = [lost("a", "KeyError"), lost("b", "KeyError"), lost("d", "same"), passed[1], lost("gone", "x")]
    new = [passed[0], lost("b", "TypeError"), lost("c", "new"), lost("d", "same"), lost("e", "unknown before")]
    found = mended(old, new)
    assert [[one.id[-1] for one in part] for part in found] == [["a"], ["c", "e"], ["b"], ["d"]]


def test_what_became_of_tests_line_by_line() -> None:
    """How many of each kind, then each kind by its causes; of what changed also what it was before."""
    old = [lost("a", "KeyError: 'x'"), lost("b", "KeyError: 'x'"), lost("c", "KeyError: 'y'"), lost("d", "same")]
    passed = [lost(name, "").but(outcome="passed") for name in "ab"]
    new = [*passed, lost("c", "TypeError: z"), lost("d", "same"), lost("e", "new")]
    assert list(mended_lines(mended(old, new), old, 80)) == [
        "2 came back; 1 newly lost; 1 still lost, for another reason than before; 1 lost as before",
        "",
        "2 tests came back:",
        "  2 tests: KeyError: 'x'",
        "",
        "1 test newly lost:",
        "  1 test: new",
        "    tests/test_a.py::e",
        "",
        "1 test still lost, for another reason than before:",
        "  1 test: TypeError: z",
        "    before: KeyError: 'y'",
        "    tests/test_a.py::c",
        "",
        "1 test lost as before:",
        "  1 test: same",
        "    tests/test_a.py::d",
    ]
    partly = [passed[0], *old[1:]]
    assert list(mended_lines(mended(old[:2], partly[:2]), old[:2], 80))[3] == "  1 of 2 tests: KeyError: 'x'"
    assert list(mended_lines(mended([], []), [], 80)) == ["nothing was lost in either"]


def test_twelve_causes_that_are_gone_are_named() -> None:
    """And how many tests of how many causes there are more."""
    for number, more in ((12, []), (15, ["  and 3 tests of 3 causes more"])):
        old = [lost(f"t{one}", f"Error{one}: {chr(97 + one) * 5}") for one in range(number)]
        found = mended(old, [one.but(outcome="passed", message="") for one in old])
        lines = list(mended_lines(found, old, 60))
        assert lines[:3] == [f"{number} came back", "", f"{number} tests came back:"]
        assert len(lines) == 15 + len(more)
        assert lines[15:] == more
