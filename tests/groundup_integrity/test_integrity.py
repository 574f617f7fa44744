"""What is drawn for a check, and what its outcome means."""

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.grading.library.decision import FatalTest
from groundup.grading.library.execution import Execution
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result, RunnerReport
from groundup.sandbox.protocol import CommandResult, Ending
from groundup_integrity.false_forms import FalseForms, HiddenSuite
from groundup_integrity.integrity import (
    LEAST_SAMPLE,
    SAMPLE,
    Draw,
    contradiction,
    drawn,
    is_claimed,
    is_forged,
    sample,
)

A, B, C, D = (NumberedTest(f"t.py::test_{name}") for name in "abcd")


def _run(outcomes: Mapping[NumberedTest, str], *ended: FatalTest) -> Execution:
    results = {test: Result.model_validate({"outcome": outcome}) for test, outcome in outcomes.items()}
    return Execution(
        report=RunnerReport(results=results, exit_code=1),
        result=CommandResult(ending=Ending.EXITED, exit_code=0, stdout=b"", stderr=b"", duration_s=1.0),
        ended=ended,
    )


def _forms(source: str, *keys: NumberedTest) -> FalseForms:
    return FalseForms(HiddenSuite(["t.py"], lambda path: source.encode(), keys), "seed")


@given(st.lists(st.floats(0, 100), max_size=80), st.integers())
def test_a_sample_is_small_and_cheap(durations: list[float], seed: int) -> None:
    """At most 32 tests, which take a twentieth of the suite's time or next to nothing; six in any case.

    One that takes longer than that by itself may be among them.
    """
    tests = {NumberedTest(f"t.py::test_{number}"): time_s for number, time_s in enumerate(durations)}
    chosen = sample(tests, Random(seed))
    budget_s = max(0.2, 0.05 * sum(durations))

    assert chosen <= tests.keys()
    assert min(len(tests), LEAST_SAMPLE) <= len(chosen) <= SAMPLE
    short_s = [tests[test] for test in chosen if tests[test] <= budget_s]
    assert len(chosen) <= LEAST_SAMPLE or (sum(short_s) <= budget_s + 1e-6 and len(chosen) <= len(short_s) + 1)


@pytest.mark.parametrize(("slow_s", "share"), [(0.02, 0.32), (0.08, 0.32), (0.4, 0.016), (0.8, 0.008)])
def test_a_slow_test_is_drawn_less_often_and_never_out_of_reach(slow_s: float, share: float) -> None:
    """Who forges can make a test as slow as it takes; in the mean it costs a tenth of what all may."""
    slow = NumberedTest("t.py::test_slow")
    tests = {NumberedTest(f"t.py::test_{number}"): 0.001 for number in range(99)} | {slow: slow_s}
    times = sum(slow in sample(tests, Random(seed)) for seed in range(4000))

    assert times / 4000 == pytest.approx(share, rel=0.4)


def test_a_small_suite_is_drawn_whole() -> None:
    """There each test counts for much."""
    tests = {NumberedTest(f"t.py::test_{number}"): 0.001 for number in range(30)}

    assert sample(tests, Random(1)) == tests.keys()


def test_about_half_is_false() -> None:
    """By chance, so that no submission knows which; a single test may have either form."""
    keys = [NumberedTest(f"t.py::test_{number}") for number in range(21)]
    source = "".join(f"def test_{number}():\n    assert f({number}) == 5\n" for number in range(21))
    forms = _forms(source, *keys)
    draws = [drawn(keys, forms, Random(seed)) for seed in range(20)]

    assert {len(draw.false) for draw in draws} == {10, 11}
    assert len({draw.false for draw in draws}) == 20
    assert all(draw.true | draw.false == {*keys} for draw in draws)
    assert {len(drawn(keys[:1], forms, Random(seed)).false) for seed in range(20)} == {0, 1}


def test_what_cannot_be_false_stays_true() -> None:
    """A test that may return before its end would pass a false form honestly."""
    source = "def test_a():\n    if f():\n        return\n    assert g() == 1\n"
    forms = _forms(source, A)

    assert all(drawn([A], forms, Random(seed)) == Draw(true=frozenset({A})) for seed in range(10))


TABLE = (
    "import pytest\n\n"
    "@pytest.mark.parametrize('number, letters', [(1, 'one'), (2, 'two'), (3, 'three')])\n"
    "def test_it(number, letters):\n    assert f(number) == letters\n"
)
CASES = [NumberedTest(f"t.py::test_it[{case}]") for case in ("1-one", "2-two", "3-three")]


def test_the_cases_of_a_readable_table_are_drawn_one_by_one() -> None:
    """Else who sees one case that is false knows the others."""
    forms = _forms(TABLE, *CASES)
    draws = {drawn(CASES, forms, Random(seed)).false for seed in range(40)}

    assert {len(false) for false in draws} == {1, 2}
    assert len(draws) == 6, "each one and each pair"


def test_cases_of_an_unreadable_table_are_drawn_together() -> None:
    """Their false form is that of their function."""
    forms = _forms(TABLE.replace("[(1, 'one'), (2, 'two'), (3, 'three')]", "made()"), *CASES)

    assert {drawn(CASES, forms, Random(seed)).false for seed in range(20)} == {frozenset(), frozenset(CASES)}


