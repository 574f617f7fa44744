"""Whether passes stand in one of two mixed runs more than chance puts them there. Pure.

Which run has the true form of a test is drawn for each grading, after the submission is handed in. So an honest
library passes about the same share in both. One that forges in one run only, by a coin or by what tells it the
sandboxes apart, passes what is true in that run and fails what is true in the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import comb

from groundup.grading.library.decision import FatalTest
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.library.twin import function_of

SELDOM = 0.004
"""An honest submission leans so much in one of 250 gradings, and in one of 15 million three times in a row."""


def chance_of_leaning(
    results: Mapping[NumberedTest, Result],
    ended: Sequence[FatalTest],
    bundles: Mapping[str, str],
    second: Iterable[str],
) -> float:
    """Return how likely an honest submission stands at least as unevenly in both runs: 0 to 1.

    *results*: of the true form of each test. *bundles*: function -> what it was drawn together with; *second*: the
    functions that were true in the second run. A bundle passes when most of its tests do.
    """
    tally: dict[str, list[bool]] = {}
    for key in {*results, *(end.test for end in ended)}:
        bundle = bundles.get(function_of(key))
        if bundle is not None:
            known = results.get(key)
            tally.setdefault(bundle, []).append(known is not None and known.outcome == "passed")
    swapped = {bundles[name] for name in second if name in bundles}
    passing = {bundle for bundle, passes in tally.items() if 2 * sum(passes) > len(passes)}
    there = tally.keys() & swapped
    return _exact(len(tally), len(there), len(passing), len(passing & there))


def _exact(every: int, drawn: int, passing: int, both: int) -> float:
    """Return the two-sided chance of Fisher's exact test: *both* of *passing* among *drawn* of *every*."""
    ways = [
        comb(passing, hit) * comb(every - passing, drawn - hit)
        for hit in range(max(0, drawn + passing - every), min(drawn, passing) + 1)
    ]
    seen = comb(passing, both) * comb(every - passing, drawn - both)
    return sum(one for one in ways if one <= seen) / sum(ways)
