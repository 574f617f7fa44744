"""pyproject.toml: PEP 621 and PEP 735, Poetry 1 and 2, PDM, uv, Flit and Hatch, read and edited by span."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from groundup.languages.python.environment_yml import CONDA
from groundup.languages.python.poetry import detail_value, inline_table, read_value, rendered_key
from groundup.languages.python.requirement import (
    details_of,
    group_kind,
    parse_requirement,
    render_checked,
    render_line,
)
from groundup.languages.spelling import python_name
from groundup.manifests import toml
from groundup.manifests.editing import Edit, Text, edited
from groundup.manifests.records import (
    Dependency,
    DependencyKind,
    DependencySource,
    Language,
    Manifest,
    Note,
    SectionKey,
)
from groundup.manifests.sections import (
    BracketSection,
    Companion,
    ManifestEntry,
    ManifestFormat,
    Scan,
    Section,
    rearranged,
)
from groundup.manifests.toml import KeyCompanion, KeySection, Path, TomlDocument, Value, assignments

POETRY = ("tool", "poetry")
PIXI = ("tool", "pixi")
HATCH_ENVS = ("tool", "hatch", "envs")
_FILE_HOOK = ("tool", "hatch", "metadata", "hooks", "requirements_txt")


class PyprojectPlace(NamedTuple):
    """A path in the document and the section that stands there."""

    path: Path
    key: SectionKey


def table(document: TomlDocument, *path: str) -> Mapping[str, object]:
    """Return the table at *path*; an empty one when there is none."""
    found = document.plain(*path)
    return found if isinstance(found, dict) else {}


def dynamic(document: TomlDocument) -> frozenset[str]:
    """Return the fields that `project.dynamic` leaves to others."""
    listed = document.plain("project", "dynamic")
    return frozenset(str(item) for item in listed) if isinstance(listed, list) else frozenset()


def refined_by_poetry(document: TomlDocument) -> bool:
    """Whether `tool.poetry.dependencies` only adds to `project.dependencies` (Poetry 2)."""
    return bool(document.plain("project", "dependencies")) and "dependencies" not in dynamic(document)


def places(document: TomlDocument) -> Iterator[PyprojectPlace]:
    """Yield all places that can hold declarations, whether or not there is anything at them."""
    yield PyprojectPlace(("project", "dependencies"), SectionKey(DependencyKind.RUNTIME))
    yield from _groups(document, ("project", "optional-dependencies"), DependencyKind.OPTIONAL)
    yield PyprojectPlace(("build-system", "requires"), SectionKey(DependencyKind.BUILD))
    for name in table(document, "dependency-groups"):
        yield PyprojectPlace(("dependency-groups", name), SectionKey(group_kind(name), name))
    yield from _poetry(document)
    yield from _pixi(document)
    yield from _groups(document, ("tool", "pdm", "dev-dependencies"), DependencyKind.DEV)
    yield PyprojectPlace(("tool", "pdm", "overrides"), SectionKey(DependencyKind.OVERRIDE))
    yield PyprojectPlace(("tool", "pdm", "resolution", "overrides"), SectionKey(DependencyKind.OVERRIDE))
    yield PyprojectPlace(("tool", "uv", "dev-dependencies"), SectionKey(DependencyKind.DEV, "dev"))
    yield PyprojectPlace(("tool", "uv", "constraint-dependencies"), SectionKey(DependencyKind.CONSTRAINT))
    yield PyprojectPlace(
        ("tool", "uv", "build-constraint-dependencies"), SectionKey(DependencyKind.CONSTRAINT, "build")
    )
    yield PyprojectPlace(("tool", "uv", "override-dependencies"), SectionKey(DependencyKind.OVERRIDE))
    yield PyprojectPlace(("tool", "flit", "metadata", "requires"), SectionKey(DependencyKind.RUNTIME))
    yield PyprojectPlace(("tool", "flit", "metadata", "dev-requires"), SectionKey(DependencyKind.DEV, "dev"))
    yield from _groups(document, ("tool", "flit", "metadata", "requires-extra"), DependencyKind.OPTIONAL)
    for name in table(document, *HATCH_ENVS):
        key = SectionKey(group_kind(name, DependencyKind.DEV), f"hatch.envs.{name}")
        yield PyprojectPlace((*HATCH_ENVS, name, "dependencies"), key)
        yield PyprojectPlace((*HATCH_ENVS, name, "extra-dependencies"), key)


def _groups(document: TomlDocument, path: Path, kind: DependencyKind) -> Iterator[PyprojectPlace]:
    for name in table(document, *path):
        yield PyprojectPlace((*path, name), SectionKey(kind, name))


def _poetry(document: TomlDocument) -> Iterator[PyprojectPlace]:
    if not refined_by_poetry(document):
        yield PyprojectPlace((*POETRY, "dependencies"), SectionKey(DependencyKind.RUNTIME))
    yield PyprojectPlace((*POETRY, "dev-dependencies"), SectionKey(DependencyKind.DEV, "dev"))
    for name in table(document, *POETRY, "group"):
        yield PyprojectPlace((*POETRY, "group", name, "dependencies"), SectionKey(group_kind(name), name))


def _pixi(document: TomlDocument) -> Iterator[PyprojectPlace]:
    """Yield the tables of pixi: packages of conda's channels, and of the Python package index, as groups."""
    tables = (("dependencies", "pixi conda"), ("pypi-dependencies", "pixi"))
    for name, group in tables:
        yield PyprojectPlace((*PIXI, name), SectionKey(DependencyKind.RUNTIME, group))
    for feature in table(document, *PIXI, "feature"):
        for name, group in tables:
            key = SectionKey(group_kind(feature), f"{group} {feature}")
            yield PyprojectPlace((*PIXI, "feature", feature, name), key)


