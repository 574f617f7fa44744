"""What build files inherit from central definitions: Cargo workspaces, catalogs, NuGet's central package versions.

A request that inherits counts as if it were written out where it stands, so a definition counts with the requests
that inherit it, once for each, and by itself only where none does. A request whose definition is not there
declares nothing: every client refuses it.
"""

import posixpath
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from groundup.domain.errors import TaskError
from groundup.languages import canonical_name
from groundup.languages.csharp.evaluation import Evaluation, joined
from groundup.languages.csharp.msbuild import item_type
from groundup.languages.formats import format_of
from groundup.languages.javascript.package_json import parse_specifier
from groundup.languages.javascript.pnpm_workspace import catalogs_of
from groundup.manifests.records import Dependency, DependencyKind, DependencySource, Manifest, ManifestError
from groundup.suites.dibench.dataset import Read
from groundup.suites.dibench.declarations import UNDEFINED

_CATALOG = "catalog:"
_PROPS = "Directory.Packages.props"
_PROJECTS = ("proj", ".props", ".targets")
"""How names of MSBuild's files end."""


class Definition(NamedTuple):
    """One central definition: its file, its table or catalog, and its key there."""

    path: str
    group: str
    key: str


def definition_of(path: str, item: Dependency) -> Definition | None:
    """Return which definition *item* of the file at *path* is; None for what defines nothing."""
    if item.kind is not DependencyKind.CONSTRAINT or "action" in dict(item.details):  # C#'s `Update`
        return None
    return Definition(path, item.group, canonical_name(item.language, item.alias or item.name))


class CentralDefinitions:
    """What one state of a repository defines centrally, and which of that was inherited."""

    def __init__(self, read: Read) -> None:
        self._source = read
        self._read = cache(self._content)
        self._manifest = cache(self._parsed)
        self._defined = cache(self._definitions)
        self._managed = cache(self._is_managed)
        self._evaluation = cache(lambda path: Evaluation(self._read, path))
        self.inherited: set[Definition] = set()

    def written_out(self, path: str, items: Iterable[Dependency]) -> tuple[Dependency, ...]:
        """Return the dependencies *items* of the build file at *path*, with what they inherit in its place.

        Without what no client ever sees: items of MSBuild that are taken back, excluded, or never there.
        """
        if path.lower().endswith(_PROJECTS):
            items = self._present(path, items)
        return tuple(self._written_out(path, item) for item in items)

    def _present(self, path: str, items: Iterable[Dependency]) -> list[Dependency]:
        evaluation = self._evaluation(path)
        found: list[Dependency] = []
        for item in (_evaluated(item, path, evaluation) for item in items):
            details = {name.lower(): value for name, value in item.details}
            excluded = [name.strip().lower() for name in details.get("exclude", "").split(";")]
            certain = evaluation.holds(item.marker, path) if item.marker else True
            if "target" in details or certain is False or item.name.lower() in excluded:
                continue
            if details.get("action") == "Remove" and certain:
                gone = (item_type(item), item.normalised)
                found = [one for one in found if (item_type(one), one.normalised) != gone]
            found.append(item)
        return found

    def _written_out(self, path: str, item: Dependency) -> Dependency:
        if item.language == "rust" and item.source is DependencySource.WORKSPACE:
            return self._of_workspace(path, item)
        if item.language == "javascript" and item.origin.startswith(_CATALOG):
            return self._of_catalog(path, item)
        is_plain = item.kind is DependencyKind.RUNTIME and item.source is DependencySource.REGISTRY
        if item.language == "csharp" and is_plain and item_type(item) == "PackageReference":
            return self._of_props(path, item)
        return item

    def _of_workspace(self, path: str, item: Dependency) -> Dependency:
        for place in _above(path, "Cargo.toml"):
            defined = self._defined(place)
            if not any(not group for group, _ in defined):
                continue
            found = next(iter(defined.get(("", item.alias or item.name), ())), None)
            if found is None:
                break
            self._note(place, found)
            is_path = found.source is DependencySource.PATH
            return found.but(
                extras=tuple(sorted({*found.extras, *item.extras})),
                marker=item.marker,
                kind=item.kind,
                origin=_rebased(found.origin, place, path) if is_path else found.origin,
                details=tuple(sorted((dict(found.details) | dict(item.details)).items())),
                text=item.text,
                location=item.location,
            )
        return _undefined(item)

    def _of_catalog(self, path: str, item: Dependency) -> Dependency:
        name = item.origin.removeprefix(_CATALOG).strip() or "default"
        groups = {f"catalogs.{name}", f"workspaces.catalogs.{name}"}
        groups |= {"catalog", "workspaces.catalog"} if name == "default" else set()
        key = item.alias or item.name
        for place in _above(path, "pnpm-workspace.yaml", "package.json", ".yarnrc.yml"):
            if place.endswith(".yarnrc.yml") and self._read(place) is not None:
                return item  # Yarn has its catalogs there, which nothing here reads
            defined = self._defined(place)
            found = next((one for group in groups for one in defined.get((group, key), ())), None)
            if found is not None:
                self._note(place, found)
                said = parse_specifier(key, found.constraint)
                return item.but(**said._asdict(), normalised=canonical_name("javascript", said.name))
        return _undefined(item)

    def _of_props(self, path: str, item: Dependency) -> Dependency:
        override = dict(item.details).get("VersionOverride")
        places = [place for place in _above(path, _PROPS) if self._read(place) is not None]
        if not places or not self._managed(path, places[0]):
            return item
        if override:
            rest = tuple(detail for detail in item.details if detail[0] != "VersionOverride")
            return item.but(constraint=override, details=rest)
        if item.constraint:  # NuGet refuses a version beside the central ones
            return item.but(details=(*item.details, ("Version", "beside the central ones")))
        imports = False
        for place in places:
            found = self._defined(place).get(("", canonical_name("csharp", item.name)), [])
            for one in found:
                self._note(place, one)
            if found:
                return item.but(constraint=" | ".join(dict.fromkeys(one.constraint for one in found)))
            manifest = self._manifest(place)
            imports = manifest is not None and any(note.topic == "reference" for note in manifest.notes)
            if not imports:
                break
        return item if imports else _undefined(item)

    def _is_managed(self, path: str, props: str) -> bool:
        """Whether NuGet takes versions from *props*; where only a build knows, it is there for that."""
        said = self._evaluation(path).value("ManagePackageVersionsCentrally")
        return said is None or said.lower() == "true"

    def _definitions(self, place: str) -> dict[tuple[str, str], list[Dependency]]:
        """Return the definitions of a file by group and key."""
        found: dict[tuple[str, str], list[Dependency]] = {}
        manifest = self._manifest(place)
        items = manifest.dependencies if manifest else ()
        if manifest is None and place.endswith("pnpm-workspace.yaml"):  # in a style that nothing edits
            items = tuple(catalogs_of(self._read(place) or b""))
        for item in items:
            definition = definition_of(place, item)
            if definition is not None:
                found.setdefault((definition.group, definition.key), []).append(item)
        return found

    def _note(self, place: str, found: Dependency) -> None:
        definition = definition_of(place, found)
        if definition is not None:
            self.inherited.add(definition)

    def _content(self, place: str) -> bytes | None:
        try:
            return self._source(place)
        except TaskError:
            return None  # such as a link: nothing that a build file may inherit from

    def _parsed(self, place: str) -> Manifest | None:
        data, known = self._read(place), format_of(place)
        try:
            return known.read(data, place) if known and data is not None else None
        except ManifestError:
            return None


