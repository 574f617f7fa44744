"""Where in a package.json declarations stand: paths of objects and arrays, and making missing ones."""

from groundup.manifests.editing import Edit, Text, apply
from groundup.manifests.javascript.json_sections import BracketedList
from groundup.manifests.javascript.json_tree import Document, Node, parse, quoted
from groundup.manifests.records import Dependency, Kind

Path = tuple[str, ...]

MAIN: dict[Path, Kind] = {
    ("dependencies",): Kind.RUNTIME,
    ("devDependencies",): Kind.DEV,
    ("peerDependencies",): Kind.PEER,
    ("optionalDependencies",): Kind.OPTIONAL,
}
"""Objects of names and specifiers, which every package manager reads."""

META: Path = ("peerDependenciesMeta",)

OTHERS: dict[Path, Kind] = {
    ("bundledDependencies",): Kind.GROUP,
    ("bundleDependencies",): Kind.GROUP,
    ("overrides",): Kind.OVERRIDE,
    ("resolutions",): Kind.OVERRIDE,
    ("dependenciesMeta",): Kind.OVERRIDE,
    ("patchedDependencies",): Kind.OVERRIDE,
    ("trustedDependencies",): Kind.OVERRIDE,
    ("pnpm", "overrides"): Kind.OVERRIDE,
    ("pnpm", "packageExtensions"): Kind.OVERRIDE,
    ("pnpm", "patchedDependencies"): Kind.OVERRIDE,
    ("pnpm", "onlyBuiltDependencies"): Kind.OVERRIDE,
    ("pnpm", "neverBuiltDependencies"): Kind.OVERRIDE,
    ("pnpm", "ignoredBuiltDependencies"): Kind.OVERRIDE,
    ("pnpm", "allowedDeprecatedVersions"): Kind.OVERRIDE,
    ("pnpm", "peerDependencyRules", "allowedVersions"): Kind.OVERRIDE,
    ("pnpm", "peerDependencyRules", "ignoreMissing"): Kind.OVERRIDE,
    ("pnpm", "peerDependencyRules", "allowAny"): Kind.OVERRIDE,
    ("catalog",): Kind.CONSTRAINT,
    ("workspaces", "catalog"): Kind.CONSTRAINT,
}
"""Objects and arrays that name packages besides; their group is the path in the document."""

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
        if dependency.kind is Kind.CONSTRAINT and dependency.group.startswith(prefix):
            return (*path, dependency.group.removeprefix(prefix))
    group = f" of group {dependency.group!r}" if dependency.group else ""
    raise source.error(
        f"has no place for {dependency.name!r}, a {dependency.kind} dependency{group}; give it another kind"
    )


def with_member(document: Document, path: Path) -> Document:
    """Return the document with something at *path*: an empty object or list, made at the end of its parent."""
    empty = "[]" if path[-1] in LISTS else "{}"
    for depth in range(1, len(path) + 1):
        if document.member(*path[:depth]) is not None:
            continue
        parent: Node = document.root
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
