"""Which programs a system has, by name and version: this machine's, the fixed list's, or an unpacked image's.

Debian's own records say the versions, so nothing is started; a program that they lack is named by its content.
"""

import functools
import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath

from groundup.domain.digests import digest_of
from groundup.domain.inventory import HOST, LISTED, Inventory
from groundup.sandbox.debian import files_of, packages
from groundup.sandbox.rooted import UnpackedImage
from groundup.sandbox.system import listed_programs

_LINKS = 40
"""In one path, as the kernel bounds them."""


@functools.cache
def host_inventory() -> Inventory:
    """Return the programs of this machine's /usr, as guests of the host's system find them."""
    return _inventory(HOST, Path("/"), _on_path(Path("/"), ("usr/bin", "bin")))


def listed_inventory() -> Inventory:
    """Return the programs of the fixed list, as they are on this machine."""
    here = Path("/")
    return _inventory(LISTED, here, {path.name: _within(here, path) for _, path in listed_programs()})


def image_inventory(image: UnpackedImage) -> Inventory:
    """Return the programs on the PATH of *image*; its own digest names it."""
    folders = (folder.strip("/") for folder in image.search_path)
    found = _inventory(image.name, image.root, _on_path(image.root, folders))
    return found.but(digest=image.digest)


def _inventory(origin: str, root: Path, places: Mapping[str, Path]) -> Inventory:
    versions = _versions(root, {_plain(place) for place in places.values()})
    found = {name: versions.get(_plain(place)) or _content(root / place) for name, place in sorted(places.items())}
    return Inventory(origin=origin, digest=digest_of(found), programs=found)


def _on_path(root: Path, folders: Iterable[str]) -> Mapping[str, Path]:
    """Return where the programs in *folders* of *root* are, by name; the first of a name counts."""
    found: dict[str, Path] = {}
    for folder in folders:
        place = root / _within(root, root / folder)
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            if path.name in found:
                continue
            inside = _within(root, path)
            if (root / inside).is_file() and os.access(root / inside, os.X_OK | os.R_OK):
                found[path.name] = inside
    return found


def _within(root: Path, path: Path) -> Path:
    """Return where *path* leads, relative to *root*: links of an image are followed inside it, and never out."""
    waiting = list(reversed(path.relative_to(root).parts))
    place, links = PurePosixPath(), 0
    while waiting:
        part = waiting.pop()
        if part in ("/", ".", ".."):
            place = {"/": PurePosixPath(), "..": place.parent}.get(part, place)
            continue
        here = root / place / part
        if here.is_symlink() and links < _LINKS:
            links += 1
            waiting += reversed(here.readlink().parts)
        else:
            place = place / part
    return Path(place)


def _plain(place: Path) -> str:
    """Return a path as packages of before and after the merge of /usr both have it."""
    return str(place).removeprefix("usr/")


def _versions(root: Path, wanted: Collection[str]) -> Mapping[str, str]:
    """Return package and version of the files *wanted*, as far as Debian's records in *root* know them."""
    known = packages(root)
    found: dict[str, str] = {}
    for name, files in files_of(root, known.keys()).items():
        for place in (path.lstrip("/").removeprefix("usr/") for path in files):
            if place in wanted:
                found[place] = f"{name} {known[name].version}"
    return found


def _content(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