def _evaluated(item: Dependency, path: str, evaluation: Evaluation) -> Dependency:
    """Return an item with the properties in its name and version replaced, as far as they are known.

    A reference to a project is told by the file that it leads to.
    """
    version = evaluation.expanded(item.constraint, path) if "$(" in item.constraint else item.constraint
    item = item.but(constraint=item.constraint if version is None else version)
    if item.source is DependencySource.PROJECT:
        target = evaluation.expanded(item.origin, path)
        if not target:
            return item
        place = joined(path, target)
        return item.but(normalised=place, origin=posixpath.relpath(place, posixpath.dirname(path) or "."))
    identity = dict(item.details).get("identity", "")
    known = evaluation.expanded(identity, path) if "$(" in identity and not item.name else None
    if not known:
        return item
    rest = tuple(detail for detail in item.details if detail[0] != "identity")
    return item.but(name=known, normalised=canonical_name("csharp", known), details=rest)


def _undefined(item: Dependency) -> Dependency:
    return item.but(details=(*item.details, (UNDEFINED, "")))


def _above(path: str, *names: str) -> Iterator[str]:
    """Yield where files of these names may lie, from the folder of *path* up to the repository's root."""
    folder = posixpath.dirname(path)
    while True:
        yield from (posixpath.join(folder, name) for name in names)
        if not folder:
            return
        folder = posixpath.dirname(folder)


def _rebased(origin: str, place: str, path: str) -> str:
    """Return a path that is relative to the folder of *place* as one relative to the folder of *path*."""
    target = posixpath.join(posixpath.dirname(place), origin)
    return posixpath.relpath(target, posixpath.dirname(path) or ".")