def notes(document: TomlDocument) -> Iterator[Note]:
    """Yield what the file leaves to other files or to a program."""
    fields = dynamic(document)
    for name, kind in (
        ("dependencies", DependencyKind.RUNTIME),
        ("optional-dependencies", DependencyKind.OPTIONAL),
    ):
        if name in fields:
            value = document.value("project", "dynamic")
            line = document.source.line_of(value.span.start) if value else None
            message = f"project.{name} is dynamic: the build back end finds it elsewhere"
            yield Note(topic="dynamic", message=message, line=line, kind=kind)
    yield from _files(document, ("tool", "setuptools", "dynamic", "dependencies"), DependencyKind.RUNTIME)
    for name in table(document, "tool", "setuptools", "dynamic", "optional-dependencies"):
        path = ("tool", "setuptools", "dynamic", "optional-dependencies", name)
        yield from _files(document, path, DependencyKind.OPTIONAL, name)
    yield from _listed(document.plain(*_FILE_HOOK, "files"), DependencyKind.RUNTIME)
    for name, files in table(document, *_FILE_HOOK, "optional-dependencies").items():
        yield from _listed(files, DependencyKind.OPTIONAL, name)
    for name, members in table(document, "dependency-groups").items():
        for member in members if isinstance(members, list) else ():
            if isinstance(member, dict) and "include-group" in member:
                other = str(member["include-group"])
                message = f"group {name!r} includes group {other!r}"
                yield Note(topic="reference", message=message, kind=group_kind(name), group=name)


def _files(document: TomlDocument, path: Path, kind: DependencyKind, group: str = "") -> Iterator[Note]:
    yield from _listed(table(document, *path).get("file"), kind, group)


def _listed(files: object, kind: DependencyKind, group: str = "") -> Iterator[Note]:
    for file in [files] if isinstance(files, str) else files if isinstance(files, list) else ():
        message = f"{kind} dependencies are read from {file}"
        yield Note(topic="reference", message=message, target=str(file), kind=kind, group=group)


UV_SOURCES = ("tool", "uv", "sources")
Refinements = Mapping[str, Mapping[str, object]]
"""What another table holds about dependencies, by normalised name."""


