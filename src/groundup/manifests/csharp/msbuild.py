"""Project files and what they import: .csproj, .fsproj, .vbproj, Directory.Packages.props and other props.

Item groups stay where they are, with their conditions and all other items. References to packages, to projects,
to assemblies (`Reference`) and to frameworks differ in their source and, in details, by their item type.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from groundup.manifests.csharp import items
from groundup.manifests.csharp.containers import Container, new_element, telling_comments
from groundup.manifests.csharp.xml_tree import Element, escaped, parse, readable
from groundup.manifests.editing import Edit, Text
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Language, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, Scan, Section, SpanFormat

_SUFFIXES = frozenset({".csproj", ".fsproj", ".vbproj", ".proj", ".props", ".targets"})
_TELLING = re.compile(r"<\s*(?:\w*Reference|PackageVersion|PackageDownload)\s[^>]*=", re.IGNORECASE)
_PROPERTY = re.compile(r"\$\((\w+)\)")
_NEW = "new"
"""Group of the section key of an item group that has to be made; the others have their number."""


class MsBuild(SpanFormat):
    """MSBuild files of every language that NuGet serves."""

    name = "msbuild"
    language: Language = "csharp"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the name ends like a project file's or an import's."""
        return path.suffix.lower() in _SUFFIXES

    def scan(self, source: Text) -> Scan:
        """Find all item groups, with dependencies or without. Raises `ManifestError`."""
        root = parse(source)
        groups = [
            _group(source, root, element, number)
            for number, element in enumerate(root.walk())
            if element.local.lower() == "itemgroup"
        ]
        sections: list[Section] = [*groups, telling_comments(source, root, groups, _TELLING)]
        return Scan(source, sections, tuple(_notes(source, root, groups)))

    def home_in(self, scan: Scan, dependency: Dependency) -> SectionKey:
        """Return the item group of the same conditions that has such items, else an empty one, else a new one."""
        fitting = [group for group in scan.sections if isinstance(group, Container) and _fits(group, dependency)]
        name = items.type_of(dependency)
        for group in reversed(fitting):
            if any(items.type_of(entry.dependency) == name for entry in group.entries):
                return group.key
        empty = [group for group in fitting if not group.element.children]
        if not empty and "Target" in dict(dependency.details):
            empty = fitting
        if not empty:
            return SectionKey(DependencyKind.RUNTIME, _NEW, items.outer_condition(dependency))
        return empty[
            -1 if dependency.source is DependencySource.PROJECT else 0
        ].key  # by custom projects stand below packages

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that make an item group below the last one, or at the end of the project."""
        root = parse(scan.source)
        last = next((child for child in reversed(root.children) if child.local.lower() == "itemgroup"), None)
        condition = f' Condition="{escaped(key.marker)}"' if key.marker else ""
        lines = [items.render(item, root.prefix) for item in added]
        return new_element(scan.source, root, last, (f"{root.prefix}ItemGroup", condition), lines)


def _group(source: Text, root: Element, element: Element, number: int) -> Container:
    entries: list[ManifestEntry] = []
    owners: list[Element] = []
    for child in element.children:
        name = items.item_type(child)
        for entry in items.entries(source, child, name) if name and not items.is_computed(child) else ():
            entries.append(entry)
            owners.append(child)

    def render(dependency: Dependency) -> str:
        return items.render(dependency, element.prefix)

    key = SectionKey(DependencyKind.RUNTIME, str(number))
    return Container(source, root, element, key, entries, owners, render, _TELLING)


def _fits(group: Container, dependency: Dependency) -> bool:
    """Whether a declaration in *group* would have the marker of *dependency*."""
    details = dict(dependency.details)
    found = items.conditions(group.element)
    if "Condition" in details:
        found.append(details["Condition"])
    marker = items.joined(found) if found else ""
    return marker == dependency.marker and items.target_of(group.element) == details.get("Target")


def _notes(source: Text, root: Element, groups: Sequence[Container]) -> Iterator[Note]:
    found = [entry for group in groups for entry in group.entries]
    computed = [child for group in groups for child in group.element.children if items.item_type(child)]
    for start, text in sorted(
        [(entry.span.start, entry.dependency.text) for entry in found if not entry.dependency.name]
        + [(child.start, source.text[slice(*child.span)]) for child in computed if items.is_computed(child)]
    ):
        message = f"takes its names from elsewhere: {readable(text)[:200]}"
        yield Note(topic="cannot-say", message=message, line=source.line_of(start))
    used = {name for entry in found for name in _PROPERTY.findall(entry.dependency.constraint)}
    for element in root.walk():
        line = source.line_of(element.start)
        parent = element.parent.local.lower() if element.parent else ""
        target = element.attribute("Project")
        if parent == "propertygroup" and element.local in used:
            yield Note(topic="kept", message=f"the property {element.local} holds a version", line=line)
        elif element.local.lower() == "import" and target:
            message = f"imports {target}, which may declare more"
            yield Note(topic="reference", message=message, line=line, target=target.replace("\\", "/"))
        sdk = element.attribute("Sdk") if element is root else element.attribute("Name")
        if (element is root or element.local.lower() == "sdk") and sdk and not sdk.startswith("Microsoft.NET.Sdk"):
            yield Note(topic="kept", message=f"the SDK {sdk} comes from a package", line=line)
