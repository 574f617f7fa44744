"""When two values of a declaration mean one thing to the client: versions, conditions, details. Pure."""

import re
from collections.abc import Callable, Mapping

from packaging.markers import InvalidMarker, Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_version

from groundup.languages.python.poetry import specifier
from groundup.manifests.records import Dependency

_QUOTED = re.compile(r"""('[^']*'|"[^"]*")""")
_ASSET_LISTS = frozenset({"includeassets", "excludeassets", "privateassets"})
_DEFAULTS = {"optional": "false", "default-features": "true"}
"""Details of Cargo that say what holds without them."""


def constraint_key(dependency: Dependency) -> str:
    """Return a constraint in one spelling: `==23.1` and `==23.1.0`, `^3.8` and `>=3.8,<4`, `*` and nothing."""
    return _CONSTRAINTS[dependency.language](dependency.constraint)


def marker_key(dependency: Dependency) -> str:
    """Return a marker of Python, or a condition of Cargo or MSBuild, in one spelling."""
    text = dependency.marker
    if dependency.language == "python":
        try:
            return str(Marker(text)) if text else ""
        except InvalidMarker:
            return " ".join(text.replace('"', "'").split())
    return without_blanks(text)


def details_key(dependency: Dependency) -> tuple[tuple[str, str], ...]:
    """Return all other details, sorted, in one spelling and without those that change nothing."""
    found = dict(dependency.details)
    if dependency.language == "rust":
        found = {name.replace("_", "-"): value for name, value in found.items()}
        found = {name: value for name, value in found.items() if _DEFAULTS.get(name) != value.strip()}
    if dependency.language == "csharp":
        found.pop("Condition", None)  # the marker has it
        found = {
            name.lower(): _list_key(value) if name.lower() in _ASSET_LISTS else value
            for name, value in found.items()
        }
    return tuple(sorted(found.items()))


def without_blanks(condition: str) -> str:
    """Return a condition without blanks but those in quotes, and between words."""
    parts = _QUOTED.split(" ".join(condition.split()))
    return "".join(part if at % 2 else re.sub(r"(?<!\w) | (?!\w)", "", part) for at, part in enumerate(parts))


def _list_key(value: str) -> str:
    return ";".join(sorted(part.lower() for part in re.split(r"[\s;,]+", value) if part))


def _python(text: str) -> str:
    try:
        clauses = SpecifierSet(specifier(text) if text.strip() not in ("", "*") else "")
    except (ValueError, InvalidSpecifier):
        return ",".join(sorted("".join(clause.split()) for clause in text.split(",")))
    found = set()
    for clause in clauses:
        keeps_zeros = clause.operator in ("~=", "===") or clause.version.endswith(".*")
        version = clause.version if keeps_zeros else canonicalize_version(clause.version)
        found.add(f"{clause.operator}{version}")
    return ",".join(sorted(found))


def _cargo(text: str) -> str:
    clauses = ["".join(clause.split()).removeprefix("^") for clause in text.split(",")]
    return ",".join(sorted(_short(clause) for clause in clauses if clause)) or "*"


def _short(clause: str) -> str:
    """Return `1` for `1.0` and `1.0.0`, and `0.4` for `0.4.0`, which allow the same; `0.0` is not `0.0.0`."""
    return re.sub(r"^((?:0\.)*[1-9]\d*(?:\.\d+)*?)(?:\.0)+$", r"\1", clause)


def _npm(text: str) -> str:
    joined = re.sub(r"(\^|~>|~|>=|<=|>|<|=)\s+", r"\1", " ".join(text.split()))
    return "*" if joined in ("", "*", "x", "X") else joined


def _nuget(text: str) -> str:
    compact = "".join(text.split())
    return re.sub(r"(?<![\w.-])(\d+(?:\.\d+)*)(?![\w.*-])", _four, compact)


def _four(match: re.Match[str]) -> str:
    """NuGet reads `13`, `13.0` and `13.0.0.0` as one version."""
    numbers = [part.lstrip("0") or "0" for part in match[1].split(".")]
    return ".".join((numbers + ["0"] * 4)[:4]) if len(numbers) <= 4 else match[1]


_CONSTRAINTS: Mapping[str, Callable[[str], str]] = {
    "python": _python, "rust": _cargo, "javascript": _npm, "csharp": _nuget,
}  # fmt: skip
