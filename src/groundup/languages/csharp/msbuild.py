"""Project files and what they import: .csproj, .fsproj, .vbproj, Directory.Packages.props and other props.

Item groups stay where they are, with their conditions and all other items. References to packages, to projects,
to assemblies (`Reference`) and to frameworks differ in their source and, in details, by their item type.
"""

import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from groundup.languages.spelling import lower
from groundup.manifests.editing import Edit, Span, Text
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Language, Note, SectionKey
from groundup.manifests.sections import ManifestEntry, ManifestFormat, Scan, Section
from groundup.manifests.xml_tree import (
    Attribute,
    Container,
    Element,
    declaring_comments,
    escaped,
    new_element,
    parse,
    readable,
    unescaped,
)

_ITEMS = {
    "packagereference": ("PackageReference", DependencyKind.RUNTIME, DependencySource.REGISTRY),
    "projectreference": ("ProjectReference", DependencyKind.RUNTIME, DependencySource.PROJECT),
    "packageversion": ("PackageVersion", DependencyKind.CONSTRAINT, DependencySource.REGISTRY),
    "globalpackagereference": ("GlobalPackageReference", DependencyKind.RUNTIME, DependencySource.REGISTRY),
    "packagedownload": ("PackageDownload", DependencyKind.BUILD, DependencySource.REGISTRY),
    "dotnetclitoolreference": ("DotNetCliToolReference", DependencyKind.BUILD, DependencySource.REGISTRY),
    "frameworkreference": ("FrameworkReference", DependencyKind.RUNTIME, DependencySource.FRAMEWORK),
    "reference": ("Reference", DependencyKind.RUNTIME, DependencySource.FRAMEWORK),
}
"""Item types, whose names MSBuild reads in upper or lower case, with what they declare."""

_USUAL = {
    (DependencyKind.RUNTIME, DependencySource.REGISTRY): "PackageReference",
    (DependencyKind.RUNTIME, DependencySource.PROJECT): "ProjectReference",
    (DependencyKind.RUNTIME, DependencySource.FRAMEWORK): "FrameworkReference",
    (DependencyKind.CONSTRAINT, DependencySource.REGISTRY): "PackageVersion",
    (DependencyKind.RUNTIME, DependencySource.PATH): "Reference",
}
"""The item type of a record whose details name none."""

_ACTIONS = ("Include", "Update", "Remove")
_COMPUTED = re.compile(r"[@%]\(")
_PART = re.compile(r"(?:&#?\w+;|[^;])+")
_CHAIN = re.compile(r"\) and \(")
_OTHER_KINDS = {"Update": DependencyKind.CONSTRAINT, "Remove": DependencyKind.OVERRIDE}
"""`Update` gives versions to what is asked for elsewhere, `Remove` takes it back."""
_SUFFIXES = frozenset({".csproj", ".fsproj", ".vbproj", ".proj", ".props", ".targets"})
_DECLARING = re.compile(r"<\s*(?:\w*Reference|PackageVersion|PackageDownload)\s[^>]*=", re.IGNORECASE)
_PROPERTY = re.compile(r"\$\((\w+)\)")
_NEW = "new"
"""Group of the section key of an item group that has to be made; the others have their number."""


