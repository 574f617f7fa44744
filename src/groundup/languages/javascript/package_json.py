"""package.json: dependencies, overrides, catalogs and lists of names, read and edited by span, with specifiers.

npm, pnpm, Yarn and Bun write ranges, aliases, paths, repositories and tarballs after a package's name.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.languages.spelling import as_written
from groundup.manifests.editing import Edit, Text, apply
from groundup.manifests.json_tree import (
    BracketedList,
    JsonDocument,
    JsonMember,
    JsonNode,
    ListSection,
    PeerSection,
    ShadowedSection,
    laid_out,
    parse,
    quoted,
)
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Language, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan, Section

_ALIAS = re.compile(r"npm:(?P<name>(?:@[^/@\s]+/)?[^/@\s]+)(?:@(?P<constraint>.*))?", re.DOTALL)
_WORKSPACE_ALIAS = re.compile(r"workspace:(?P<name>(?:@[^/@\s]+/)?[^/@\s]+)@(?P<constraint>.+)", re.DOTALL)
_PATH = re.compile(r"(?:file:|link:|portal:|\.{1,2}(?:/|\\|$)|~/|/|[A-Za-z]:[\\/])")
_HOSTED = re.compile(r"(?:github|gitlab|bitbucket|gist):|[A-Za-z0-9_-][\w.-]*/[\w.-]+(?:#.*)?$")
_GIT = re.compile(r"git(?:\+\w+)?:|git@|ssh:|https?://[^#]*\.git(?:#|$)|https?://github\.com/[^/]+/[^/#]+(?:#|$)")
_SHARED = re.compile(r"(?:workspace|catalog):")


class SpecifierFields(NamedTuple):
    """The parts of a specifier, as the fields of a `Dependency`."""

    source: DependencySource
    name: str
    constraint: str = ""
    origin: str = ""
    alias: str = ""


def parse_specifier(key: str, text: str) -> SpecifierFields:
    """Return what `"key": "text"` asks for. Everything has a meaning: what is nothing else is a range or a tag."""
    alias = _ALIAS.fullmatch(text)
    if alias:
        return SpecifierFields(DependencySource.REGISTRY, alias["name"], alias["constraint"] or "", alias=key)
    aliased = _WORKSPACE_ALIAS.fullmatch(text)
    if aliased:
        return SpecifierFields(DependencySource.WORKSPACE, aliased["name"], aliased["constraint"], text, key)
    if _SHARED.match(text):
        return SpecifierFields(DependencySource.WORKSPACE, key, _shared_constraint(text), text)
    if _PATH.match(text):
        return SpecifierFields(DependencySource.PATH, key, origin=text)
    if _GIT.match(text) or _HOSTED.match(text):
        return SpecifierFields(DependencySource.GIT, key, origin=text)
    if re.match(r"[a-z]+:", text):  # http:, https:, jsr:, patch:, exec: and what else managers invent
        return SpecifierFields(DependencySource.URL, key, origin=text)
    return SpecifierFields(DependencySource.REGISTRY, key, text)


def render_specifier(found: SpecifierFields) -> tuple[str, str]:
    """Return key and text of a specifier: the inverse of `parse_specifier` where the text is usual."""
    key = found.alias or found.name
    if found.source is not DependencySource.REGISTRY:
        return key, found.origin
    if found.alias:
        return key, f"npm:{found.name}" + (f"@{found.constraint}" if found.constraint else "")
    return key, found.constraint


def selected(selector: str) -> str:
    """Return the package that a selector ends with, without its version."""
    last = selector.rpartition(">")[2]
    parts = [part for part in last.split("/") if part not in ("", "**")]
    name = "/".join(parts[-2:]) if len(parts) > 1 and parts[-2].startswith("@") else (parts or [last])[-1]
    return name[0] + name[1:].partition("@")[0] if name else name


def _shared_constraint(text: str) -> str:
    """Return the range of `workspace:^1`; a path or a catalog's name is none."""
    rest = text.partition(":")[2]
    return "" if text.startswith("catalog:") or "/" in rest else rest


Path = tuple[str, ...]

