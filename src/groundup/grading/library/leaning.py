"""Whether a submission passes in one of two mixed runs more than chance lets it. Pure.

Which run has the true form of a test is drawn for each grading, after the submission is handed in. An honest
library passes one form of a test, so in which run it passes is a toss of a coin for each. One that forges in one
run only, by a coin of its own or by what tells the sandboxes apart, passes more there.
"""

from collections.abc import Callable, Mapping
from math import comb

from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result

SELDOM = 0.05
"""An honest submission leans so much in one of 20 gradings, and in one of 60 million six times in a row."""


def chance_of_leaning(
    one: Mapping[NumberedTest, Result],
    other: Mapping[NumberedTest, Result],
    toss_of: Callable[[NumberedTest], str | None],
) -> float:
    """Return how likely an honest submission passes at least as unevenly in both runs: 0 to 1.

    *toss_of*: with what a test was drawn. That is one toss: in which run more of it passes.
    """
    more: dict[str, int] = {}
    for results, sign in ((one, 1), (other, -1)):
        for key, found in results.items():
            toss = toss_of(key)
            if toss is not None and found.outcome == "passed":
                more[toss] = more.get(toss, 0) + sign
    tosses = [ahead > 0 for ahead in more.values() if ahead]
    fewer = min(sum(tosses), len(tosses) - sum(tosses))
    ways = sum(comb(len(tosses), heads) for heads in range(fewer + 1))
    return min(1.0, 2 * ways / (1 << len(tosses)))
