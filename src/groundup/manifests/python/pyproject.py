"""pyproject.toml: PEP 621 and PEP 735, Poetry 1 and 2, PDM, uv, Flit and Hatch, read and edited by span."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePosixPath

from groundup.manifests import toml
from groundup.manifests.editing import Edit, Text
from groundup.manifests.lines import BracketSection
from groundup.manifests.python import poetry
from groundup.manifests.python.pyproject_places import (
    HATCH_ENVS,
    POETRY,
    ExtrasCompanion,
    PyprojectPlace,
    Refinements,
    dynamic,
    extras_of,
    find_refinements,
    notes,
    places,
    refined,
    table,
    with_companions,
    without_source,
)
from groundup.manifests.python.requirement import details_of, parse_requirement, render_checked
from groundup.manifests.records import Dependency, DependencyKind, Language, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan, Section
from groundup.manifests.toml import TomlDocument, Value
from groundup.manifests.toml_sections import KeySection, assignments


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
            return assignments(document, path, [poetry.rendered_key([item]) for item in added])
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
            text = f"-e {text}"
        return f"'{text}'" if literal and "'" not in text else toml.quoted(text)

    return render


def _keys(document: TomlDocument, place: PyprojectPlace, extras: Mapping[str, str]) -> Section:
    source, entries, children = document.source, [], []
    for child in document.children(*place.path):
        value = document.plain(*place.path, child.name)
        if child.name == "python" and place.path[:2] == POETRY:
            continue
        span = child.span
        for dependency in poetry.read_value(child.name, value, place.key.kind, place.key.group):
            known = {"text": source.text[span.start : span.end], "location": source.location(span)}
            if dependency.kind is DependencyKind.OPTIONAL:
                known["group"] = extras.get(dependency.normalised, dependency.group)
            entries.append(ManifestEntry(dependency.but(**known), span))
            children.append(child)
    return KeySection(document, place.path, place.key, entries, children, poetry.rendered_key)


def _unclear(document: TomlDocument, place: PyprojectPlace, value: Value) -> Note:
    return Note(
        topic="cannot-say",
        message=f"{'.'.join(place.path)} is neither an array nor a table",
        line=document.source.line_of(value.span.start),
        kind=place.key.kind,
        group=place.key.group,
    )
