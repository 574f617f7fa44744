"""What making a set costs, entry by entry: processor time, with that of children, and room on the disk."""

import os
import resource
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_LAYERS = "layers"


class EntryCost(NamedTuple):
    """What one entry took."""

    processor_s: float
    layers_mb: float
    """Of environments that came to the cache meanwhile, by this program or another one."""


class CostMeter:
    """Measures entries. Of entries at the same time, each has an equal share of the processor's time."""

    def __init__(self, cache: Path) -> None:
        """Measure with the cache in the folder *cache*."""
        self._layers = cache / _LAYERS
        self._spent: dict[str, float] = {}
        self._there: dict[str, frozenset[Path]] = {}
        self._last = _processor_s()

    def begin(self, entry: str) -> None:
        """Let *entry* be measured from now on."""
        self._share_out()
        self._spent[entry] = 0.0
        self._there[entry] = frozenset(self._built())

    def end(self, entry: str) -> EntryCost:
        """Return what *entry* took."""
        self._share_out()
        before = self._there.pop(entry)
        size = size_of(path for path in self._built() if path not in before)
        return EntryCost(round(self._spent.pop(entry), 1), round(size / 1e6, 1))

    def _share_out(self) -> None:
        now = _processor_s()
        for entry in self._spent:
            self._spent[entry] += (now - self._last) / len(self._spent)
        self._last = now

    def _built(self) -> Iterator[Path]:
        for kind in _entries(self._layers):
            yield from (path for path in _entries(kind) if path.is_dir())


def _processor_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def size_of(places: Iterable[Path]) -> int:
    """Return how many bytes the files below *places* have; what is gone meanwhile has none."""
    size = 0
    for place in places:
        for folder, _, names in os.walk(place):
            for name in names:
                try:
                    size += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 - many of them
                except OSError:
                    continue
    return size


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
