"""Feeds that a repository names, in a job's copy: they give way to the one that the sandbox has.

NuGet reads the `NuGet.config` of all folders above a project after the user's, so `<clear />` would remove the
gateway, a feed that cannot be reached would end each restore, and a mapping would send packages to feeds that are
gone. Folders of the repository stay sources, for packages that it holds or makes. Feeds that projects name in
properties are overruled by a response file, which counts more than whatever a project says.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath

from groundup.languages.formats import files_of
from groundup.manifests.editing import Edit, Text, edited
from groundup.manifests.records import ManifestError
from groundup.manifests.xml_tree import Element, parse
from groundup.registries.nuget import SOURCE

_NAMES = frozenset({"nuget.config", "NuGet.config", "NuGet.Config"})
"""As NuGet looks for them where capitals count."""
_GONE = frozenset({"packagesourcemapping", "disabledpackagesources", "packagesourcecredentials", "auditsources"})
"""Sections that say something of feeds."""
_SHOWN = 3
_SUFFIXES = frozenset({".csproj", ".fsproj", ".vbproj", ".proj", ".props", ".targets"})
_PROPERTY = re.compile(rb"<(RestoreSources|RestoreAdditionalProjectSources)\b[^>]*>[^<]*://", re.IGNORECASE)
_RESPONSE_FILE = "Directory.Build.rsp"
_LARGEST = 2 * 1024 * 1024


def free_of_feeds(tree: Path) -> tuple[str, ...]:
    """Rewrite what names feeds below *tree*; return what was left out of each file, for the report."""
    paths = list(files_of(tree))
    return (*_free_configurations(tree, paths), *_free_projects(tree, paths))


def _free_projects(tree: Path, paths: Iterable[str]) -> Iterator[str]:
    """Write response files where a project names feeds; yield which properties are overruled."""
    naming: dict[str, str] = {}
    response_files = {_RESPONSE_FILE}
    for path in paths:
        place = PurePosixPath(path)
        if place.name == _RESPONSE_FILE:
            response_files.add(path)
        elif place.suffix.lower() in _SUFFIXES and (tree / path).stat().st_size <= _LARGEST:
            for name in _PROPERTY.findall((tree / path).read_bytes()):
                naming.setdefault(name.decode(), path)
    if naming:
        lines = "".join(f"-p:{name}=\n" for name in naming)
        for path in response_files:  # the nearest one counts
            earlier = (tree / path).read_text("utf-8-sig", "replace") if (tree / path).is_file() else ""
            (tree / path).write_text(f"{earlier}\n{lines}" if earlier else lines, encoding="utf-8")
    yield from (f"{path} without the feeds of {name}" for name, path in naming.items())


def _free_configurations(tree: Path, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if PurePosixPath(path).name not in _NAMES:
            continue
        data = (tree / path).read_bytes()
        try:
            written, left_out = without_feeds(data, path)
        except ManifestError:  # the client names what is wrong with it
            continue
        if written != data:
            (tree / path).write_bytes(written)
            yield f"{path} without {', '.join(left_out or ('clear',))}"


def without_feeds(data: bytes, path: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a configuration without feeds that a sandbox cannot reach, and what was left out.

    Raises `ManifestError` for what is no XML.
    """
    source = Text.decode(data, path)
    sections = parse(source).children
    disabled = {item.attribute("key") for item in _items(sections, "disabledpackagesources")}
    kept = [item for item in _items(sections, "packagesources") if _is_kept(item, disabled)]
    edits: list[Edit] = []
    feeds: list[str] = []
    named: list[str] = []
    for section in sections:
        name = section.local.lower()
        if name == "packagesources":
            for item in section.children:
                if not any(item is one for one in kept):
                    edits.append(Edit(*item.span))
                    feeds += [f"the feed {_key(item)}"] if item.local.lower() == "add" else []
        elif name == "packagesourcemapping" and kept:
            edits += _mapping_of(section, {_key(item) for item in kept})
        elif name in _GONE:
            edits.append(Edit(*section.span))
            named.append(section.local)
    more = [f"{len(feeds) - _SHOWN} more"] if len(feeds) > _SHOWN else []
    return edited(source, edits), (*feeds[:_SHOWN], *more, *named)


def _items(sections: Iterable[Element], name: str) -> Iterator[Element]:
    """Yield what is added in the sections *name*."""
    for section in sections:
        if section.local.lower() == name:
            yield from (item for item in section.children if item.local.lower() == "add")


def _key(item: Element) -> str:
    return item.attribute("key") or item.attribute("value") or "without a name"


def _is_kept(item: Element, disabled: Collection[str | None]) -> bool:
    """Whether a source is a folder of the repository, which a step may have to make first."""
    value = item.attribute("value") or ""
    return ":" not in value and not value.startswith(("/", "\\")) and item.attribute("key") not in disabled


def _mapping_of(section: Element, kept: Collection[str]) -> Iterator[Edit]:
    """Yield the edits by which folders keep what they are asked for, and the sandbox's source is asked for all."""
    if section.closed:
        return
    everything = f'<packageSource key="{SOURCE}"><package pattern="*" /></packageSource>'
    yield Edit(section.inner.start, section.inner.start, everything)
    for item in section.children:
        if item.attribute("key") not in kept:
            yield Edit(*item.span)
