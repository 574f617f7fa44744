"""Cargo.toml: dependencies of packages, targets and workspaces, and what is patched or replaced."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from groundup.languages.spelling import as_written
from groundup.manifests import toml
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Language, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan, Section
from groundup.manifests.toml import Assignment, Child, KeySection, Path, TomlDocument, assignments, inline_home

_KINDS = {
    "dependencies": DependencyKind.RUNTIME,
    "dev-dependencies": DependencyKind.DEV,
    "dev_dependencies": DependencyKind.DEV,
    "build-dependencies": DependencyKind.BUILD,
    "build_dependencies": DependencyKind.BUILD,
}
"""Tables of a package or a target; the spelling with `_` is what old editions allow."""

_WORKSPACE: Path = ("workspace", "dependencies")


_FIELDS = ("version", "features", "package")
"""Keys that always become fields of the record; what is left becomes details."""

_ORDER = ("workspace", "package", "version", "path", "git", "branch", "tag", "rev", "registry", "registry-index")


@dataclass(frozen=True)
class _CargoSection(KeySection):
    """A table of dependencies, which leaves its header behind when it is masked."""

    def clearing(self) -> list[Edit]:
        """Return the edits of a mask. Where every key had its own table, `[dependencies]` takes their place."""
        edits = super().clearing()
        headed = all(not child.members for child in self.children)
        there = self.document.table(*self.path) or inline_home(self.document, self.path)
        if there or not edits or not headed:
            return edits
        first, newline = min(edits), self.document.source.newline
        header = "[" + ".".join(map(toml.key, self.path)) + "]" + newline
        follows = newline if self.document.source.text[first.end :].strip() else ""
        return [Edit(first.start, first.end, header + follows), *(item for item in edits if item != first)]


class CargoToml(ManifestFormat):
    """The manifest of Cargo packages and workspaces."""

    name = "Cargo.toml"
    language: Language = "rust"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called Cargo.toml."""
        return path.name in ("Cargo.toml", "cargo.toml")

    def home(self, dependency: Dependency) -> SectionKey:
        """Return the table's key: optional dependencies stand among the others, patches with their registry."""
        kind = DependencyKind.RUNTIME if dependency.kind is DependencyKind.OPTIONAL else dependency.kind
        return SectionKey(kind, dependency.group, dependency.marker)

    def scan(self, source: Text) -> Scan:
        """Find all tables of dependencies. Raises `ManifestError`."""
        source.refuse_other_encodings()
        document = toml.parse(source)
        sections = [section for path, key in _places(document) for section in _section(document, path, key)]
        return Scan(source, sections, tuple(_notes(document)))

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that make the table of *key*. Raises `ManifestError` for a kind that Cargo has not."""
        path = _path_of(key)
        if path is None:
            return super().create(scan, key, added)
        new = [_render_in(scan.source, [item]) for item in added]
        return assignments(toml.parse(scan.source), path, new)


def _places(document: TomlDocument) -> Iterator[tuple[Path, SectionKey]]:
    for name, kind in _KINDS.items():
        yield (name,), SectionKey(kind)
    for target in _names(document, "target"):
        for name, kind in _KINDS.items():
            yield ("target", target, name), SectionKey(kind, marker=target)
    yield _WORKSPACE, SectionKey(DependencyKind.CONSTRAINT)
    for registry in _names(document, "patch"):
        yield ("patch", registry), SectionKey(DependencyKind.OVERRIDE, f"patch.{registry}")
    yield ("replace",), SectionKey(DependencyKind.OVERRIDE, "replace")


def _names(document: TomlDocument, *path: str) -> list[str]:
    return list(dict.fromkeys(child.name for child in document.children(*path)))


def _path_of(key: SectionKey) -> Path | None:
    if key.kind is DependencyKind.CONSTRAINT:
        return _WORKSPACE
    if key.kind is DependencyKind.OVERRIDE:
        return ("patch", key.group.removeprefix("patch.")) if key.group.startswith("patch.") else ("replace",)
    name = next((name for name, kind in _KINDS.items() if kind is key.kind), None)
    if name is None or key.group:
        return None
    return ("target", key.marker, name) if key.marker else (name,)


def _section(document: TomlDocument, path: Path, key: SectionKey) -> Iterator[Section]:
    plain = document.plain(*path)
    if plain is None:
        return
    children = document.children(*path)
    if not isinstance(plain, dict):
        raise document.source.error(f"{'.'.join(path)} must be a table", _place(document, path))
    entries = [_entry(document, path, child, key) for child in children]

    def render(items: Sequence[Dependency]) -> Assignment:
        return _render_in(document.source, items)

    yield _CargoSection(document, path, key, entries, children, render, _key_of)


def _place(document: TomlDocument, path: Path) -> int | None:
    """Return where something about *path* starts."""
    for child in document.children(*path[:-1]):
        if child.name == path[-1]:
            return child.start
    return None


def _entry(document: TomlDocument, path: Path, child: Child, key: SectionKey) -> ManifestEntry:
    source = document.source
    pieces = sorted(
        [member.span for member in child.members]
        + [Span(table.header.start, table.content_end) for table in child.tables if table.header]
    )
    text = source.newline.join(source.text[span.start : span.end] for span in pieces)
    try:
        dependency = _parse(child.name, document.plain(*path, child.name), key)
    except _UnusableError as error:
        raise source.error(f"{'.'.join((*path, child.name))} {error}", child.start) from error
    return ManifestEntry(
        dependency.but(text=text, location=source.location(pieces[0])),
        pieces[0],
    )


def _render_in(source: Text, items: Sequence[Dependency]) -> Assignment:
    if len(items) > 1:
        raise source.error(f"cannot hold {_key_of(items[0])!r} twice in one table")
    return _render(items[0])


def _notes(document: TomlDocument) -> Iterator[Note]:
    source = document.source
    members = document.value("workspace", "members")
    for item in (members.items or ()) if members else ():
        yield Note(
            topic="reference",
            message=f"the workspace has further manifests in {item.plain}",
            line=source.line_of(item.span.start),
            target=str(item.plain),
        )
    optional = _optional_names(document)
    naming = [
        child for child in document.children("features") if _names_dependencies(document, child.name, optional)
    ]
    if naming:
        names = ", ".join(child.name for child in naming)
        yield Note(
            topic="kept",
            message=f"features name dependencies: {names}",
            line=source.line_of(naming[0].start),
            kind=DependencyKind.OPTIONAL,
        )


def _names_dependencies(document: TomlDocument, feature: str, optional: frozenset[str]) -> bool:
    values = document.plain("features", feature)
    return isinstance(values, list) and any(
        "/" in item or ":" in item or item in optional for item in values if isinstance(item, str)
    )


def _optional_names(document: TomlDocument) -> frozenset[str]:
    """Return the optional dependencies that are no features of their own, so that a feature's name means them."""
    names = set()
    for path, _ in _places(document):
        table = document.plain(*path)
        for name, value in table.items() if isinstance(table, dict) else ():
            if isinstance(value, dict) and value.get("optional") is True:
                names.add(name)
    return frozenset(names - set(_names(document, "features")))


