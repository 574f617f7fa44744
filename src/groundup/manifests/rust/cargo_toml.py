"""Cargo.toml: dependencies of packages, targets and workspaces, and what is patched or replaced."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from groundup.manifests import toml
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, DependencyKind, Language, Note, SectionKey
from groundup.manifests.rust import declarations
from groundup.manifests.sections import ManifestEntry, Scan, Section, SpanFormat
from groundup.manifests.toml import Child, Path, TomlDocument
from groundup.manifests.toml_sections import Assignment, KeySection, assignments, inline_home

_KINDS = {
    "dependencies": DependencyKind.RUNTIME,
    "dev-dependencies": DependencyKind.DEV,
    "dev_dependencies": DependencyKind.DEV,
    "build-dependencies": DependencyKind.BUILD,
    "build_dependencies": DependencyKind.BUILD,
}
"""Tables of a package or a target; the spelling with `_` is what old editions allow."""

_WORKSPACE: Path = ("workspace", "dependencies")


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


class CargoToml(SpanFormat):
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

    yield _CargoSection(document, path, key, entries, children, render, declarations.key_of)


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
        dependency = declarations.parse(child.name, document.plain(*path, child.name), key)
    except declarations.UnusableError as error:
        raise source.error(f"{'.'.join((*path, child.name))} {error}", child.start) from error
    return ManifestEntry(
        dependency.model_copy(update={"text": text, "location": source.location(pieces[0])}),
        pieces[0],
    )


def _render_in(source: Text, items: Sequence[Dependency]) -> Assignment:
    if len(items) > 1:
        raise source.error(f"cannot hold {declarations.key_of(items[0])!r} twice in one table")
    return declarations.render(items[0])


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