def test_tests_of_one_name_are_drawn_together() -> None:
    """A class may inherit one; where one of them cannot be false none is."""
    source = "class Base:\n    def test_it(self):\n        {}assert f() == 1\n"
    tests = "class TestA(Base): ...\nclass TestB(Base): ...\n"
    keys = [NumberedTest(f"t.py::Test{name}::test_it") for name in "AB"]
    sure = _forms(source.format("") + tests, *keys)
    unsure = _forms(source.format("if f(): return\n        ") + tests.replace("B", "C"), *keys)

    assert {drawn(keys, sure, Random(seed)).false for seed in range(20)} == {frozenset(), frozenset(keys)}
    assert {drawn(keys, unsure, Random(seed)).false for seed in range(20)} == {frozenset()}


def test_what_cannot_be_read_stays_true() -> None:
    """A file that this interpreter does not understand has no false form; as it is, its tests still run."""
    forms = _forms("def test_a(:\n", A)

    assert drawn([A], forms, Random(1)) == Draw(true=frozenset({A}))


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)), st.integers())
def test_a_second_draw_turns_the_first_round(first: set[int], more: set[int], seed: int) -> None:
    """What was true is false and what was false is true, so that each of them shows both forms."""
    spot, whole = ({NumberedTest(f"t.py::test_{number}") for number in chosen} for chosen in (first, first | more))
    source = "".join(f"def test_{number}():\n    assert f({number}) == 5\n" for number in range(41))
    forms, random = _forms(source, *whole), Random(seed)
    one = drawn(spot, forms, random)
    two = drawn(whole, forms, random, one)

    assert one.tests == spot
    assert two.tests == whole
    assert not one.true & one.false
    assert not two.true & two.false
    assert one.true <= two.false
    assert one.false <= two.true


def test_honest_work_contradicts_nothing() -> None:
    """True forms pass and false ones fail; what is not reported of the false half says nothing."""
    draw = Draw(true=frozenset({A, B}), false=frozenset({C, D}))

    assert not contradiction(draw, _run({A: "passed", B: "passed", C: "failed"}), "")


@pytest.mark.parametrize("outcome", ["failed", "error", "skipped", None])
def test_a_true_form_that_does_not_pass_contradicts(outcome: str | None) -> None:
    """It passed in the run that counts; in a check with an end that holds for what is missing, too."""
    found = contradiction(Draw(true=frozenset({A})), _run({} if outcome is None else {A: outcome}), "")

    assert found.failed_true == {A}
    assert bool(found)


@pytest.mark.parametrize("outcome", ["passed", "xpassed"])
def test_a_false_form_that_passes_contradicts(outcome: str) -> None:
    """Something else than the test decided."""
    assert contradiction(Draw(false=frozenset({A})), _run({A: outcome}), "").passed_false == {A}


def test_a_check_without_an_end_contradicts_and_blames_no_test_that_did_not_run() -> None:
    """Who ends every check is not believed, and who was too slow for one is accused of nothing."""
    found = contradiction(Draw(true=frozenset({A, B})), _run({A: "passed"}), "the tests were stopped")

    assert (found.failed_true, found.unfinished) == (frozenset(), "the tests were stopped")
    assert found


def test_a_test_that_ends_the_process_has_failed_but_for_lack_of_time() -> None:
    """A false form may crash an honest library; a true one that did not before may not."""
    draw = Draw(true=frozenset({A, B}), false=frozenset({C}))
    ended = [FatalTest(test=A), FatalTest(test=B, ending=Ending.TIMEOUT), FatalTest(test=C)]
    found = contradiction(draw, _run({}, *ended), "")

    assert found.failed_true == {A}
    assert not found.passed_false


def test_what_is_left_out_with_its_file_is_not_blamed() -> None:
    """After several tests that end the process a whole file is left out, with tests that never ran."""
    ended = FatalTest(test=C, whole_file=True)

    assert not contradiction(Draw(true=frozenset({A}), false=frozenset({C})), _run({}, ended), "").failed_true


def test_two_functions_or_eight_cases_are_more_than_chance() -> None:
    """One false expectation may happen to be true, and so may all cases of one test."""
    cases = [NumberedTest(f"t.py::test_a[{number}]") for number in range(8)]

    assert not is_forged([A])
    assert is_forged([A, B])
    assert not is_forged(cases[:7])
    assert is_forged(cases)


def test_where_one_function_can_be_false_one_is_enough() -> None:
    """There is no second one; where none can, nothing was forged."""
    assert is_forged([A], of=1)
    assert not is_forged([A], of=2)
    assert not is_forged([], of=1)
    assert not is_forged([], of=0)


def test_four_true_forms_that_fail_are_more_than_flaky_ones() -> None:
    """And half of all where they are to prove that results were forged."""
    failed = [NumberedTest(f"t.py::test_{number}") for number in range(4)]

    assert not is_claimed(failed[:3])
    assert is_claimed(failed)
    assert is_claimed(failed, of=8)
    assert not is_claimed(failed, of=9)