def find_refinements(document: TomlDocument) -> tuple[dict[str, Mapping[str, object]], list[Companion]]:
    """Return what uv's sources and Poetry's table add to the standard declarations, and both as companions."""
    found: dict[str, Mapping[str, object]] = {}
    companions: list[Companion] = []
    paths: list[toml.Path] = [UV_SOURCES]
    if refined_by_poetry(document):
        paths.append((*POETRY, "dependencies"))
    for path in paths:
        children = {python_name(child.name): child for child in document.children(*path) if child.name != "python"}
        companions.append(KeyCompanion(document, path, children))
        for name, child in children.items():
            value = document.plain(*path, child.name)
            first = value[0] if isinstance(value, list) and value else value
            if isinstance(first, dict):
                found[name] = first
    return found, companions


def refined(dependency: Dependency, refinements: Refinements) -> Dependency:
    """Return *dependency* with the source that another table gives it."""
    about = refinements.get(dependency.normalised)
    if about is None or dependency.source is not DependencySource.REGISTRY:
        return dependency
    rest = {key: item if isinstance(item, str) else json.dumps(item, default=str) for key, item in about.items()}
    for key, source in (
        ("git", DependencySource.GIT),
        ("path", DependencySource.PATH),
        ("url", DependencySource.URL),
    ):
        if key in about:
            update = {"source": source, "origin": str(rest.pop(key))}
            break
    else:
        update = {"source": DependencySource.WORKSPACE} if about.get("workspace") is True else {}
        rest.pop("workspace", None)
    details = {**dict(dependency.details), **{key: item for key, item in rest.items() if key != "version"}}
    return dependency.but(**update, details=details_of(details))


def extras_of(document: TomlDocument) -> dict[str, str]:
    """Return, by normalised name, which of Poetry's extras ask for a dependency, joined by commas."""
    found: dict[str, list[str]] = {}
    for extra, names in table(document, *POETRY, "extras").items():
        for name in names if isinstance(names, list) else ():
            found.setdefault(python_name(str(name)), []).append(extra)
    return {name: ",".join(extras) for name, extras in found.items()}


def needs_source(dependency: Dependency) -> bool:
    """Whether PEP 508 cannot express where *dependency* comes from, so that another table must."""
    relative = dependency.source is DependencySource.PATH and "://" not in dependency.origin
    located = {"index", "branch", "tag"} & dict(dependency.details).keys()
    return dependency.source is DependencySource.WORKSPACE or relative or bool(located)


def without_source(dependency: Dependency) -> Dependency:
    """Return *dependency* as PEP 508 can express it, when another table holds its origin."""
    if not needs_source(dependency):
        return dependency
    return dependency.but(source=DependencySource.REGISTRY, origin="", details=())


def with_companions(
    data: bytes, dependencies: Sequence[Dependency], path: str, read: Callable[[bytes, str], Manifest]
) -> bytes:
    """Return *data* with the entries of uv's sources and Poetry's extras that its new declarations lack."""
    known = {item.identity for item in read(data, path).dependencies}
    for dependency in dependencies:
        if dependency.identity in known:
            continue
        document = toml.parse(Text.decode(data, path))
        edits: list[Edit] = []
        if dependency.kind is DependencyKind.OPTIONAL and "project" not in document.data:
            for extra in filter(None, dependency.group.split(",")):
                edits += _extra_edits(document, extra, dependency.name)
        elif needs_source(dependency) and "project" in document.data:
            home = (
                (*POETRY, "dependencies") if refined_by_poetry(document) and _uses_poetry(document) else UV_SOURCES
            )
            if all(child.name != dependency.name for child in document.children(*home)):
                edits = assignments(document, home, [(dependency.name, _source_value(dependency))])
        data = edited(document.source, edits)
    return data


def _uses_poetry(document: TomlDocument) -> bool:
    has_table = bool(table(document, *POETRY, "dependencies")) and not table(document, "tool", "uv")
    return has_table and refined_by_poetry(document)


def _source_value(dependency: Dependency) -> str:
    fields: dict[str, object] = {key: detail_value(key, text) for key, text in dependency.details}
    keys = {DependencySource.PATH: "path", DependencySource.GIT: "git", DependencySource.URL: "url"}
    if dependency.source is DependencySource.WORKSPACE:
        fields = {"workspace": True, **fields}
    elif dependency.source in keys:
        fields = {keys[dependency.source]: dependency.origin, **fields}
    return inline_table(fields)


