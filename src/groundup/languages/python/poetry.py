"""Tables of Poetry and Pipenv: one key per dependency, whose value is a constraint, a table or several tables.

Constraints as Poetry writes them, as version specifiers: carets, tildes, wildcards and alternatives.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from packaging.version import Version

from groundup.languages.python.requirement import details_of, group_kind
from groundup.languages.spelling import python_name
from groundup.manifests import toml
from groundup.manifests.editing import Edit, Text
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Language, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan
from groundup.manifests.toml import KeySection, assignments

_KNOWN = frozenset({"version", "extras", "markers", "optional", "git", "path", "url"})
_PLACES = (
    ("git", DependencySource.GIT),
    ("path", DependencySource.PATH),
    ("file", DependencySource.PATH),
    ("url", DependencySource.URL),
)


def read_value(name: str, value: object, kind: DependencyKind, group: str) -> list[Dependency]:
    """Return the dependencies that `name = value` declares: several where the value lists alternatives."""
    alternatives = value if isinstance(value, list) else [value]
    return [_one(name, item, kind, group) for item in alternatives]


def _one(name: str, value: object, kind: DependencyKind, group: str) -> Dependency:
    table: Mapping[str, object] = value if isinstance(value, dict) else {"version": value}
    place = next(((key, source) for key, source in _PLACES if key in table), None)
    rest = {key: _text(item) for key, item in table.items() if key not in _KNOWN}
    if table.get("optional") is False:
        rest["optional"] = "false"
    version, extras = table.get("version", ""), table.get("extras", [])
    constraint = version if isinstance(version, str) else _text(version)
    if "version" not in table and place is None:
        rest["version"] = "unset"
    return Dependency(
        language="python",
        name=name,
        normalised=python_name(name),
        constraint="" if constraint == "*" else constraint,
        extras=tuple(str(item) for item in extras) if isinstance(extras, list) else (),
        marker=str(table.get("markers", "")),
        kind=DependencyKind.OPTIONAL if table.get("optional") is True else kind,
        group=group,
        source=place[1] if place else DependencySource.REGISTRY,
        origin=str(table[place[0]]) if place else "",
        details=details_of({key: item for key, item in rest.items() if not place or key != place[0]}),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def rendered_key(dependencies: Sequence[Dependency]) -> tuple[str, str]:
    """Return the key and the value of the declarations of one name."""
    tables = [_table(item) for item in dependencies]
    if len(tables) > 1:
        return dependencies[0].name, "[" + ", ".join(inline_table(item) for item in tables) + "]"
    if tables[0].keys() == {"version"}:
        return dependencies[0].name, toml.quoted(str(tables[0]["version"]))
    return dependencies[0].name, inline_table(tables[0])


def _table(dependency: Dependency) -> dict[str, object]:
    table: dict[str, object] = {}
    details = dict(dependency.details)
    key = next((key for key, source in _PLACES if source is dependency.source), None)
    if key:
        table[key] = dependency.origin
    elif details.pop("version", None) is None or dependency.constraint:
        table["version"] = dependency.constraint or "*"
    if key and dependency.constraint:
        table["version"] = dependency.constraint
    if dependency.extras:
        table["extras"] = list(dependency.extras)
    if dependency.marker:
        table["markers"] = dependency.marker
    table.update({name: detail_value(name, text) for name, text in details.items()})
    if dependency.kind is DependencyKind.OPTIONAL:
        table["optional"] = True
    return table


def detail_value(name: str, text: str) -> object:
    """Return a detail as TOML would have it: a number, a boolean or a list again, else the text."""
    if name in ("rev", "tag", "branch", "python", "platform", "source", "subdirectory", "index"):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def inline_table(table: Mapping[str, object]) -> str:
    """Return *table* as TOML on one line."""
    return "{ " + ", ".join(f"{toml.key(key)} = {_toml(item)}" for key, item in table.items()) + " }"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return inline_table(value)
    return str(value) if isinstance(value, int | float) else toml.quoted(str(value))


_OTHERS = frozenset({"source", "requires", "pipenv", "scripts"})


class Pipfile(ManifestFormat):
    """The manifest of pipenv."""

    name = "Pipfile"
    language: Language = "python"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called Pipfile."""
        return path.name == "Pipfile"

    def scan(self, source: Text) -> Scan:
        """Find all sections: every table that is none of pipenv's own. Raises `ManifestError`."""
        document = toml.parse(source)
        named = {name: value for name, value in document.data.items() if name not in _OTHERS}
        for name, value in named.items():
            if not isinstance(value, dict):
                raise source.error(f"{name} must be a table", document.children()[0].start)
        return Scan(source, [_section(document, name) for name in named])

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Make the table."""
        table = {DependencyKind.RUNTIME: "packages", DependencyKind.DEV: "dev-packages"}.get(key.kind, key.group)
        if not table:
            return super().create(scan, key, added)
        return assignments(toml.parse(scan.source), (table,), [rendered_key([item]) for item in added])


def _section(document: toml.TomlDocument, name: str) -> KeySection:
    source, entries, children = document.source, [], []
    known = {"packages": SectionKey(DependencyKind.RUNTIME), "dev-packages": SectionKey(DependencyKind.DEV, "dev")}
    key = known.get(name, SectionKey(group_kind(name), name))
    for child in document.children(name):
        span = child.span
        for dependency in read_value(child.name, document.plain(name, child.name), key.kind, key.group):
            where = {"text": source.text[span.start : span.end], "location": source.location(span)}
            entries.append(ManifestEntry(dependency.but(**where), span))
            children.append(child)
    return KeySection(document, (name,), key, entries, children, rendered_key)


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
