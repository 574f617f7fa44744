"""What lies below a folder by import name, and that of a large folder kept from one program to the next.

What is kept holds as long as each folder and archive of it has the time of change that it had: a folder's changes
with any name in it. So to look at it again takes one call of the system for each, and no reading of all names.
"""

import contextlib
import json
import os
import re
import time
import zipfile
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from groundup.domain.digests import digest_bytes, digest_of, short
from groundup.domain.errors import InfrastructureError
from groundup.store.files import write_atomically

ARCHIVES = (".whl", ".zip", ".egg", ".pyz", ".pex")
INSTALLED = ("site-packages", "dist-packages")
BROUGHT = (
    *INSTALLED,
    "_vendor",
    "_vendored",
    "vendor",
    "vendored",
    "packages",
    "third_party",
    "extern",
    "external",
)
"""Folders right below which copies of others' libraries lie."""
_STANDARD_LIBRARY = re.compile(r"/lib(64)?/python3(\.\d+)?(?=/|$)")
_MODULES = (".py", ".pyi", ".pyx", ".pyc", ".so")
_SEPARATORS = re.compile(r"[-_.]+")
SETTLED_NS = 2_000_000_000
"""What changed so short a time before it was read may have changed again within the same tick of the clock."""
Names = Mapping[str, Collection[str]]
"""Import name -> where it lies."""


@cache
def normal(name: str) -> str:
    """Return *name* as all its spellings are compared."""
    return _SEPARATORS.sub("_", name).lower()


def is_standard(folder: str) -> bool:
    """Whether *folder* is of a standard library, and not of what is installed beside it."""
    inside = _STANDARD_LIBRARY.search(folder)
    return inside is not None and not any(f"/{name}" in folder[inside.end() :] for name in INSTALLED)


def names_below(root: Path, unseen: Collection[str]) -> Names:
    """Return what lies below *root* but for the folders *unseen*."""
    return _Walk(str(root), unseen).names


def kept_names_below(root: Path, unseen: Collection[str], room: Path, settled_ns: int = SETTLED_NS) -> Names:
    """Return `names_below`, kept in the folder *room*, which no other user may write."""
    place = room / f"{short(digest_of([str(root), sorted(unseen), rules_digest()]))}.json"
    with contextlib.suppress(OSError, ValueError, LookupError, AttributeError, TypeError):
        kept = json.loads(place.read_bytes())
        if all(_changed_ns(path) == stamp for path, stamp in kept["stamps"].items()):
            names: Names = kept["names"]
            return names
    walk = _Walk(str(root), unseen)
    latest = time.time_ns() - settled_ns
    if all(0 <= stamp < latest for stamp in walk.stamps.values()):
        with contextlib.suppress(OSError, InfrastructureError):
            room.mkdir(mode=0o700, exist_ok=True)
            text = json.dumps({"stamps": walk.stamps, "names": walk.names})
            write_atomically(place, text.encode(), durable=False)
    return walk.names


@cache
def rules_digest() -> str:
    """Return what changes when names are looked for in another way."""
    return digest_bytes(Path(__file__).read_bytes())


class _Walk:
    """The import names below a folder, and when each folder and archive was changed; links are not followed."""

    def __init__(self, root: str, unseen: Collection[str]) -> None:
        self.names: dict[str, list[str]] = {}
        self.stamps: dict[str, int] = {}
        self._unseen = unseen
        self._visit(root)

    def _visit(self, folder: str) -> None:
        self.stamps[folder] = _changed_ns(folder)
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except OSError:  # no one inside can read it, either
            return
        standard, has_modules = is_standard(folder), False
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                if entry.path not in self._unseen:
                    self._visit(entry.path)
            elif not entry.name.endswith((*ARCHIVES, *_MODULES)) or not entry.is_file(follow_symlinks=False):
                continue
            elif entry.name.endswith(ARCHIVES):
                self.stamps[entry.path] = _changed_ns(entry.path)
                for name in _inside(entry.path):
                    self._add(name, entry.path)
            elif not standard:
                has_modules = True
                self._add(normal(entry.name.split(".")[0]), entry.path)
        if has_modules:
            self._add(normal(os.path.basename(folder)), folder)  # noqa: PTH119 - of 100,000 folders

    def _add(self, name: str, path: str) -> None:
        self.names.setdefault(name, []).append(path)


def _changed_ns(path: str) -> int:
    """Return when *path*, or its mode, was changed; -1: it is not there."""
    try:
        return os.stat(path).st_ctime_ns  # noqa: PTH116 - of 100,000 folders
    except OSError:
        return -1


def _inside(path: str) -> set[str]:
    """Return the import names that an archive brings, installed or vendored; nothing when it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return set()
    names = set()
    for member in members:
        if member.endswith(_MODULES):
            parts = member.split("/")
            parts[-1] = parts[-1].split(".")[0]
            above = (INSTALLED[0], *parts)
            names |= {normal(part) for part, parent in zip(parts, above, strict=False) if parent in BROUGHT}
    return names