MAIN: dict[Path, DependencyKind] = {
    ("dependencies",): DependencyKind.RUNTIME,
    ("devDependencies",): DependencyKind.DEV,
    ("peerDependencies",): DependencyKind.PEER,
    ("optionalDependencies",): DependencyKind.OPTIONAL,
}
"""Objects of names and specifiers, which every package manager reads."""

META: Path = ("peerDependenciesMeta",)

OTHERS: dict[Path, DependencyKind] = {
    ("bundledDependencies",): DependencyKind.GROUP,
    ("bundleDependencies",): DependencyKind.GROUP,
    ("overrides",): DependencyKind.OVERRIDE,
    ("resolutions",): DependencyKind.OVERRIDE,
    ("dependenciesMeta",): DependencyKind.OVERRIDE,
    ("patchedDependencies",): DependencyKind.OVERRIDE,
    ("trustedDependencies",): DependencyKind.OVERRIDE,
    ("pnpm", "overrides"): DependencyKind.OVERRIDE,
    ("pnpm", "packageExtensions"): DependencyKind.OVERRIDE,
    ("pnpm", "patchedDependencies"): DependencyKind.OVERRIDE,
    ("pnpm", "onlyBuiltDependencies"): DependencyKind.OVERRIDE,
    ("pnpm", "neverBuiltDependencies"): DependencyKind.OVERRIDE,
    ("pnpm", "ignoredBuiltDependencies"): DependencyKind.OVERRIDE,
    ("pnpm", "allowedDeprecatedVersions"): DependencyKind.OVERRIDE,
    ("pnpm", "peerDependencyRules", "allowedVersions"): DependencyKind.OVERRIDE,
    ("pnpm", "peerDependencyRules", "ignoreMissing"): DependencyKind.OVERRIDE,
    ("pnpm", "peerDependencyRules", "allowAny"): DependencyKind.OVERRIDE,
    ("catalog",): DependencyKind.CONSTRAINT,
    ("workspaces", "catalog"): DependencyKind.CONSTRAINT,
}
"""Further objects and arrays that name packages; their group is the path in the document."""

CATALOGS: tuple[Path, ...] = (("catalogs",), ("workspaces", "catalogs"))
LISTS = ("bundledDependencies", "bundleDependencies", "trustedDependencies", "ignoreMissing", "allowAny")


def path_of(dependency: Dependency, source: Text) -> Path:
    """Return where declarations of this kind and group stand. Raises `ManifestError` for others."""
    if not dependency.group:
        for path, kind in MAIN.items():
            if kind is dependency.kind:
                return path
    for path, kind in OTHERS.items():
        if kind is dependency.kind and ".".join(path) == dependency.group:
            return path
    for path in CATALOGS:
        prefix = ".".join(path) + "."
        if dependency.kind is DependencyKind.CONSTRAINT and dependency.group.startswith(prefix):
            return (*path, dependency.group.removeprefix(prefix))
    group = f" of group {dependency.group!r}" if dependency.group else ""
    raise source.error(
        f"has no place for {dependency.name!r}, a {dependency.kind} dependency{group}; give it another kind"
    )


def with_member(document: JsonDocument, path: Path) -> JsonDocument:
    """Return the document with something at *path*: an empty object or list, made at the end of its parent."""
    empty = "[]" if path[-1] in LISTS else "{}"
    for depth in range(1, len(path) + 1):
        if document.member(*path[:depth]) is not None:
            continue
        parent: JsonNode = document.root
        if depth > 1:
            found = document.member(*path[: depth - 1])
            assert found is not None
            parent = found.value
        if parent.members is None:
            name = ".".join(path[: depth - 1])
            raise document.source.error(f"{name} must be an object to hold {path[depth - 1]!r}", parent.span.start)
        text = f"{quoted(path[depth - 1])}{document.colon}{empty if depth == len(path) else '{}'}"
        spans = [item.span for item in parent.members]
        edits: list[Edit] = BracketedList(document, parent.inner, spans).rewriting(range(len(spans)), [text])
        source = document.source
        changed = Text(source.path, apply(source.text, edits), source.encoding, source.errors, source.bom)
        document = parse(changed)
    return document