class MsBuild(ManifestFormat):
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
        sections: list[Section] = [*groups, declaring_comments(source, root, groups, _DECLARING)]
        return Scan(source, sections, tuple(_notes(source, root, groups)))

    def home_in(self, scan: Scan, dependency: Dependency) -> SectionKey:
        """Return the item group of the same conditions that has such items, else an empty one, else a new one."""
        fitting = [group for group in scan.sections if isinstance(group, Container) and _fits(group, dependency)]
        name = item_type(dependency)
        for group in reversed(fitting):
            if any(item_type(entry.dependency) == name for entry in group.entries):
                return group.key
        empty = [group for group in fitting if not group.element.children]
        if not empty and "Target" in dict(dependency.details):
            empty = fitting
        if not empty:
            return SectionKey(DependencyKind.RUNTIME, _NEW, _outer_condition(dependency))
        last = dependency.source is DependencySource.PROJECT  # projects usually stand below packages
        return empty[-1 if last else 0].key

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that make an item group below the last one, or at the end of the project."""
        root = parse(scan.source)
        last = next((child for child in reversed(root.children) if child.local.lower() == "itemgroup"), None)
        condition = f' Condition="{escaped(key.marker)}"' if key.marker else ""
        lines = [_render_item(item, root.prefix) for item in added]
        return new_element(scan.source, root, last, (f"{root.prefix}ItemGroup", condition), lines)


def _group(source: Text, root: Element, element: Element, number: int) -> Container:
    entries: list[ManifestEntry] = []
    owners: list[Element] = []
    for child in element.children:
        name = _item_type(child)
        for entry in _item_entries(source, child, name) if name and not _is_computed(child) else ():
            entries.append(entry)
            owners.append(child)

    def render(dependency: Dependency) -> str:
        return _render_item(dependency, element.prefix)

    key = SectionKey(DependencyKind.RUNTIME, str(number))
    return Container(source, root, element, key, entries, owners, render, _DECLARING)


def _fits(group: Container, dependency: Dependency) -> bool:
    """Whether a declaration in *group* would have the marker of *dependency*."""
    details = dict(dependency.details)
    found = _conditions(group.element)
    if "Condition" in details:
        found.append(details["Condition"])
    marker = _joined_conditions(found)
    return marker == dependency.marker and _target_of(group.element) == details.get("Target")


def _notes(source: Text, root: Element, groups: Sequence[Container]) -> Iterator[Note]:
    found = [entry for group in groups for entry in group.entries]
    computed = [child for group in groups for child in group.element.children if _item_type(child)]
    for start, text in sorted(
        [(entry.span.start, entry.dependency.text) for entry in found if not entry.dependency.name]
        + [(child.start, source.text[slice(*child.span)]) for child in computed if _is_computed(child)]
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


def item_type(dependency: Dependency) -> str:
    """Return the item type that declares *dependency*."""
    named = dict(dependency.details).get("item")
    return named or _USUAL.get((dependency.kind, dependency.source), "PackageReference")


def _item_type(element: Element) -> str | None:
    """Return the item type of a child of an ItemGroup that declares dependencies, or None."""
    found = _ITEMS.get(element.local.lower())
    inside = element.parent is not None and element.parent.local.lower() == "itemgroup"
    return found[0] if found and inside and _action(element) else None


def _is_computed(element: Element) -> bool:
    """Whether an item takes its names from other items, and so declares none itself."""
    action = _action(element)
    return action is not None and _COMPUTED.search(action.value) is not None


def _action(element: Element) -> Attribute | None:
    return next((item for item in element.attributes if item.name in _ACTIONS), None)


def _conditions(element: Element) -> list[str]:
    """Return the conditions that hold for the children of *element*, outermost first."""
    found = []
    for item in [element, *element.ancestors()]:
        condition = item.attribute("Condition")
        if condition and condition.strip():
            found.append(condition)
        if item.local.lower() == "otherwise" and item.parent is not None:
            found += [f"!({other.attribute('Condition')})" for other in item.parent.children if other is not item]
    return found[::-1]


def _joined_conditions(found: list[str]) -> str:
    """Return one condition for all that must hold. Joining what is joined already changes nothing."""
    if len(found) < 2:
        return "".join(found)
    return " and ".join(item if _is_chain(item) else f"({item})" for item in found)


def _outer_condition(dependency: Dependency) -> str:
    """Return the condition around an item: its marker without the item's own condition."""
    own = dict(dependency.details).get("Condition")
    if own is None or dependency.marker == own:
        return "" if own else dependency.marker
    outer = dependency.marker.removesuffix(f" and {own}").removesuffix(f" and ({own})")
    return outer[1:-1] if _is_wrapped(outer) else outer


def _is_chain(text: str) -> bool:
    """Whether *text* is `(...) and (...)`, of any length."""
    cuts = [0, *(match.start() + 1 for match in _CHAIN.finditer(text)), len(text)]
    parts = [text[start:end].removeprefix(" and ") for start, end in itertools.pairwise(cuts)]
    return all(map(_is_wrapped, parts))


def _is_wrapped(text: str) -> bool:
    """Whether the first bracket of *text* is closed by the last."""
    depth = 0
    for i, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0:
            return i == len(text) - 1 and i > 0
    return False


def _target_of(element: Element) -> str | None:
    """Return the name of the Target that *element* is in, or None."""
    targets = (item for item in element.ancestors() if item.local.lower() == "target")
    return next((item.attribute("Name") or "" for item in targets), None)