def _extra_edits(document: TomlDocument, extra: str, name: str) -> list[Edit]:
    value = document.value(*POETRY, "extras", extra)
    if value is None or value.items is None:
        return assignments(document, (*POETRY, "extras"), [(extra, f"[{toml.quoted(name)}]")])
    if any(item.plain == name for item in value.items):
        return []
    items = [item.span for item in value.items]
    return [rearranged(document.source, value.inner, items, (), [toml.quoted(name)], inline=True)]


@dataclass(frozen=True)
class ExtrasCompanion(Companion):
    """Poetry's extras: lists of names of optional dependencies."""

    document: TomlDocument

    def pruning(self, is_gone: Callable[[str], bool]) -> list[Edit]:
        """Return the edits that take the names that are gone out of the lists."""
        edits = []
        for extra in table(self.document, *POETRY, "extras"):
            value = self.document.value(*POETRY, "extras", extra)
            items = value.items if value else None
            if value is None or items is None:
                continue
            gone = [item.span for item in items if is_gone(python_name(str(item.plain)))]
            if gone and len(gone) == len(items):
                edits.append(Edit(*value.inner))
            elif gone:
                edits.append(rearranged(self.document.source, value.inner, [i.span for i in items], gone, ()))
        return edits


class Pyproject(ManifestFormat):
    """The standard file of Python projects and of most of their tools."""

    name = "pyproject.toml"
    language: Language = "python"
    masked_kinds = frozenset(DependencyKind) - {DependencyKind.BUILD}

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called pyproject.toml."""
        return path.name == "pyproject.toml"

    def scan(self, source: Text) -> Scan:
        """Find all sections. Raises `ManifestError`."""
        document = toml.parse(source)
        refinements, companions = find_refinements(document)
        extras = extras_of(document)
        sections: list[Section] = []
        found = list(notes(document))
        for place in places(document):
            value = document.value(*place.path)
            if value is not None and value.items is not None:
                sections.append(_array(document, place, value, refinements))
            elif isinstance(document.plain(*place.path), dict):
                sections.append(_keys(document, place, extras))
            elif value is not None:
                found.append(_unclear(document, place, value))
        return Scan(source, sections, found, [*companions, ExtrasCompanion(document)])

    def home_in(self, scan: Scan, dependency: Dependency) -> SectionKey:
        """Return where a new declaration goes; Poetry keeps optional ones among the others."""
        key = SectionKey(dependency.kind, dependency.group)
        known = {section.key for section in scan.sections}
        tables = {section.path for section in scan.sections if isinstance(section, KeySection)}
        if dependency.kind is DependencyKind.OPTIONAL and key not in known and (*POETRY, "dependencies") in tables:
            return SectionKey(DependencyKind.RUNTIME)
        return key

    def write(
        self,
        data: bytes,
        dependencies: Sequence[Dependency],
        path: str,
        kinds: Collection[DependencyKind] | None = None,
    ) -> bytes:
        """Write declarations, then their entries in Poetry's extras and uv's sources. Raises `ManifestError`."""
        written = super().write(data, dependencies, path, kinds)
        return data if written == data else with_companions(written, dependencies, path, self.read)

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Make the section where this project's tool expects it. Raises `ManifestError`."""
        document = toml.parse(scan.source)
        home = _new_home(document, key)
        if home is None:
            return super().create(scan, key, added)
        path, name = home
        if name is None:
            return assignments(document, path, [rendered_key([item]) for item in added])
        step = "    "
        body = "".join(
            f"\n{step}{toml.quoted(render_checked(without_source(item), scan.source))}," for item in added
        )
        return assignments(document, path, [(name, f"[{body}\n]")])


