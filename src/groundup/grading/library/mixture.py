"""Which tests are false in which of two mixed runs. Pure.

One honest pass shows the form of all that is true with it, so no more hangs together than must: functions of one
name are drawn apart where ids tell which is which, and cases of a table row by row. How many are false is a matter
of chance, too, so that no count of failures tells the form of the last ones.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from random import Random

from groundup.grading.library.hidden import NumberedTest


class Lots:
    """With what each function is drawn: by itself, or with all that have its name.

    *functions*: names and ids; *expected*: the tests that pytest finds.
    """

    def __init__(self, functions: Iterable[tuple[str, str]], expected: Collection[NumberedTest]) -> None:
        self._functions = tuple(functions)
        counts = Counter(place for _, place in self._functions)
        found = {key.without_parameters for key in expected}
        # A test that a class inherits has the id of no function; a function without a test may be a helper.
        inherited = {place.rpartition("::")[2] for place in found - counts.keys()}
        helping = {name for name, place in self._functions if place not in found or counts[place] > 1}
        names = Counter(name for name, _ in self._functions)
        joined = inherited | helping
        self._apart = {place for name, place in self._functions if names[name] > 1 and name not in joined}

    def of(self, place: str, name: str) -> str:
        """Return the lot of the function or test whose id is *place*."""
        return place if place in self._apart else name

    def named(self) -> dict[str, set[str]]:
        """Return the lots of each name."""
        found: dict[str, set[str]] = {}
        for name, place in self._functions:
            found.setdefault(name, set()).add(self.of(place, name))
        return found


@dataclass(frozen=True)
class Mixture:
    """How the tests of a suite are drawn into two runs. *bundles*: lot -> what it falls together with."""

    bundles: Mapping[str, str]
    second: frozenset[str]
    """Lots that are false in the first run and true in the second."""
    rows: Mapping[NumberedTest, str]
    """Cases that are drawn one by one -> their row."""
    crossed: frozenset[NumberedTest]
    """Of those, cases that are true where their function is false."""

    @property
    def first(self) -> frozenset[str]:
        """Lots that are true in the first run."""
        return frozenset(self.bundles.keys() - self.second)

    def is_swapped(self, key: NumberedTest, lot: str) -> bool:
        """Whether the test *key* is false in the first run."""
        return (lot in self.second) != (key in self.crossed)

    def toss_of(self, key: NumberedTest, lot: str) -> str | None:
        """Return the toss of a coin that decided where a test is false; None: there was none."""
        return self.rows.get(key) or self.bundles.get(lot)


def drawn_mixture(
    lots: Lots,
    reached: Mapping[str, Collection[str]],
    pinned: Collection[str],
    rows: Iterable[tuple[str, frozenset[NumberedTest]]],
    seed: str,
) -> Mixture:
    """Draw. *reached*: lot -> names of what fails it; *pinned*: true in the first run; *rows*: lots with cases."""
    random = Random(seed)  # noqa: S311 - the seed is the secret
    bundles = _bundles(lots.named(), reached)
    kept = {bundles[name] for name in pinned & bundles.keys()}
    leaders = sorted({*bundles.values()} - kept)
    drawn = set(random.sample(leaders, _about_half(len(leaders), random)))
    # Where a helper is false, all cases of its tests fail.
    sizes = Counter(bundles.values())
    each = sorted(sorted(cases) for lot, cases in rows if sizes[bundles[lot]] == 1)
    crossed = frozenset(key for row in each if random.random() < 0.5 for key in row)
    return Mixture(
        bundles=bundles,
        second=frozenset(lot for lot, leader in bundles.items() if leader in drawn),
        rows={key: str(row[0]) for row in each for key in row},
        crossed=crossed,
    )


def reachable(names: Iterable[str], by_name: Mapping[str, Collection[str]]) -> set[str]:
    """Return *names* with all that they mention, directly or not."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += by_name.get(name, ())
    return found


def _bundles(named: Mapping[str, Collection[str]], reached: Mapping[str, Collection[str]]) -> dict[str, str]:
    leader: dict[str, str] = {}

    def leader_of(lot: str) -> str:
        while (above := leader.get(lot, lot)) != lot:
            lot = above
        return lot

    for lot, names in sorted(reached.items()):
        for other in sorted({other for name in names for other in named.get(name, ())}):
            leader[leader_of(lot)] = leader_of(other)
    return {lot: leader_of(lot) for lot in reached}


def _about_half(count: int, random: Random) -> int:
    """Return how many of *count* coins show heads, at least a quarter and at most three, and one of two."""
    if count < 2:
        return 0
    while True:
        heads = sum(random.random() < 0.5 for _ in range(count))
        if count <= 4 * heads <= 3 * count:
            return heads
