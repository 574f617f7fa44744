"""Constraints as Poetry writes them, as version specifiers: carets, tildes, wildcards and alternatives."""

import re
from collections.abc import Sequence

from packaging.version import Version

_CLAUSE = re.compile(r"(?P<operator>\^|~=|~|==|!=|>=|<=|>|<|=)?\s*(?P<version>[^\s,<>=!~^][^\s,]*)")


def specifier(text: str) -> str:
    """Return a Poetry constraint as a version specifier. Raises `ValueError`.

    Alternatives that touch or overlap (`^1 || ^2`) are one range; others have no such form.
    """
    alternatives = [_clauses(part) for part in re.split(r"\|\|?", text)]
    return ",".join(alternatives[0] if len(alternatives) == 1 else _united(alternatives))


def _clauses(text: str) -> list[str]:
    found = (_clause(match["operator"] or "", match["version"]) for match in _CLAUSE.finditer(text))
    return [clause for whole in found for clause in whole.split(",") if clause]


def _united(alternatives: Sequence[Sequence[str]]) -> list[str]:
    ranges: list[tuple[Version, Version | None]] = []
    for clauses in alternatives:
        low = [Version(clause[2:]) for clause in clauses if clause.startswith(">=")]
        high = [Version(clause[1:]) for clause in clauses if re.match(r"<(?!=)", clause)]
        if len(low) != 1 or len(low) + len(high) != len(clauses) or len(high) > 1:
            raise ValueError(f"alternatives that are no ranges: {alternatives}")
        ranges.append((low[0], high[0] if high else None))
    ranges.sort(key=lambda item: item[0])
    start, end = ranges[0]
    for low_end, high_end in ranges[1:]:
        if end is not None and low_end > end:
            raise ValueError(f"alternatives with a gap: {alternatives}")
        end = None if end is None or high_end is None else max(end, high_end)
    return [f">={start}", *([f"<{end}"] if end else [])]


def _clause(operator: str, version: str) -> str:
    if version in ("*", "x"):
        return ""
    if version.endswith(".*"):
        prefix = Version(version[:-2])
        return f"!={version}" if operator == "!=" else _range(prefix, len(prefix.release))
    known = Version(version)
    release = known.release
    if operator == "^":
        leading = next((place for place, part in enumerate(release) if part), len(release) - 1)
        return _range(known, leading + 1)
    if operator == "~":
        return _range(known, min(len(release), 2))
    return f"{'==' if operator in ('', '=') else operator}{known}"


def _range(low: Version, places: int) -> str:
    """Return `>=low,<high`, where *high* is the first *places* of *low* with the last of them raised by one."""
    release = low.release[:places]
    return f">={low},<{'.'.join(map(str, (*release[:-1], release[-1] + 1)))}"
