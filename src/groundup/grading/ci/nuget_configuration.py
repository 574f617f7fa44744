"""Feeds that a repository names, in a job's copy: they give way to the one that the sandbox has.

NuGet reads the `NuGet.config` of all folders above a project after the user's, so `<clear />` would remove the
gateway, a feed that cannot be reached would end each restore, and a mapping would send packages to feeds that are
gone. Folders of the repository stay sources, for they are there. Feeds that projects name in properties are
overruled by a response file, which counts more than whatever a project says.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from groundup.manifests.csharp.xml_tree import Element, parse
from groundup.manifests.editing import Edit, Span, Text, edited
from groundup.manifests.formats import files_of
from groundup.manifests.records import ManifestError

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
            written, left_out = without_feeds(data, path, tree)
        except ManifestError:  # the client names what is wrong with it
            continue
        if written != data:
            (tree / path).write_bytes(written)
            yield f"{path} without {', '.join(left_out or ('clear',))}"


def without_feeds(data: bytes, path: str, tree: Path) -> tuple[bytes, tuple[str, ...]]:
    """Return a configuration without feeds that a sandbox cannot reach, and what was left out.

    Raises `ManifestError` for what is no XML.
    """
    source = Text.decode(data, path)
    root = parse(source)
    edits: list[Edit] = []
    feeds: list[str] = []
    sections: list[str] = []
    for section in root.children:
        name = section.local.lower()
        if name in _GONE:
            edits.append(Edit(*section.span))
            sections.append(section.local)
        elif name == "packagesources":
            for item, feed in _unreachable(section, posixpath.dirname(path), tree):
                edits.append(Edit(*item))
                feeds += [feed] if feed else []
    more = [f"{len(feeds) - _SHOWN} more"] if len(feeds) > _SHOWN else []
    return edited(source, edits), (*feeds[:_SHOWN], *more, *sections)


def _unreachable(section: Element, folder: str, tree: Path) -> Iterator[tuple[Span, str]]:
    """Yield what a list of sources has that must go, with the name of each feed; `<clear />` has none."""
    for item in section.children:
        if item.local.lower() == "clear":
            yield item.span, ""
        elif item.local.lower() == "add" and not _is_folder(item.attribute("value") or "", folder, tree):
            yield item.span, f"the feed {item.attribute('key') or item.attribute('value') or 'without a name'}"


def _is_folder(value: str, folder: str, tree: Path) -> bool:
    """Whether a source is a folder of the repository."""
    if ":" in value or value.startswith("/"):
        return False
    inside = posixpath.normpath(posixpath.join(folder, value.replace("\\", "/")))
    return not inside.startswith("..") and (tree / inside).is_dir()
