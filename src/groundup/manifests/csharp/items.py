"""One MSBuild item: from an element to the records it declares, and back to an element's text."""

import itertools
import posixpath
import re
from collections.abc import Iterator

from groundup.manifests.csharp.xml_tree import Attribute, Element, escaped, readable, unescaped
from groundup.manifests.editing import Span, Text
from groundup.manifests.records import Dependency, DependencyKind, DependencySource
from groundup.manifests.sections import ManifestEntry

ITEMS = {
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
_PROPERTY = "$("
_COMPUTED = re.compile(r"[@%]\(")
_PART = re.compile(r"(?:&#?\w+;|[^;])+")
_CHAIN = re.compile(r"\) and \(")
_OTHER_KINDS = {"Update": DependencyKind.CONSTRAINT, "Remove": DependencyKind.OVERRIDE}
"""`Update` gives versions to what is asked for elsewhere, `Remove` takes it back."""


def type_of(dependency: Dependency) -> str:
    """Return the item type that declares *dependency*."""
    named = dict(dependency.details).get("item")
    return named or _USUAL.get((dependency.kind, dependency.source), "PackageReference")


def item_type(element: Element) -> str | None:
    """Return the item type of a child of an ItemGroup that declares dependencies, or None."""
    found = ITEMS.get(element.local.lower())
    inside = element.parent is not None and element.parent.local.lower() == "itemgroup"
    return found[0] if found and inside and _action(element) else None


def is_computed(element: Element) -> bool:
    """Whether an item takes its names from other items, and so declares none itself."""
    action = _action(element)
    return action is not None and _COMPUTED.search(action.value) is not None


def _action(element: Element) -> Attribute | None:
    return next((item for item in element.attributes if item.name in _ACTIONS), None)


def conditions(element: Element) -> list[str]:
    """Return the conditions that hold for the children of *element*, outermost first."""
    found = []
    for item in [element, *element.ancestors()]:
        condition = item.attribute("Condition")
        if condition and condition.strip():
            found.append(condition)
        if item.local.lower() == "otherwise" and item.parent is not None:
            found += [f"!({other.attribute('Condition')})" for other in item.parent.children if other is not item]
    return found[::-1]


def joined(found: list[str]) -> str:
    """Return one condition for several that must all hold. Joining what is joined already changes nothing."""
    return (
        found[0] if len(found) == 1 else " and ".join(item if _is_chain(item) else f"({item})" for item in found)
    )


def outer_condition(dependency: Dependency) -> str:
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


def target_of(element: Element) -> str | None:
    """Return the name of the Target that *element* is in, or None."""
    targets = (item for item in element.ancestors() if item.local.lower() == "target")
    return next((item.attribute("Name") or "" for item in targets), None)


def entries(source: Text, element: Element, name: str) -> Iterator[ManifestEntry]:
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
    _, kind, origin_kind = ITEMS[name.lower()]
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
    if _PROPERTY in include and origin_kind is not DependencySource.PROJECT:
        known = ""
        details["identity"] = include
    if origin_kind is DependencySource.PROJECT:
        origin = include
    if _USUAL.get((kind, origin_kind)) != name:
        details["item"] = name
    condition = element.attribute("Condition")
    if condition:
        details["Condition"] = condition
    target = target_of(element)
    if target is not None:
        details["Target"] = target
    outer = conditions(element.parent) if element.parent else []
    return Dependency(
        language="csharp",
        name=known,
        normalised=normalised_path(known) if origin_kind is DependencySource.PROJECT else known.lower(),
        constraint=constraint,
        marker=joined([*outer, condition]) if condition else (joined(outer) if outer else ""),
        kind=kind,
        source=origin_kind,
        origin=origin,
        details=tuple(sorted(details.items())),
        text=readable(source.text[slice(*element.span)]),
        location=source.location(element.span),
    )


def normalised_path(path: str) -> str:
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


def render(dependency: Dependency, prefix: str = "") -> str:
    """Return the element that declares *dependency*: the inverse of `entries` but for attribute or child."""
    details = dict(dependency.details)
    name = type_of(dependency)
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
