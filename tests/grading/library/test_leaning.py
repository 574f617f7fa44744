"""What two runs of mixed tests show about a submission that forges in one of them only."""

import random
from collections.abc import Callable

from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.leaning import SELDOM, chance_of_leaning
from groundup.grading.library.report import Result

NAMES = [f"test_{number}" for number in range(40)]
BUNDLES = {name: name for name in NAMES}


def _results(passes: Callable[[str], bool]) -> dict[NumberedTest, Result]:
    return {
        NumberedTest(f"t.py::{name}"): Result(outcome="passed" if passes(name) else "failed") for name in NAMES
    }


def _chance(
    honest: set[str], seed: int, forged: frozenset[str] | set[str] = frozenset(), bundles: dict[str, str] = BUNDLES
) -> float:
    """Return the chance of a library that passes what is true of *honest*, and in the first run also *forged*."""
    first = set(random.Random(seed).sample(NAMES, 20))
    one = _results(lambda name: name in forged or (name in honest and name in first))
    other = _results(lambda name: name in honest and name not in first)
    return chance_of_leaning(one, other, lambda key: bundles.get(key.id.rpartition("::")[2]))


def test_who_forges_in_one_run_only_leans() -> None:
    """Forging everything, or half of what fails, in one run is as good as never honest."""
    assert all(_chance(set(), seed, set(NAMES)) < 1e-9 for seed in range(50))
    assert all(_chance(set(NAMES[:20]), seed, set(NAMES)) < SELDOM for seed in range(50))


def test_honest_libraries_lean_as_seldom_as_is_said() -> None:
    """Of gradings of half-broken libraries with other halves no more are repeated than the limit says."""
    chances = [_chance(set(NAMES[::2]), seed) for seed in range(2000)]

    assert sum(chance <= SELDOM for chance in chances) <= 2 * 2000 * SELDOM


def test_all_or_nothing_leans_nowhere() -> None:
    """The original and an empty submission are not graded twice; nor is a suite without tests."""
    assert _chance(set(NAMES), 1) == 1
    assert _chance(set(), 1) == 1
    assert chance_of_leaning({}, {}, str) == 1


def test_tests_that_fall_together_are_one_toss() -> None:
    """A helper that many tests share puts them into one half: that they pass there alone shows nothing."""
    assert _chance(set(), 1, set(NAMES), dict.fromkeys(NAMES, "helper")) == 1