class _UnusableError(ValueError):
    """A value that declares no dependency; its text continues "dependencies.foo ..."."""


def _key_of(dependency: Dependency) -> str:
    return dependency.alias or dependency.name


def _parse(key: str, value: object, section: SectionKey) -> Dependency:
    """Return the dependency that `key = value` declares. Raises `_UnusableError`."""
    if isinstance(value, str):
        value = {"version": value}
    if not isinstance(value, dict):
        raise _UnusableError("must be a version or a table")
    table: dict[str, object] = dict(value)
    version, package, features = table.get("version", ""), table.get("package", key), table.get("features", [])
    if not isinstance(version, str) or not isinstance(package, str):
        raise _UnusableError("must give its version and its package as strings")
    if not isinstance(features, list) or not all(isinstance(item, str) for item in features):
        raise _UnusableError("must list its features as strings")
    name, alias = (package, key if package != key else "") if "package" in table else _named(key, section)
    rest = {name: item for name, item in table.items() if name not in _FIELDS}
    if "package" in table and not alias:
        rest["package"] = package
    source, origin = _origin(rest)
    kind = section.kind
    if kind is DependencyKind.RUNTIME and rest.get("optional") is True:
        kind = DependencyKind.OPTIONAL
        del rest["optional"]
    return Dependency(
        language="rust",
        name=name,
        normalised=as_written(name),
        constraint=version,
        extras=tuple(features),
        marker=section.marker,
        kind=kind,
        group=section.group,
        source=source,
        origin=origin,
        alias=alias,
        details=tuple(sorted((name, _detail(item)) for name, item in rest.items())),
    )


def _render(dependency: Dependency) -> Assignment:
    """Return key and value: the inverse of `_parse`."""
    table: dict[str, object] = {name: _from_detail(text) for name, text in dependency.details}
    if dependency.alias and dependency.group != "replace":
        table["package"] = dependency.name
    if dependency.constraint:
        table["version"] = dependency.constraint
    if dependency.source is DependencySource.WORKSPACE:
        table["workspace"] = True
    elif dependency.source in (DependencySource.PATH, DependencySource.PROJECT):
        table["path"] = dependency.origin
    elif dependency.source is DependencySource.GIT:
        table["git"] = dependency.origin
    elif dependency.origin:
        table.setdefault("registry", dependency.origin)
    if dependency.extras:
        table["features"] = list(dependency.extras)
    if dependency.kind is DependencyKind.OPTIONAL:
        table["optional"] = True
    key = _key_of(dependency)
    if table.keys() <= {"version"}:
        return key, toml.quoted(dependency.constraint or "*")
    names = sorted(table, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    return key, _inline({name: table[name] for name in names})


def _named(key: str, section: SectionKey) -> tuple[str, str]:
    """Return name and alias of a key without `package`: `[replace]` has package specifications as keys."""
    if section.group != "replace":
        return key, ""
    name = key.rpartition("#")[2].partition(":")[0].partition("@")[0]
    return (name, key) if name and name != key else (key, "")


def _origin(rest: dict[str, object]) -> tuple[DependencySource, str]:
    """Take out of *rest* where the dependency comes from."""
    if rest.get("workspace") is True:
        del rest["workspace"]
        return DependencySource.WORKSPACE, ""
    for name, source in (("git", DependencySource.GIT), ("path", DependencySource.PATH)):
        if isinstance(rest.get(name), str):
            return source, str(rest.pop(name))
    if isinstance(rest.get("registry"), str):
        return DependencySource.REGISTRY, str(rest.pop("registry"))
    return DependencySource.REGISTRY, ""


def _detail(value: object) -> str:
    """Return a text as it is, unless it would read as JSON, and everything else as JSON."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


def _from_detail(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _inline(value: object) -> str:
    """Return *value* as TOML on one line."""
    if isinstance(value, Mapping):
        members = ", ".join(f"{toml.key(str(name))} = {_inline(item)}" for name, item in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    return str(value) if isinstance(value, int) else toml.quoted(str(value))
