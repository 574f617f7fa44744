"""Whether to believe a run of hidden tests: some of those that passed run again, half of them made to fail.

Who passes everything is seen by those made to fail. Who notices that this is a check and turns honest is seen by
the others, which passed before. Pure: what runs tests is handed in.
"""

import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import NamedTuple

from groundup.grading.java.hidden import ending_tests, named_tests, with_ends

SAMPLE = 32
"""Tests of the spot check. Half of them must fail: who forges a fifth is missed in 0.8 ** 16 = 3 of 100."""
SEVERAL = 2
"""One test may be an accident. Of 46 honest ones that fail one time in 20, two are lost before the last run and in
it in 46 * 45 / 2 * 0.05 ** 4 = 0.6 of 100 gradings. Of six forged ones, each made to fail before it with 0.75,
fewer are in 0.25 ** 6 + 6 * 0.75 * 0.25 ** 5 = 0.5 of 100."""
CLEAN, SUSPECT, TAMPERED = "clean", "suspect", "tampered"
FORGED = "tests that were made to fail were reported as passed, in two runs: results are being forged"
_FORGED_ONCE = "tests that were made to fail were reported as passed, but not in a second run"
_LOST = "tests that passed did not, in two runs, where others were made to fail"

Run = Callable[[Mapping[str, bytes], Collection[str]], Awaitable[Collection[str]]]
"""Runs sources, at least the tests named, in a fresh sandbox; returns the names of those that passed."""
_CHANCE = secrets.SystemRandom()


class Belief(NamedTuple):
    """An answer, with its reason unless it is `clean`."""

    answer: str
    why: str | None = None


class _Seen(NamedTuple):
    """What contradicts the run that counts: who passed though made to fail, and who did not pass as before."""

    forged: frozenset[str]
    lost: frozenset[str]


async def checked(passed: Collection[str], texts: Mapping[str, bytes], run: Run) -> Belief:
    """Say whether to believe that the tests *passed*, of the suite in *texts*."""
    ending, every = ending_tests(texts), named_tests(texts)

    async def look(fails: Mapping[str, bool], looked_at: Collection[str], at_start: Collection[str] = ()) -> _Seen:
        found = set(await run(with_ends(texts, fails, at_start), looked_at))
        false = {test for test in fails if fails[test]}
        return _Seen(frozenset(false & found), frozenset(fails.keys() - false - found))

    def are_several(tests: Collection[str]) -> bool:
        return len(tests) >= min(SEVERAL, len(passed))

    sample = _CHANCE.sample(list(passed), min(SAMPLE, len(passed)))
    spot = await look(drawn(sample, ending), sample)
    if not spot.forged and not spot.lost:
        return Belief(CLEAN)
    fails = drawn(passed, ending)
    full = await look(fails, every)
    forged, lost = spot.forged | full.forged, spot.lost | full.lost
    if not are_several(forged) and not are_several(lost):
        return Belief(CLEAN)
    fails |= dict.fromkeys(lost, False) | dict.fromkeys(forged, True)
    last = await look(fails, every, at_start={test for test in forged if _CHANCE.getrandbits(1)})
    if are_several(last.forged):
        return Belief(TAMPERED, f"{FORGED} ({len(last.forged)})")
    if are_several(forged):
        return Belief(SUSPECT, f"{_FORGED_ONCE} ({len(forged)})")
    if are_several(lost & last.lost):
        return Belief(SUSPECT, f"{_LOST} ({len(lost & last.lost)})")
    return Belief(CLEAN)


def drawn(tests: Collection[str], ending: Collection[str]) -> dict[str, bool]:
    """Return which of the *tests* are made to fail: half of those that pass only at their end, and the odd one."""
    able = [test for test in tests if test in ending]
    chosen = set(_CHANCE.sample(able, (len(able) + 1) // 2))
    return {test: test in chosen for test in tests}
