"""What a submission without behaviour passes, and why it scores nothing.

Stubs pass tests that ask for no more than that a name exists, that nothing comes back or that something is raised.
Such tests belong to the suite, so they count, but only as far as the others pass. A test that is won by luck then
brings hardly more than itself.
"""

from collections.abc import Collection

from groundup.domain.verdicts import Stage
from groundup.grading.library.decision import Decision, passing_tests, reason
from groundup.grading.library.hidden import NumberedTest

UNEARNED = "a stub passes it, too: such tests count in proportion to the others that pass"


def earned(decision: Decision, floor: frozenset[NumberedTest]) -> Decision:
    """Return *decision* with no more tests of *floor* than the share of the other expected tests that pass."""
    if not decision.passed:
        return decision
    expected = frozenset(NumberedTest.parse(test.id) for test in decision.results if test.expected)
    lost = not_earned(passing_tests(decision), expected, floor)
    if not lost:
        return decision
    why = reason(
        Stage.TEST,
        f"{len(lost)} passed tests that a stub passes, too, are not counted: they count in proportion to the "
        "others that pass",
    )
    return decision.without(dict.fromkeys(lost, UNEARNED), last=[why])


def not_earned(
    passed: Collection[NumberedTest], expected: Collection[NumberedTest], floor: frozenset[NumberedTest]
) -> frozenset[NumberedTest]:
    """Return those of *passed* that are in *floor* and over its share, to the nearest test."""
    others = [test for test in expected if test not in floor]
    evidence = sum(test not in floor for test in passed)
    share = (2 * len(floor) * evidence + len(others)) // (2 * len(others)) if others else 0
    return frozenset(sorted(test for test in passed if test in floor)[share:])
