"""What became of a task's tests from one run to the next: what came back, what is new, what is the same. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from groundup.domain.names import count
from groundup.domain.verdicts import TestResult
from groundup.reports.causes import grouped, heading_of
from groundup.reports.why import cause_words, shortened, why_lines

_BACK = 12
"""Causes that are gone which are named."""
_ROOM = 16
"""Lines for what is newly lost, and for each other part of what is lost."""


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


def mended_lines(found: Mended, old: Iterable[TestResult], width: int) -> Iterator[str]:
    """Yield what became of the tests of an *old* attempt: how many of each kind, then each kind by its causes."""
    old = [one for one in old if one.lost]
    parts = (
        ("came back", found.back),
        ("newly lost", found.new),
        ("still lost, for another reason than before", found.changed),
        ("lost as before", found.same),
    )
    yield "; ".join(f"{len(tests)} {words}" for words, tests in parts if tests) or "nothing was lost in either"
    if found.back:
        yield ""
        yield f"{count(len(found.back), 'test')} came back:"
        yield from (shortened(f"  {line}", width) for line in _causes_gone(found, old))
    before = {one.id: heading_of(one) for one in old}
    for words, tests in parts[1:]:
        if not tests:
            continue
        yield ""
        yield f"{count(len(tests), 'test')} {words}:"
        groups = grouped(tests)
        for number, (first, *lines) in enumerate(why_lines(groups, _ROOM, width)):
            yield f"  {first}"
            if tests is found.changed and number < len(groups):
                earlier = dict.fromkeys(before[one.id] for one in groups[number].tests)
                yield shortened(f"    before: {'; or '.join(earlier)}", width)
            yield from (f"  {line}" for line in lines)


def _causes_gone(found: Mended, old: Sequence[TestResult]) -> Iterator[str]:
    """Yield a line for each cause of the *old* attempt of which tests came back: how many of how many."""
    back = {one.id for one in found.back}
    groups = [(group, sum(one.id in back for one in group.tests)) for group in grouped(old)]
    gone = [(group, number) for group, number in groups if number]
    for group, number in gone[:_BACK]:
        whole = group.cause.tests
        of = f"{number} of {count(whole, 'test')}" if number < whole else count(whole, "test")
        yield f"{of}: {cause_words(group.cause)}"
    if rest := gone[_BACK:]:
        tests = sum(number for _, number in rest)
        yield f"and {count(tests, 'test')} of {count(len(rest), 'cause')} more"


def _told(test: TestResult) -> tuple[str, str, str]:
    return test.outcome, test.message, test.demand
