"""Why tests of the original do not pass here, and why published counts differ from expected ones."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from groundup.grading.library.execution import Execution
from groundup.grading.library.report import Result
from groundup.suites.nl2repobench.freezing import given_reason
from groundup.suites.nl2repobench.recipe import Difference, Recipe, Why

_MARKED = frozenset({Why.SKIPPED, Why.EXPECTED_FAILURE})
"""Tests that never pass with the original, so a published count of passing tests cannot hold them."""


_NEAR = 0.05
"""Of a published count: what differs by more is for a person to explain."""
_OPTIONAL = re.compile(r"could not import|not installed|unavailable|not available|requires|No module named")


def explained(recipe: Recipe) -> tuple[Difference, ...]:
    """Return what accounts for each published count; what a person wrote and still adds up is kept."""
    found: list[Difference] = []
    for version, declared in sorted(recipe.declared.items()):
        wanted = declared - len(recipe.expected)
        given = [one for one in recipe.differences if one.data_version == version]
        if given and sum(one.tests for one in given) == wanted:
            found += given
        elif wanted:
            found += _of_version(recipe, version, wanted)
    return tuple(found)


def unexplained(recipe: Recipe) -> dict[str, int]:
    """Return data versions whose published count is not accounted for, and by how many tests."""
    left = {}
    for version, declared in recipe.declared.items():
        given = sum(one.tests for one in recipe.differences if one.data_version == version)
        if given != declared - len(recipe.expected):
            left[version] = declared - len(recipe.expected) - given
    return left


def _of_version(recipe: Recipe, version: str, wanted: int) -> Iterator[Difference]:
    collected = recipe.frozen.collected if recipe.frozen else None
    groups = Counter(one.why for one in recipe.excluded)
    failing = {why: number for why, number in groups.items() if why not in _MARKED}
    if wanted > 0 and sum(failing.values()) == wanted:
        for why, number in failing.items():
            note = next(one.note or one.id for one in recipe.excluded if one.why is why)
            yield Difference(data_version=version, why=why, tests=number, note=note)
        return
    fitting = [why for why, number in failing.items() if number == wanted]
    # One reason alone can hold for some of its tests: of two missing modules one was there.
    fitting = fitting or [why for why, number in failing.items() if len(failing) == 1 and number > wanted > 0]
    if fitting:
        note = next(one.note or one.id for one in recipe.excluded if one.why is fitting[0])
        part = f"{wanted} of {failing[fitting[0]]}: " if failing[fitting[0]] != wanted else ""
        yield Difference(data_version=version, why=fitting[0], tests=wanted, note=f"{part}{note}")
        return
    alike = Counter(one.note for one in recipe.excluded if one.why is Why.SKIPPED and one.note)
    optional = next((note for note, number in alike.items() if number == wanted and _OPTIONAL.search(note)), None)
    if optional is not None:
        yield Difference(data_version=version, why=Why.OPTIONAL_DEPENDENCY, tests=wanted, note=optional)
        return
    counted = f"{collected} collected, {len(recipe.expected)} passed in each run"
    counted += "".join(f", {number} {why.value}" for why, number in sorted(groups.items()))
    if collected is not None and recipe.declared[version] == collected:
        note = f"all collected tests were published as passing: {counted}"
        yield Difference(data_version=version, why=Why.COUNT_WRONG, tests=wanted, note=note)
        return
    others = [name for name, count in recipe.declared.items() if count == len(recipe.expected)]
    if others:
        note = f"corrected by the publishers in {others[0]}: {counted}"
        yield Difference(data_version=version, why=Why.COUNT_WRONG, tests=wanted, note=note)
        return
    if abs(wanted) <= max(1, recipe.declared[version] * _NEAR):
        note = f"what the published image held is not known: {counted}"
        yield Difference(data_version=version, why=Why.VERSIONS, tests=wanted, note=note)


_SIGNS = (
    (
        Why.NETWORK,
        r"name resolution|Name or service not known|Network is unreachable|Max retries exceeded|gaierror|"
        r"NewConnectionError|No route to host|URLError|ConnectError",
    ),
    (Why.DISPLAY, r"\$?DISPLAY\b|no display|Xlib|TclError|xclip|xsel|pbcopy"),
    (Why.SERVICE, r"Connection refused|ConnectionRefusedError|could not connect to server|redis|mysql|postgres"),
    (
        Why.OPTIONAL_DEPENDENCY,
        r"No module named|could not import|ModuleNotFoundError|not installed|is required for",
    ),
    (Why.USER, r"PermissionError|Permission denied|Operation not permitted|\broot\b"),
)


def with_reasons(recipe: Recipe, execution: Execution, say: Callable[[str], None]) -> Recipe:
    """Return the draft with a reason for each failing test whose output shows one."""
    reasons: dict[str, Why] = dict(recipe.reasons)
    for key, result in sorted(execution.report.results.items()):
        if result.outcome not in ("failed", "error") or given_reason(recipe, key) is not None:
            continue
        why = _reason_of(result)
        say(f"fails: {key}: {result.message} -> {why.value if why else 'no reason known'}")
        if why is not None:
            reasons[str(key)] = why
    return recipe.but(reasons=reasons)


def _reason_of(result: Result) -> Why | None:
    """Return the reason that *result* of the original shows."""
    for why, signs in _SIGNS:
        if re.search(signs, result.message):
            return why
    return None