def _new_home(document: TomlDocument, key: SectionKey) -> tuple[toml.Path, str | None] | None:
    """Return the table and the key of an array to make, or a table of Poetry's and None."""
    standard, by_poetry = "project" in document.data, document.plain(*POETRY) is not None
    if key.kind in (DependencyKind.RUNTIME, DependencyKind.OPTIONAL):
        field = "dependencies" if key.kind is DependencyKind.RUNTIME else "optional-dependencies"
        if standard and field not in dynamic(document):
            return (
                (("project",), field)
                if key.kind is DependencyKind.RUNTIME
                else (("project", field), key.group or "all")
            )
        return ((*POETRY, "dependencies"), None) if by_poetry else None
    if key.kind is DependencyKind.BUILD:
        return ("build-system",), "requires"
    if key.kind in (DependencyKind.CONSTRAINT, DependencyKind.OVERRIDE):
        return ("tool", "uv"), f"{key.kind}-dependencies"
    return _new_group(document, key.group or str(key.kind), in_poetry=by_poetry and not standard, kind=key.kind)


def _new_group(
    document: TomlDocument, group: str, *, in_poetry: bool, kind: DependencyKind
) -> tuple[toml.Path, str | None]:
    if group.startswith("hatch.envs."):
        return (*HATCH_ENVS, group.removeprefix("hatch.envs.")), "dependencies"
    if in_poetry or table(document, *POETRY, "group"):
        return (*POETRY, "group", group, "dependencies"), None
    if kind is DependencyKind.DEV and table(document, "tool", "pdm", "dev-dependencies"):
        return ("tool", "pdm", "dev-dependencies"), group
    return ("dependency-groups",), group


def _array(document: TomlDocument, place: PyprojectPlace, value: Value, refinements: Refinements) -> Section:
    source = document.source
    entries, fixed = [], []
    for item in value.items or ():
        text = item.plain
        if not isinstance(text, str) or not text.strip():
            fixed.append(item.span)
            continue
        editable = text.strip().startswith("-e ")
        parsed = parse_requirement(text.strip().removeprefix("-e ") if editable else text)
        if editable:
            parsed = parsed.but(details=details_of({**dict(parsed.details), "editable": "true"}))
        dependency = parsed.dependency(
            place.key.kind,
            place.key.group,
            text=source.text[item.span.start : item.span.end],
            location=source.location(item.span),
        )
        entries.append(ManifestEntry(refined(dependency, refinements), item.span))
    render = _array_renderer(source, entries)
    return BracketSection(source, place.key, entries, value.inner, render, fixed)


def _array_renderer(source: Text, entries: Sequence[ManifestEntry]) -> Callable[[Dependency], str]:
    literal = bool(entries) and entries[0].dependency.text.startswith("'")

    def render(dependency: Dependency) -> str:
        text = render_checked(without_source(dependency), source)
        if dict(dependency.details).get("editable") == "true":
            text = render_line(dependency)
        return f"'{text}'" if literal and "'" not in text else toml.quoted(text)

    return render


def _keys(document: TomlDocument, place: PyprojectPlace, extras: Mapping[str, str]) -> Section:
    source, entries, children = document.source, [], []
    for child in document.children(*place.path):
        value = document.plain(*place.path, child.name)
        if child.name == "python" and place.path[:2] in (POETRY, PIXI):
            continue
        span = child.span
        for dependency in read_value(child.name, value, place.key.kind, place.key.group):
            known = {"text": source.text[span.start : span.end], "location": source.location(span)}
            if place.path[:2] == PIXI and place.path[-1] == "dependencies" and not dependency.origin:
                known["origin"] = CONDA
            if dependency.kind is DependencyKind.OPTIONAL:
                known["group"] = extras.get(dependency.normalised, dependency.group)
            entries.append(ManifestEntry(dependency.but(**known), span))
            children.append(child)
    return KeySection(document, place.path, place.key, entries, children, rendered_key)


def _unclear(document: TomlDocument, place: PyprojectPlace, value: Value) -> Note:
    return Note(
        topic="cannot-say",
        message=f"{'.'.join(place.path)} is neither an array nor a table",
        line=document.source.line_of(value.span.start),
        kind=place.key.kind,
        group=place.key.group,
    )
