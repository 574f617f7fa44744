"""After a mend: what came back, what is new, what is the same."""

from groundup.reports.changed_tests import mended
from tests.reports.test_causes import lost


def test_each_test_is_in_one_part() -> None:
    """One that is lost with other words told its next demand."""
    passed = [lost(name, "").but(outcome="passed") for name in "ac"]
    old = [lost("a", "KeyError"), lost("b", "KeyError"), lost("d", "same"), passed[1], lost("gone", "x")]
    new = [passed[0], lost("b", "TypeError"), lost("c", "new"), lost("d", "same"), lost("e", "unknown before")]
    found = mended(old, new)
    assert [[one.id[-1] for one in part] for part in found] == [["a"], ["c", "e"], ["b"], ["d"]]
