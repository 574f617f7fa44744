"""What became of a task's tests from one run to the next: what came back, what is new, what is the same. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from groundup.domain.verdicts import TestResult


class Mended(NamedTuple):
    """The tests of one task in a newer attempt, beside those of an older one."""

    back: tuple[TestResult, ...]
    """Lost before, and passed now."""
    new: tuple[TestResult, ...]
    """Passed before, or not known, and lost now."""
    changed: tuple[TestResult, ...]
    """Lost in both, with other words: one demand may be met, and the next one be told."""
    same: tuple[TestResult, ...]
    """Lost in both, with the same words."""


def mended(old: Iterable[TestResult], new: Iterable[TestResult]) -> Mended:
    """Compare the tests of two attempts at one task, by their names."""
    before = {one.id: one for one in old if one.lost}
    now = {one.id: one for one in new}
    lost = [one for one in now.values() if one.lost]
    both = [one for one in lost if one.id in before]
    return Mended(
        back=tuple(now[name] for name in before if name in now and not now[name].lost),
        new=tuple(one for one in lost if one.id not in before),
        changed=tuple(one for one in both if _told(one) != _told(before[one.id])),
        same=tuple(one for one in both if _told(one) == _told(before[one.id])),
    )


def _told(test: TestResult) -> tuple[str, str, str]:
    return test.outcome, test.message, test.demand
