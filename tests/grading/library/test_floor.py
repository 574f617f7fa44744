"""What a stub passes counts in the proportion in which other tests pass."""

from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.verdicts import Status, TestResult
from groundup.grading.library.decision import Decision
from groundup.grading.library.floor import UNEARNED, earned, not_earned
from groundup.grading.library.hidden import NumberedTest

ALL = tuple(NumberedTest(f"tests/test_{file}.py::test_{name}") for file in "ab" for name in "123")
FLOOR = frozenset(ALL[:2])


def _decision(*passed: NumberedTest) -> Decision:
    results = (
        TestResult(id=str(test), outcome="passed" if test in passed else "failed", expected=True) for test in ALL
    )
    return Decision(
        status=Status.GRADED,
        passed=len(passed),
        expected=len(ALL),
        extra_passed=0,
        passed_before_end=len(passed),
        results=tuple(results),
    )


def test_a_stub_scores_nothing() -> None:
    """What only stubs could have passed is no longer called passed, and the verdict says why."""
    decision = earned(_decision(*ALL[:2]), FLOOR)

    assert (decision.status, decision.passed, decision.expected) == (Status.GRADED, 0, 6)
    assert {test.id for test in decision.results if test.message == UNEARNED} == {str(test) for test in FLOOR}
    assert not any(test.outcome == "passed" for test in decision.results)
    assert "2 passed tests that a stub passes" in decision.reasons[0].message


def test_half_of_the_others_brings_half_of_the_floor() -> None:
    """The score is that of the tests which say something, in each proportion."""
    assert earned(_decision(*ALL[:4]), FLOOR).passed == 3
    assert earned(_decision(*ALL[:5]), FLOOR).passed == 5
    assert earned(_decision(*ALL), FLOOR).passed == 6


def test_one_lucky_test_does_not_unlock_the_floor() -> None:
    """A forger who wins one test of many gets no more of what stubs pass than its share, to the nearest test."""
    many = [NumberedTest(f"t::{number}") for number in range(100)]
    floor = frozenset(many[:30])

    assert len(not_earned({*floor, many[30]}, many, floor)) == 30
    assert len(not_earned({*floor, *many[30:99]}, many, floor)) == 0


def test_what_is_worth_nothing_already_stays_as_it_is() -> None:
    """A run without an end keeps the reasons that it has."""
    unfinished = _decision(ALL[0]).model_copy(update={"passed": 0})

    assert earned(unfinished, FLOOR) is unfinished


_SETS = st.frozensets(st.sampled_from(ALL))


@given(passed=_SETS, floor=_SETS)
def test_no_honest_point_is_lost(passed: frozenset[NumberedTest], floor: frozenset[NumberedTest]) -> None:
    """What is outside of the floor counts, what is in it never by itself, and a whole library is whole."""
    lost = not_earned(passed, ALL, floor)

    assert lost <= passed & floor
    assert bool(passed - floor) or lost == passed
    if floor < frozenset(ALL):
        assert not not_earned(ALL, ALL, floor)


@given(passed=_SETS, more=_SETS, floor=_SETS)
def test_more_tests_never_cost_points(
    passed: frozenset[NumberedTest], more: frozenset[NumberedTest], floor: frozenset[NumberedTest]
) -> None:
    """A better submission scores at least as much."""
    better = passed | more

    assert len(passed - not_earned(passed, ALL, floor)) <= len(better - not_earned(better, ALL, floor))
