"""Poetry's constraints as the published code sees them: names and versions only, turned into requirements."""

import re
from collections.abc import Mapping

from packaging.requirements import Requirement
from packaging.version import Version

_CLAUSE = re.compile(r"(?P<operator>\^|~=|~|==|!=|>=|<=|>|<|=)?\s*(?P<version>[^\s,<>=!~^][^\s,]*)")


def poetry_requirements(table: Mapping[str, object]) -> list[Requirement]:
    """Return the requirements of a `dependencies` table: extras, markers, sources and `optional` are lost.

    Of several constraints for one name only the first counts. Raises `ValueError`.
    """
    found = set()
    for name, said in table.items():
        if name.lower() == "python":
            continue
        first = said[0] if isinstance(said, list) and said else said
        text = first.get("version", "*") if isinstance(first, dict) else first
        if not isinstance(text, str):
            raise ValueError(f"unsupported constraint of {name}")  # noqa: TRY004 - what the reader of it raises
        found.add(f"{name}{specifier(text)}")
    return [Requirement(item) for item in sorted(found)]


def specifier(text: str) -> str:
    """Return a Poetry constraint as a version specifier. Raises `ValueError`.

    Alternatives (`||`) have no such form; they are kept apart from everything else as an arbitrary version.
    """
    if "||" in text or "|" in text:
        return "===" + "_or_".join("_".join(part.split()) for part in re.split(r"\|\|?", text))
    clauses = [_clause(match["operator"] or "", match["version"]) for match in _CLAUSE.finditer(text)]
    return ",".join(clause for clause in clauses if clause)


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
