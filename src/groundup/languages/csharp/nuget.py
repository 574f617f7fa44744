"""NuGet's own files: packages.config, which old projects restore from, and .nuspec, which makes packages."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from groundup.languages.spelling import lower
from groundup.manifests.editing import Edit, Text
from groundup.manifests.records import Dependency, DependencyKind, Language, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan
from groundup.manifests.xml_tree import (
    Container,
    Element,
    declaring_comments,
    escaped,
    new_element,
    parse,
    readable,
)

_DECLARING = re.compile(r"<\s*(?:package|dependency)\s[^>]*\bid\s*=", re.IGNORECASE)


_SDK_STYLE = re.compile(r"<Project\b[^>]*\bSdk\s*=|<Sdk\b|<Import\b[^>]*\bSdk\s*=")


def is_sdk_style(project: str) -> bool:
    """Whether a project file is one of those beside which NuGet reads no packages.config."""
    return _SDK_STYLE.search(project) is not None


class PackagesConfig(ManifestFormat):
    """packages.config: `<package id version targetFramework developmentDependency />`."""

    name = "packages.config"
    language: Language = "csharp"

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether the file is called packages.config, or packages.<project>.config."""
        name = path.name.lower()
        return name == "packages.config" or (name.startswith("packages.") and name.endswith(".config"))

    def home(self, dependency: Dependency) -> SectionKey:
        return SectionKey(DependencyKind.RUNTIME)

    def scan(self, source: Text) -> Scan:
        """Find the list. Raises `ManifestError`."""
        root = parse(source)
        if root.local.lower() != "packages":
            raise source.error(f"must hold <packages>, not <{root.local}>", root.start)
        owners = _children(root, "package")
        entries = [_config_entry(source, item) for item in owners]
        key = SectionKey(DependencyKind.RUNTIME)
        listed = Container(source, root, root, key, entries, owners, _render_config, _DECLARING)
        return Scan(source, (listed, declaring_comments(source, root, [listed], _DECLARING)))


class Nuspec(ManifestFormat):
    """The specification of a package: `<dependency id version />`, grouped by target framework or not."""

    name = "nuspec"
    language: Language = "csharp"

    def recognises(self, path: PurePosixPath) -> bool:
        return path.suffix.lower() == ".nuspec"

    def scan(self, source: Text) -> Scan:
        """Find the lists. Raises `ManifestError`."""
        root = parse(source)
        sections: list[Container] = []
        for element in root.walk():
            if element.local.lower() != "dependencies":
                continue
            groups = _children(element, "group")
            sections.append(_spec_section(source, root, element, ""))
            sections += [
                _spec_section(source, root, group, group.attribute("targetFramework") or "") for group in groups
            ]
        return Scan(source, (*sections, declaring_comments(source, root, sections, _DECLARING)))

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that make a group, or the list itself. Raises `ManifestError` without metadata."""
        root = parse(scan.source)
        found = {element.local.lower(): element for element in root.walk()}
        if key.kind is not DependencyKind.RUNTIME or "metadata" not in found:
            return super().create(scan, key, added)
        lines = [_render_spec(item) for item in added]
        if not key.group:
            return new_element(scan.source, found["metadata"], None, ("dependencies", ""), lines)
        framework = f' targetFramework="{escaped(key.group)}"'
        if "dependencies" in found:
            return new_element(scan.source, found["dependencies"], None, ("group", framework), lines)
        inner = f"<group{framework}>{''.join(lines)}</group>"
        return new_element(scan.source, found["metadata"], None, ("dependencies", ""), [inner])


def _children(element: Element, name: str) -> list[Element]:
    return [child for child in element.children if child.local.lower() == name]


def _config_entry(source: Text, element: Element) -> ManifestEntry:
    values = {item.name: item.value for item in element.attributes}
    name = values.pop("id", "")
    if not name:
        raise source.error("has a package without an id", element.start)
    development = values.get("developmentDependency", "").lower() == "true"
    if development:
        del values["developmentDependency"]
    dependency = _record(
        source, element, name, values.pop("version", ""), values.pop("targetFramework", ""), values
    )
    return ManifestEntry(dependency.but(kind=DependencyKind.DEV) if development else dependency, element.span)


def _render_config(dependency: Dependency) -> str:
    values = [("id", dependency.name), ("version", dependency.constraint)]
    if dependency.group:
        values.append(("targetFramework", dependency.group))
    if dependency.kind is DependencyKind.DEV:
        values.append(("developmentDependency", "true"))
    return _element("package", [*values, *dependency.details])


def _spec_section(source: Text, root: Element, element: Element, framework: str) -> Container:
    owners = _children(element, "dependency")
    entries = []
    for item in owners:
        values = {attribute.name: attribute.value for attribute in item.attributes}
        name = values.pop("id", "")
        if not name:
            raise source.error("has a dependency without an id", item.start)
        record = _record(source, item, name, values.pop("version", ""), framework, values)
        entries.append(ManifestEntry(record, item.span))
    return Container(
        source,
        root,
        element,
        SectionKey(DependencyKind.RUNTIME, framework),
        entries,
        owners,
        _render_spec,
        _DECLARING,
    )


def _render_spec(dependency: Dependency) -> str:
    values = [("id", dependency.name)]
    if dependency.constraint:
        values.append(("version", dependency.constraint))
    return _element("dependency", [*values, *dependency.details])


def _record(
    source: Text, element: Element, name: str, version: str, framework: str, values: dict[str, str]
) -> Dependency:
    return Dependency(
        language="csharp",
        name=name,
        normalised=lower(name),
        constraint=version,
        group=framework,
        details=tuple(sorted(values.items())),
        text=readable(source.text[slice(*element.span)]),
        location=source.location(element.span),
    )


def _element(name: str, attributes: Sequence[tuple[str, str]]) -> str:
    return f"<{name} " + " ".join(f'{key}="{escaped(value)}"' for key, value in attributes) + " />"
