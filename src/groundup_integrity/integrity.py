"""Whether to believe a count of passed tests: what is drawn for a check, and what its outcome means. Pure.

A check runs tests that passed once more, in a fresh sandbox: by chance half of them as they are, half with a false
expectation. Honest work passes the true half and fails the false half. Who passes everything is caught by the
false half; who notices the check and turns honest is caught by the true half. The count stands as it is, or the
verdict is `tampered` and has no score.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import NamedTuple

from groundup.grading.library.execution import Execution
from groundup.grading.library.hidden import NumberedTest
from groundup_integrity.false_forms import FalseForms, function_of

SAMPLE = 32
"""Tests in a spot check. Of who forges a fifth of the points, 16 false forms miss 3 in 100 (0.8 to the 16th)."""
LEAST_SAMPLE = 6
"""Tests that are drawn however slow they are: forging everything passes three false forms unseen in no case."""
SHARE_OF_TIME = 0.05
"""Of the suite's time, what the drawn tests may take; a new process takes about as much again."""
LEAST_S = 0.2
"""What they may take in any case."""
LONG = 0.1
"""Of what they may take, how much one may take in the mean that takes more than all may."""
FEW_FUNCTIONS = 4
"""Of fewer that can be false both forms are looked at: one draw would miss half of what a single test shows."""
LOST_SHARE_OF_TIME = 0.25
"""Of the suite's time, what tests that failed may take to run again, all of them; else some are drawn."""
LOST_LEAST_S = 10.0
"""What they may take in any case."""
LEAST_FORGED = 2
"""Functions. One false expectation may happen to be met by a fault; two independent ones hardly ever are."""
MANY_CASES = 8
"""Cases of one function that are as good as two functions: one may be true by chance, eight are not."""
LEAST_CLAIMED = 4
"""True forms that fail in a full check. Half of all are forged if they fail again alone: with a tenth of its tests
flaky an honest library shows half of 8 in 5 of 1,000 checks, and twice in one of a million."""


class Draw(NamedTuple):
    """The tests of one check. *lost*: others that run with them, as they are, such as tests that failed before."""

    true: frozenset[NumberedTest] = frozenset()
    false: frozenset[NumberedTest] = frozenset()
    lost: frozenset[NumberedTest] = frozenset()

    @property
    def tests(self) -> frozenset[NumberedTest]:
        """All that run."""
        return self.true | self.false | self.lost


class Contradiction(NamedTuple):
    """What a check showed that a true count does not show."""

    passed_false: frozenset[NumberedTest] = frozenset()
    failed_true: frozenset[NumberedTest] = frozenset()
    unfinished: str = ""
    """Why the check has no end; empty: it has one."""

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.passed_false or self.failed_true or self.unfinished)


def sample(durations_s: Mapping[NumberedTest, float], random: Random) -> frozenset[NumberedTest]:
    """Return the tests of a spot check, drawn from *durations_s*: about `SAMPLE`, fewer where they are slow.

    A submission decides how long its tests take, so none is out of reach: of those that take longer than all may,
    one is drawn at times, the longer it takes the less often.
    """
    most_s = left_s = max(LEAST_S, SHARE_OF_TIME * sum(durations_s.values()))
    drawn: set[NumberedTest] = set()
    has_long = False
    for test in random.sample(sorted(durations_s), len(durations_s)):
        time_s = durations_s[test]
        if len(drawn) < SAMPLE and time_s <= left_s:
            left_s -= time_s
            drawn.add(test)
        elif len(drawn) < SAMPLE and time_s > most_s and not has_long:
            has_long = random.random() * time_s <= LONG * most_s
            drawn |= {test} if has_long else set()
    slow = sorted(durations_s.keys() - drawn, key=lambda test: (durations_s[test], test))
    return frozenset(drawn | {*slow[: max(0, LEAST_SAMPLE - len(drawn))]})


def lost_again(failed: Mapping[NumberedTest, float], suite_s: float, random: Random) -> frozenset[NumberedTest]:
    """Return which tests that *failed* run again: all, or a sample where that takes too much of its time."""
    if sum(failed.values()) <= max(LOST_LEAST_S, LOST_SHARE_OF_TIME * suite_s):
        return frozenset(failed)
    return sample(failed, random)


def drawn(tests: Collection[NumberedTest], forms: FalseForms, random: Random, before: Draw | None = None) -> Draw:
    """Draw which of *tests* are false: of those that were drawn *before*, what was true then."""
    chosen = frozenset(tests)
    kept = {forms.group_of(test) for test in chosen if not forms.can_be_false(test)}
    groups = sorted({forms.group_of(test) for test in chosen} - kept)
    # About half of them: of an odd one a coin decides, so that one test alone may have either form.
    number = (len(groups) + random.randint(0, 1)) // 2
    false_groups = {*random.sample(groups, number)}
    if before is not None:
        false_groups -= {forms.group_of(test) for test in before.false}
        false_groups |= {forms.group_of(test) for test in before.true} & {*groups}
    false = frozenset(test for test in chosen if forms.group_of(test) in false_groups)
    return Draw(true=chosen - false, false=false)


def contradiction(draw: Draw, check: Execution, unfinished: str) -> Contradiction:
    """Return what a *check* shows; its tests have the names that they have when they are true."""
    results = check.report.results
    ended = {end.test for end in check.ended}
    late = {end.test for end in check.ended if end.ending.is_out_of_time}
    passed = {test for test, found in results.items() if found.outcome in ("passed", "xpassed")}
    # What did not run for lack of time says nothing. That holds for all that is missing where there is no end, and
    # for all in a file that had to be left out.
    files = {end.test.file for end in check.ended if end.whole_file}
    missing = draw.true - results.keys() - ended
    silent = {test for test in missing if unfinished or test.file in files}
    return Contradiction(
        passed_false=(draw.false & passed) - ended,
        failed_true=draw.true - (passed - ended) - silent - late,
        unfinished=unfinished,
    )


def is_forged(tests: Collection[NumberedTest], of: int = LEAST_FORGED) -> bool:
    """Whether so many tests that pass with a false expectation are more than chance; *of* so many functions."""
    cases = Counter(map(function_of, tests))
    least = min(LEAST_FORGED, max(1, of))
    return len(cases) >= least or max(cases.values(), default=0) >= MANY_CASES


def is_claimed(failed: Collection[NumberedTest], of: int = 0) -> bool:
    """Whether so many true tests that fail are more than flaky ones; *of* so many, half of them."""
    return len(failed) >= LEAST_CLAIMED and 2 * len(failed) >= of


def log_of(name: str, draw: Draw, outcome: Callable[[NumberedTest], str]) -> str:
    """Return what a person reads of one check: each test, its form and what it did."""
    lines = [f"{name}:"]
    forms = {"true": draw.true, "false": draw.false, "lost before": draw.lost}
    lines += [f"  {form:<12}{outcome(test):<9}{test}" for form, tests in forms.items() for test in sorted(tests)]
    return "\n".join(lines) + "\n"
