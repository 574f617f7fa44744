"""API coverage and counts as the published scripts before the harness compute them, faults included.

Endpoints are looked for by substrings: an endpoint counts as soon as one file holds any of its path's parts longer
than three characters. The share of a whole set is that of all its endpoints, not the mean of its repositories.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from groundup.domain.records import Record
from groundup.domain.verdicts import Score
from groundup.suites.repogenesis.official_coverage import FEATURE, SOURCE_SUFFIXES, Extracted, source_texts

_METHODS = "GET|POST|PUT|DELETE|PATCH"
_LINE = re.compile(rf"({_METHODS})\s+(/[^\s\-]+)\s*[-:]?\s*(.+?)(?:\n|$)", re.IGNORECASE)
_ROW = re.compile(rf"\|\s*({_METHODS})\s*\|\s*([^\|]+?)\s*\|", re.IGNORECASE)
_BLOCK = re.compile(r"```[\w]*\n(.*?)```", re.DOTALL)
_FEATURE = re.compile(
    r"[-*]\s+([A-Z][A-Za-z\s]+(?:Check|Login|Register|Create|Update|Delete|Get|List|Manage|Service|API))",
    re.MULTILINE,
)
_SUFFIXES = tuple(SOURCE_SUFFIXES)
_EXCLUDED = frozenset(
    {".git", "__pycache__", "node_modules", "venv", ".venv", "target", "build", "test", "tests", ".pytest_cache"}
)


class LegacyCoverage(Record):
    """How many endpoints were extracted, and how many found."""

    total: int
    implemented: int


def legacy_coverage(readme: str, submission: Path, *, features: bool = False) -> LegacyCoverage:
    """Return the figures of *submission*.

    The scripts read the submission's own README, and the task's only without one. *features*: as the first of the
    three scripts, which takes an entry of a list where there are no endpoints; those behind the published tables
    do not.
    """
    extracted = extract(readme, features=features)
    waiting = list(extracted)
    for text in source_texts(submission, _EXCLUDED, lambda name: name.endswith(_SUFFIXES)):
        waiting = [one for one in waiting if not _is_found(one, text)]
    return LegacyCoverage(total=len(extracted), implemented=len(extracted) - len(waiting))


def micro_average(coverages: Iterable[LegacyCoverage]) -> Score:
    """Return all endpoints found over all extracted."""
    every = list(coverages)
    return Score(
        numerator=sum(one.implemented for one in every),
        denominator=sum(one.total for one in every),
    )


def extract(readme: str, *, features: bool = False) -> tuple[Extracted, ...]:
    """Return what the scripts take for endpoints; paths keep the backtick that closes them."""
    found = dict.fromkeys(_lines(readme))
    for match in _ROW.finditer(readme):
        path = match.group(2).strip()
        if path.startswith(("/", "`/")):
            found[Extracted(method=match.group(1).upper(), path=path.strip("`").strip())] = None
    for block in _BLOCK.findall(readme):
        found.update(dict.fromkeys(_lines(block)))
    if features and not found:
        entry = _FEATURE.search(readme)  # only the first: with it, there is one
        if entry:
            found[Extracted(method=FEATURE, path=entry.group(1).strip())] = None
    return tuple(found)


def _lines(text: str) -> Iterator[Extracted]:
    for match in _LINE.finditer(text):
        yield Extracted(method=match.group(1).upper(), path=match.group(2).strip())


def _is_found(endpoint: Extracted, text: str) -> bool:
    if endpoint.method == FEATURE:
        lower = endpoint.path.lower()
        return lower.replace(" ", "_") in text or lower.replace(" ", "") in text
    parts = [part for part in re.sub(r"[{}<>:]", "", endpoint.path).split("/") if part]
    if any(len(part) > 3 and part in text for part in parts):
        return True
    return endpoint.path in text and any(sign in text for sign in (*parts, *_signs(endpoint.method)))


def _signs(method: str) -> Iterator[str]:
    yield from (f"@{owner}.{method.lower()}" for owner in ("app", "router", "bp"))
    yield from (f"{owner}.{method.lower()}" for owner in ("app", "router"))
    yield from (f'methods=["{method}"', f"methods=['{method}'", f"@{method.title()}Mapping")