class PackageJson(ManifestFormat):
    """The manifest of npm, pnpm, Yarn and Bun."""

    name = "package.json"
    language: Language = "javascript"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called package.json."""
        return path.name == "package.json"

    def scan(self, source: Text) -> Scan:
        """Find all sections. Raises `ManifestError`."""
        document = parse(source)
        sections: list[Section] = []
        for path, kind in MAIN.items():
            sections += _main_sections(document, path, kind)
        for path, kind in [*OTHERS.items(), *_catalogs(document)]:
            member = document.member(*path)
            if member and not isinstance(member.value.plain, bool):
                sections.append(_other_section(document, member.value, SectionKey(kind, ".".join(path)), path[-1]))
        sections += _shadowed(document)
        return Scan(source, sections, tuple(_notes(document)))

    def write(
        self,
        data: bytes,
        dependencies: Sequence[Dependency],
        path: str,
        kinds: Collection[DependencyKind] | None = None,
    ) -> bytes:
        """Make the objects that new declarations need, then write as every format does. Raises `ManifestError`."""
        source = Text.decode(data, path)
        document = parse(source)
        concerned = [item for item in dependencies if kinds is None or item.kind in kinds]
        places = [path_of(item, source) for item in concerned]
        if any(item.kind is DependencyKind.PEER and _meta_of(item) for item in concerned):
            places.append(META)
        for place in dict.fromkeys(places):
            document = with_member(document, place)
        data = source.encode(document.source.text)
        return super().write(data, dependencies, path, kinds)


def _main_sections(document: JsonDocument, path: tuple[str, ...], kind: DependencyKind) -> Iterator[Section]:
    member = document.member(*path)
    meta = document.member(*META) if kind is DependencyKind.PEER else None
    if meta is not None and meta.value.members is None:
        raise document.source.error(f"{META[0]} must be an object", meta.span.start)
    if member is None:
        if meta:
            yield ShadowedSection(SectionKey(kind, f"unused {META[0]}"), meta.value)
        return
    node = member.value if member.value.plain != [] else JsonNode(member.value.span, None)  # PHP's empty object
    if node.members is None and node.plain is not None:
        raise document.source.error(f"{path[0]} must be an object of names and versions", member.span.start)
    about = {item.key: item.value for item in (meta.value.members or () if meta else ())}
    entries = [_main_entry(document, item, kind, about.get(item.key)) for item in _counting(node)]
    key = SectionKey(kind)
    if kind is DependencyKind.PEER:
        yield PeerSection(
            document,
            key,
            node,
            entries,
            _rendering(document),
            meta.value if meta else None,
            _meta_rendering(document),
        )
    else:
        yield ListSection(document, key, node, entries, _rendering(document))


def _counting(node: JsonNode) -> list[JsonMember]:
    """Return the members that count: of several with one key, the last."""
    last = {item.key: item for item in node.members or ()}
    return [item for item in node.members or () if last[item.key] is item]


def _main_entry(
    document: JsonDocument, member: JsonMember, kind: DependencyKind, meta: JsonNode | None
) -> ManifestEntry:
    text = member.value.plain
    if not isinstance(text, str):
        raise document.source.error(f"the version of {member.key!r} must be a string", member.span.start)
    details = _meta_details(meta)
    found = parse_specifier(member.key, text)
    if render_specifier(found) != (member.key, text):
        details = (*details, ("specifier", text))
    return ManifestEntry(
        Dependency(
            language="javascript",
            name=found.name,
            normalised=as_written(found.name),
            constraint=found.constraint,
            kind=kind,
            source=found.source,
            origin=found.origin,
            alias=found.alias,
            details=tuple(sorted(details)),
            text=document.source.text[member.span.start : member.span.end],
            location=document.source.location(member.span),
        ),
        member.span,
    )


def _meta_details(meta: JsonNode | None) -> tuple[tuple[str, str], ...]:
    if meta is None:
        return ()
    if not isinstance(meta.plain, dict) or not meta.plain or meta.plain.keys() & {"meta", "specifier"}:
        return (("meta", _canonical(meta.plain)),)
    return tuple((str(key), _canonical(value)) for key, value in meta.plain.items())


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _other_section(document: JsonDocument, node: JsonNode, key: SectionKey, name: str) -> Section:
    if node.members is None and node.items is None and node.plain is not None:
        raise document.source.error(f"{name} must be an object or an array", node.span.start)
    entries = [_named_entry(document, item.key, item.value, item, key) for item in _counting(node)]
    for item in node.items or ():
        if not isinstance(item.plain, str):
            raise document.source.error(f"{name} must hold names", item.span.start)
        entries.append(_named_entry(document, item.plain, None, item, key))
    return ListSection(document, key, node, entries, _other_rendering(document, node))


def _named_entry(
    document: JsonDocument, written: str, value: JsonNode | None, place: JsonMember | JsonNode, key: SectionKey
) -> ManifestEntry:
    """Return the entry of a name that may be a selector (`foo@1`, `a>b`, `**/b`), with its value."""
    name = selected(written)
    details = [] if name == written else [("selector", written)]
    constraint = ""
    if value is not None and isinstance(value.plain, str):
        constraint = value.plain
    elif value is not None:
        details.append(("value", _canonical(value.plain)))
    dependency = Dependency(
        language="javascript",
        name=name,
        normalised=as_written(name),
        constraint=constraint,
        kind=key.kind,
        group=key.group,
        details=tuple(details),
        text=document.source.text[place.span.start : place.span.end],
        location=document.source.location(place.span),
    )
    return ManifestEntry(dependency, place.span)


def _shadowed(document: JsonDocument) -> Iterator[Section]:
    """Yield the objects whose key is written again below them."""
    kinds = {
        path[0]: kind for path, kind in (MAIN | {META: DependencyKind.PEER} | OTHERS).items() if len(path) == 1
    }
    for member in document.root.members or ():
        if member.key in kinds and document.root.member(member.key) is not member:
            yield ShadowedSection(SectionKey(kinds[member.key], f"shadowed {member.key}"), member.value)


def _catalogs(document: JsonDocument) -> Iterator[tuple[tuple[str, ...], DependencyKind]]:
    for path in CATALOGS:
        member = document.member(*path)
        for item in _counting(member.value) if member else ():
            yield (*path, item.key), DependencyKind.CONSTRAINT


def _notes(document: JsonDocument) -> Iterator[Note]:
    source = document.source
    workspaces = document.member("workspaces")
    packages = document.member("workspaces", "packages") or workspaces
    for item in (packages.value.items or ()) if packages else ():
        yield Note(
            topic="reference",
            message=f"the workspace has further manifests in {item.plain}",
            line=source.line_of(item.span.start),
            target=str(item.plain),
        )
    for path in (("bundledDependencies",), ("bundleDependencies",)):
        member = document.member(*path)
        if member and member.value.plain is True:
            message = "all dependencies are bundled"
            yield Note(topic="kept", message=message, line=source.line_of(member.span.start))


def _rendering(document: JsonDocument) -> Callable[[Dependency], str]:
    def render(dependency: Dependency) -> str:
        key, text = render_specifier(
            SpecifierFields(
                dependency.source, dependency.name, dependency.constraint, dependency.origin, dependency.alias
            )
        )
        text = dict(dependency.details).get("specifier", text)
        return f"{quoted(key)}{document.colon}{quoted(text)}"

    return render


def _meta_of(dependency: Dependency) -> dict[str, str]:
    """Return the details that stand in `peerDependenciesMeta`."""
    return {key: value for key, value in dependency.details if key != "specifier"}


def _meta_rendering(document: JsonDocument) -> Callable[[Dependency], str | None]:
    def render(dependency: Dependency) -> str | None:
        about_it = _meta_of(dependency)
        if not about_it:
            return None
        whole = (
            json.loads(about_it["meta"])
            if set(about_it) == {"meta"}
            else {k: json.loads(v) for k, v in about_it.items()}
        )
        key = dependency.alias or dependency.name
        indent = document.unit * 2
        return f"{quoted(key)}{document.colon}{laid_out(whole, document, indent)}"

    return render


def _other_rendering(document: JsonDocument, node: JsonNode) -> Callable[[Dependency], str]:
    def render(dependency: Dependency) -> str:
        details = dict(dependency.details)
        key = quoted(details.get("selector", dependency.name))
        if node.items is not None:
            return key
        value = json.loads(details["value"]) if "value" in details else dependency.constraint
        indent = document.source.indent_at(node.span.start) + document.unit
        return f"{key}{document.colon}{laid_out(value, document, indent)}"

    return render