def _item_entries(source: Text, element: Element, name: str) -> Iterator[ManifestEntry]:
    """Yield one entry for each package that *element* names."""
    action = _action(element)
    assert action is not None
    raw = source.text[slice(*action.value_span)]
    for match in _PART.finditer(raw):
        part = match[0].strip()
        start = action.value_span.start + match.start() + len(match[0]) - len(match[0].lstrip())
        span = Span(start, start + len(part))
        if part:
            yield ManifestEntry(_dependency(source, element, name, action.name, unescaped(part)), span)


def _dependency(source: Text, element: Element, name: str, action: str, include: str) -> Dependency:
    _, kind, origin_kind = _ITEMS[name.lower()]
    constraint, details = _metadata(source, element)
    if action != "Include":
        kind = _OTHER_KINDS[action]
        details["action"] = action
    known = include
    origin = ""
    if name == "Reference":
        known = include.partition(",")[0].strip()
        origin = details.get("HintPath", "")
        origin_kind = DependencySource.PATH if origin else origin_kind
        if known != include:
            details["identity"] = include
    if "$(" in include and origin_kind is not DependencySource.PROJECT:
        known = ""
        details["identity"] = include
    if origin_kind is DependencySource.PROJECT:
        origin = include
    if _USUAL.get((kind, origin_kind)) != name:
        details["item"] = name
    condition = element.attribute("Condition")
    if condition:
        details["Condition"] = condition
    target = _target_of(element)
    if target is not None:
        details["Target"] = target
    outer = _conditions(element.parent) if element.parent else []
    return Dependency(
        language="csharp",
        name=known,
        normalised=_normalised_path(known) if origin_kind is DependencySource.PROJECT else lower(known),
        constraint=constraint,
        marker=_joined_conditions([*outer, condition] if condition else outer),
        kind=kind,
        source=origin_kind,
        origin=origin,
        details=tuple(sorted(details.items())),
        text=readable(source.text[slice(*element.span)]),
        location=source.location(element.span),
    )


def _normalised_path(path: str) -> str:
    """Return a project's path with `/` and without detours; upper and lower case stay."""
    return posixpath.normpath(path.replace("\\", "/")) if path else ""


def _metadata(source: Text, element: Element) -> tuple[str, dict[str, str]]:
    """Return the version and all other metadata of the item.

    Simple children become details by name. When one is conditional, repeated or has children of its own, the
    detail `metadata` holds all of them as they are written.
    """
    constraint = ""
    details: dict[str, str] = {}
    for attribute in element.attributes:
        if attribute.name == "Version":
            constraint = attribute.value
        elif attribute.name not in (*_ACTIONS, "Condition"):
            details[attribute.name] = attribute.value
    names = [child.name for child in element.children]
    if any(child.attributes or child.children for child in element.children) or len({*names}) < len(names):
        details["metadata"] = readable(source.text[slice(*element.inner)].strip().replace("\r\n", "\n"))
    for child in element.children:
        if child.local.lower() == "version":
            constraint = constraint or child.text
        elif "metadata" not in details:
            details.setdefault(child.local, child.text)
    return constraint, details


def _render_item(dependency: Dependency, prefix: str = "") -> str:
    """Return the element that declares *dependency*: the inverse of `_item_entries` but for attribute or child."""
    details = dict(dependency.details)
    name = item_type(dependency)
    details.pop("item", None)
    action = details.pop("action", "Include")
    raw = details.pop("metadata", "")
    details.pop("Target", None)
    include = details.pop("identity", dependency.name or dependency.origin)
    attributes = [(action, include)]
    if dependency.constraint and "<Version" not in raw:
        attributes.append(("Version", dependency.constraint))
    if "Condition" in details:
        attributes.append(("Condition", details.pop("Condition")))
    if dependency.source is DependencySource.PATH:
        details.setdefault("HintPath", dependency.origin)
    children = raw
    if name == "Reference" and not raw:  # old builds read its metadata from children only
        children = "".join(f"<{prefix}{key}>{escaped(value)}</{prefix}{key}>" for key, value in details.items())
        details = {}
    attributes += details.items()
    opening = f"<{prefix}{name} " + " ".join(f'{key}="{escaped(value)}"' for key, value in attributes)
    return f"{opening}>{children}</{prefix}{name}>" if children else f"{opening} />"
