"""Tests of groundup.grading.java.testing: who is believed, on simulated runs."""

import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping

import pytest

from groundup.grading.java.testing import CLEAN, SAMPLE, SUSPECT, TAMPERED, checked, drawn

EARLY = 3
"""Tests of the suite that may return before their end."""
_METHOD = re.compile(r'void (\w+)\(\).*?(?:"(\w+)"[^"]*"(\w+)".*)?\n')
Claims = Callable[[int, Mapping[str, bool | None]], Collection[str]]
"""From the number of the run and whether each test must fail, None for unchanged ones, to what passes."""


def suite(size: int) -> dict[str, bytes]:
    """Return a suite of one class."""
    tests = [f"@Test void t{number}() {{ {'return;' if number < EARLY else ''} }}\n" for number in range(size)]
    return {"T.java": f"package p;\nclass T {{\n{''.join(tests)}}}\n".encode()}


def names(size: int) -> list[str]:
    """Return its tests."""
    return [f"p.T#t{number}" for number in range(size)]


async def answers(size: int, passed: Collection[str], claims: Claims, times: int = 50) -> Counter[str]:
    """Return what checks say of a submission that *claims* tests."""
    found: Counter[str] = Counter()
    for _ in range(times):
        runs = 0

        async def run(texts: Mapping[str, bytes], looked_at: Collection[str]) -> Collection[str]:
            nonlocal runs
            runs += 1
            assert runs <= 3
            assert looked_at
            fails = {
                f"p.T#{name}": one == other if one else None
                for name, one, other in _METHOD.findall(texts["T.java"].decode())
            }
            return claims(runs, fails)

        integrity = await checked(passed, suite(size), run)
        assert (integrity.why is None) == (integrity.answer == CLEAN)
        found[integrity.answer] += 1
    return found


def honest(fails: Mapping[str, bool | None], able: Collection[str]) -> set[str]:
    """Return what passes of the tests that a submission is *able* to pass: what may return early, in any form."""
    early = {f"p.T#t{number}" for number in range(EARLY)}
    return {test for test in able if not fails[test] or test in early}


@pytest.mark.parametrize("size", [1, 2, 3, 12, 100])
async def test_an_honest_submission_is_clean(size: int) -> None:
    """However small the suite and however much of it fails; tests that return early are never made to fail."""
    for able in (names(size), names(size)[: size // 2 + 1]):
        assert await answers(size, able, lambda _, fails, able=able: honest(fails, able)) == {CLEAN: 50}  # type: ignore[misc]


@pytest.mark.parametrize("size", [2, 5, 12, 100])
async def test_who_forges_everything_is_tampered(size: int) -> None:
    """Always, if it is done in every run: half of the sample must fail, and does not."""
    tests = names(size + EARLY)[EARLY:]
    found = await answers(size + EARLY, tests, lambda _, fails: list(fails))
    assert found[TAMPERED] == 50 if size > 2 else found[TAMPERED] > 5


async def test_who_forges_a_fifth_is_tampered() -> None:
    """In a suite larger than the sample, nearly always."""
    tests, forged = names(100), names(100)[80:]
    found = await answers(100, tests, lambda _, fails: {*honest(fails, tests[:80]), *forged}, times=100)
    assert found[TAMPERED] >= 85


async def test_who_turns_honest_in_checks_is_suspect() -> None:
    """What it claimed does not pass there, twice; no test passed that was made to fail, so its points stay."""
    tests, able = names(46), names(46)[:30]
    found = await answers(46, tests, lambda _, fails: honest(fails, able))
    assert found[SUSPECT] >= 45
    assert not found[TAMPERED]


async def test_who_forges_before_the_last_run_only_is_suspect() -> None:
    """What is not confirmed takes no points."""
    tests = names(46)
    found = await answers(46, tests, lambda run, fails: list(fails) if run < 3 else honest(fails, tests))
    assert found == {SUSPECT: 50}


async def test_flaky_tests_are_no_pattern() -> None:
    """Where one test in 20 fails by chance, hardly a grading is suspect, and none tampered."""
    tests = names(46)

    def claims(_: int, fails: Mapping[str, bool | None]) -> set[str]:
        return {test for test in honest(fails, tests) if random.random() > 0.05}

    found = await answers(46, tests, claims, times=100)
    assert not found[TAMPERED]
    assert found[SUSPECT] <= 6


def test_half_of_what_can_is_made_to_fail() -> None:
    """By chance, and never what may pass without coming to its end."""
    tests = names(SAMPLE)
    draws = [drawn(tests, tests[EARLY:]) for _ in range(50)]
    assert {sum(fails.values()) for fails in draws} == {(SAMPLE - EARLY + 1) // 2}
    assert not any(fails[test] for fails in draws for test in tests[:EARLY])
    assert {test for fails in draws for test in tests if fails[test]} == set(tests[EARLY:])
