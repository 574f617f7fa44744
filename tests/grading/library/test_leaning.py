"""What the two runs of mixed tests say of a submission that forges in one of them only."""

import random
from collections.abc import Callable

from groundup.grading.library.decision import FatalTest
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.leaning import SELDOM, chance_of_leaning
from groundup.grading.library.report import Result

NAMES = [f"test_{number}" for number in range(40)]
BUNDLES = {name: name for name in NAMES}


def _chance(passes: Callable[[str], bool], second: set[str], bundles: dict[str, str] = BUNDLES) -> float:
    results = {
        NumberedTest(f"t.py::{name}"): Result(outcome="passed" if passes(name) else "failed") for name in NAMES
    }
    return chance_of_leaning(results, (), bundles, second)


def _second(seed: int) -> set[str]:
    return set(random.Random(seed).sample(NAMES, 20))


def test_who_forges_in_one_run_only_leans() -> None:
    """What passes nothing but the tests that are true in one run is as good as never honest."""
    second = _second(1)

    assert _chance(lambda name: name in second, second) < 1e-9
    assert _chance(lambda name: name not in second, second) < 1e-9
    assert _chance(lambda name: name in second or name in NAMES[:10], second) < SELDOM


def test_honest_libraries_lean_as_seldom_as_is_said() -> None:
    """Of gradings of half-broken libraries with other halves no more are repeated than the limit says."""
    chances = [_chance(lambda name: name in NAMES[::2], _second(seed)) for seed in range(2000)]

    assert sum(chance <= SELDOM for chance in chances) <= 2 * 2000 * SELDOM


def test_all_or_nothing_leans_nowhere() -> None:
    """The original and an empty submission are never graded twice; nor is a suite without tests."""
    assert _chance(lambda name: True, _second(1)) == 1
    assert _chance(lambda name: False, _second(1)) == 1
    assert chance_of_leaning({}, (), BUNDLES, _second(1)) == 1


def test_tests_that_fall_together_count_once() -> None:
    """A helper that many tests share puts them into one half: that they pass there alone shows nothing."""
    bundles = {name: "helper" if number < 20 else name for number, name in enumerate(NAMES)}
    second = set(NAMES[:20])

    assert _chance(lambda name: name in second, second, bundles) > SELDOM


def test_what_ends_the_process_has_failed() -> None:
    """Who ends one run test by test has not passed there."""
    second = _second(1)
    results = {NumberedTest(f"t.py::{name}"): Result(outcome="passed") for name in second}
    ended = [FatalTest(test=NumberedTest(f"t.py::{name}")) for name in NAMES if name not in second]

    assert chance_of_leaning(results, ended, BUNDLES, second) < 1e-9
