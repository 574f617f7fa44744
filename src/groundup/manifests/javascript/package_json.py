"""package.json: all kinds of dependencies, overrides, catalogs and lists of names, read and edited by span."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import PurePosixPath

from groundup.manifests.editing import Text
from groundup.manifests.javascript import specifiers
from groundup.manifests.javascript.json_sections import ListSection, PeerSection, ShadowedSection
from groundup.manifests.javascript.json_tree import Document, Member, Node, laid_out, parse, quoted
from groundup.manifests.javascript.places import CATALOGS, MAIN, META, OTHERS, path_of, with_member
from groundup.manifests.records import Dependency, Kind, Language, Note, SectionKey
from groundup.manifests.sections import Entry, Scan, Section, SpanFormat


class PackageJson(SpanFormat):
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
        self, data: bytes, dependencies: Sequence[Dependency], path: str, kinds: Collection[Kind] | None = None
    ) -> bytes:
        """Make the objects that new declarations need, then write as every format does. Raises `ManifestError`."""
        source = Text.decode(data, path)
        document = parse(source)
        concerned = [item for item in dependencies if kinds is None or item.kind in kinds]
        places = [path_of(item, source) for item in concerned]
        if any(item.kind is Kind.PEER and _said_elsewhere(item) for item in concerned):
            places.append(META)
        for place in dict.fromkeys(places):
            document = with_member(document, place)
        data = source.encode(document.source.text)
        return super().write(data, dependencies, path, kinds)


def _main_sections(document: Document, path: tuple[str, ...], kind: Kind) -> Iterator[Section]:
    member = document.member(*path)
    meta = document.member(*META) if kind is Kind.PEER else None
    if meta is not None and meta.value.members is None:
        raise document.source.error(f"{META[0]} must be an object", meta.span.start)
    if member is None:
        if meta:
            yield ShadowedSection(SectionKey(kind, f"unused {META[0]}"), meta.value)
        return
    node = member.value
    if node.members is None and node.plain not in (None, []):
        raise document.source.error(f"{path[0]} must be an object of names and versions", member.span.start)
    about = {item.key: item.value for item in (meta.value.members or () if meta else ())}
    entries = [_main_entry(document, item, kind, about.get(item.key)) for item in _counting(node)]
    key = SectionKey(kind)
    if kind is Kind.PEER:
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


def _counting(node: Node) -> list[Member]:
    """Return the members that count: of several with one key, the last."""
    last = {item.key: item for item in node.members or ()}
    return [item for item in node.members or () if last[item.key] is item]


def _main_entry(document: Document, member: Member, kind: Kind, meta: Node | None) -> Entry:
    text = member.value.plain
    if not isinstance(text, str):
        raise document.source.error(f"the version of {member.key!r} must be a string", member.span.start)
    details = _meta_details(meta)
    found = specifiers.parse(member.key, text)
    if specifiers.render(found) != (member.key, text):
        details = (*details, ("specifier", text))
    return Entry(
        Dependency(
            language="javascript",
            name=found.name,
            normalised=found.name,
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


def _meta_details(meta: Node | None) -> tuple[tuple[str, str], ...]:
    if meta is None:
        return ()
    if not isinstance(meta.plain, dict) or not meta.plain or meta.plain.keys() & {"meta", "specifier"}:
        return (("meta", _canonical(meta.plain)),)
    return tuple((str(key), _canonical(value)) for key, value in meta.plain.items())


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _other_section(document: Document, node: Node, key: SectionKey, name: str) -> Section:
    if node.members is None and node.items is None and node.plain is not None:
        raise document.source.error(f"{name} must be an object or an array", node.span.start)
    entries = [_named_entry(document, item.key, item.value, item, key) for item in _counting(node)]
    for item in node.items or ():
        if not isinstance(item.plain, str):
            raise document.source.error(f"{name} must hold names", item.span.start)
        entries.append(_named_entry(document, item.plain, None, item, key))
    return ListSection(document, key, node, entries, _other_rendering(document, node))


def _named_entry(
    document: Document, written: str, value: Node | None, place: Member | Node, key: SectionKey
) -> Entry:
    """Return the entry of a name that may be a selector (`foo@1`, `a>b`, `**/b`), with whatever is said of it."""
    name = specifiers.selected(written)
    details = [] if name == written else [("selector", written)]
    constraint = ""
    if value is not None and isinstance(value.plain, str):
        constraint = value.plain
    elif value is not None:
        details.append(("value", _canonical(value.plain)))
    dependency = Dependency(
        language="javascript",
        name=name,
        normalised=name,
        constraint=constraint,
        kind=key.kind,
        group=key.group,
        details=tuple(details),
        text=document.source.text[place.span.start : place.span.end],
        location=document.source.location(place.span),
    )
    return Entry(dependency, place.span)


def _shadowed(document: Document) -> Iterator[Section]:
    """Yield the objects whose key is written again below them."""
    kinds = {path[0]: kind for path, kind in (MAIN | {META: Kind.PEER} | OTHERS).items() if len(path) == 1}
    for member in document.root.members or ():
        if member.key in kinds and document.root.member(member.key) is not member:
            yield ShadowedSection(SectionKey(kinds[member.key], f"shadowed {member.key}"), member.value)


def _catalogs(document: Document) -> Iterator[tuple[tuple[str, ...], Kind]]:
    for path in CATALOGS:
        member = document.member(*path)
        for item in _counting(member.value) if member else ():
            yield (*path, item.key), Kind.CONSTRAINT


def _notes(document: Document) -> Iterator[Note]:
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


def _rendering(document: Document) -> Callable[[Dependency], str]:
    def render(dependency: Dependency) -> str:
        key, text = specifiers.render(
            specifiers.Specifier(
                dependency.source, dependency.name, dependency.constraint, dependency.origin, dependency.alias
            )
        )
        text = dict(dependency.details).get("specifier", text)
        return f"{quoted(key)}{document.colon}{quoted(text)}"

    return render


def _said_elsewhere(dependency: Dependency) -> dict[str, str]:
    """Return the details that stand in `peerDependenciesMeta`."""
    return {key: value for key, value in dependency.details if key != "specifier"}


def _meta_rendering(document: Document) -> Callable[[Dependency], str | None]:
    def render(dependency: Dependency) -> str | None:
        said = _said_elsewhere(dependency)
        if not said:
            return None
        whole = json.loads(said["meta"]) if set(said) == {"meta"} else {k: json.loads(v) for k, v in said.items()}
        key = dependency.alias or dependency.name
        indent = document.unit * 2
        return f"{quoted(key)}{document.colon}{laid_out(whole, document, indent)}"

    return render


def _other_rendering(document: Document, node: Node) -> Callable[[Dependency], str]:
    def render(dependency: Dependency) -> str:
        details = dict(dependency.details)
        key = quoted(details.get("selector", dependency.name))
        if node.items is not None:
            return key
        value = json.loads(details["value"]) if "value" in details else dependency.constraint
        indent = document.source.indent_at(node.span.start) + document.unit
        return f"{key}{document.colon}{laid_out(value, document, indent)}"

    return render
