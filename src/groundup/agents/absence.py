"""Copies of what a task asks for, among what a sandbox shows: found by name and by content, and hidden.

Programs bring their own copies of popular libraries along: pip's `_vendor`, the wheels of `ensurepip`, cloud tools
below /usr/lib. A copy goes by the library's import name, so a folder or module of that name is hidden, wherever it
lies outside a standard library. A copy that goes by another name is known by its prints (`trees.fingerprints`).
docs/security.md tells what is found where.

What lies below a folder by import name, and that of a large folder kept from one program to the next.

What is kept holds as long as each folder and archive of it has the time of change that it had: a folder's changes
with any name in it. So to look at it again takes one call of the system for each, and no reading of all names.
"""

import asyncio
import contextlib
import json
import os
import re
import threading
import time
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from groundup.domain.digests import digest_bytes, digest_of, short
from groundup.domain.errors import InfrastructureError
from groundup.environments.requests import PythonEnvironment
from groundup.inside import source_of, stand_in_pip
from groundup.registries.uv import uv_program
from groundup.sandbox.composition import masked_folders
from groundup.sandbox.protocol import Mount
from groundup.store.files import write_atomically
from groundup.trees import fingerprints
from groundup.trees.fingerprints import Contents, Fingerprint, contents_of_folder
from groundup.trees.scratch import temporary_root

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


_SYSTEM = Path("/usr")
_walking = threading.Lock()
_known: dict[tuple[Path, frozenset[str], str | None], bool] = {}
"""What `brings_copies` found: a server's episodes ask for the same again and again."""


async def brings_copies(root: Path, names: Collection[str], original: Fingerprint | None = None) -> bool:
    """Whether one of *names*, or *original* by another name, is in the environment *root*, or vendored there.

    Reading a whole environment takes seconds, and a layer never changes: the answer is kept beside its tree.
    """
    key = root, frozenset(names), original.digest if original else None
    if key not in _known:
        _known[key] = await asyncio.to_thread(_kept_answer, root, names, original)
    return _known[key]


def _kept_answer(root: Path, names: Collection[str], original: Fingerprint | None) -> bool:
    if root.name != "tree" or not (root.parent / "layer.json").is_file():
        return _brings_copies(root, names, original)
    asked = [sorted(names), original.digest if original else None, _rules_digest()]
    answer = root.parent / f"copies-{short(digest_of(asked))}"
    with contextlib.suppress(OSError):
        return answer.read_bytes() == b"yes"
    found = _brings_copies(root, names, original)
    with contextlib.suppress(OSError, InfrastructureError):
        write_atomically(answer, b"yes" if found else b"no", durable=False)
    return found


@cache
def _rules_digest() -> str:
    """Return what changes when copies are looked for in another way."""
    return digest_bytes(b"".join(Path(str(one)).read_bytes() for one in (__file__, fingerprints.__file__)))


def _brings_copies(root: Path, names: Collection[str], original: Fingerprint | None) -> bool:
    if any(path.parent.name in BROUGHT for path in copies_below(root, names)):
        return True
    return original is not None and original.likeness(_contents(root).prints).is_copy


def brought_along(shown: Iterable[Mount], names: Collection[str]) -> tuple[str, ...]:
    """Return where, inside, *shown* folders have copies of *names* installed or vendored."""
    found = (inside for path, inside in _seen(tuple(shown), names) if path.parent.name in BROUGHT)
    return tuple(dict.fromkeys(found))


def copies_below(root: Path, names: Collection[str]) -> tuple[Path, ...]:
    """Return the folders, modules and archives below *root* that hold, by its name, one of *names*."""
    with _walking:  # who comes second finds what the first has kept
        index = _index(root)
    wanted = {normal(name) for name in names}
    found = sorted({Path(path) for name in wanted for path in index.get(name, ())})
    return tuple(path for path in found if not any(above in found for above in path.parents))


def hiding(
    names: Collection[str], shown: Iterable[Mount], room: Path, system: Path | None = Path("/")
) -> tuple[Mount, ...]:
    """Return mounts over every copy of *names* in /usr of the root *system* and in the archives below *shown*.

    *system*: None where a guest sees no root that may hold copies. *room* is a folder for what is seen instead:
    nothing.
    """
    if not names:
        return ()
    folder, file = room / "nothing", room / "nothing.txt"
    folder.mkdir(parents=True, exist_ok=True)
    file.touch()
    found: list[tuple[Path, str]] = []
    if system is not None:
        found += [(path, f"/{path.relative_to(system)}") for path in copies_below(system / "usr", names)]
    found += [(path, inside) for path, inside in _seen(tuple(shown), names) if path.name.endswith(ARCHIVES)]
    return tuple(Mount(source=folder if path.is_dir() else file, target=target) for path, target in found)


def _seen(shown: tuple[Mount, ...], names: Collection[str]) -> Iterator[tuple[Path, str]]:
    """Yield copies below *shown* with where they are seen, but for what another mount covers."""
    for number, mount in enumerate(shown):
        if mount.writable or not mount.source.is_dir():
            continue
        later = [f"{other.target}/" for other in shown[number + 1 :]]
        for path in copies_below(mount.source, names):
            inside = f"{mount.target}/{path.relative_to(mount.source)}"
            if not any(f"{inside}/".startswith(target) for target in later):
                yield path, inside


@lru_cache(maxsize=64)
def _index(root: Path) -> Names:
    """Return what is below *root* by import name. Trees that sandboxes show do not change while a run lasts."""
    unseen = {str(folder) for folder in masked_folders()}
    if root == _SYSTEM:  # tens of thousands of files, read by every program that opens a workspace
        return kept_names_below(root, unseen, temporary_root() / "names")
    return names_below(root, unseen)


@lru_cache(maxsize=16)
def _contents(root: Path) -> Contents:
    """Return the prints of the code below *root*, but for what no sandbox shows, and for standard libraries."""
    unseen = tuple(f"{folder}/" for folder in masked_folders())
    return contents_of_folder(root, lambda folder: f"{folder}/".startswith(unseen) or is_standard(folder))


def uv_as_pip(environment: PythonEnvironment, prefix: Path, target: str) -> tuple[Mount, ...]:
    """Let pip be uv, which brings no copies along, in new environments, too; return what shows it.

    *prefix* is seen inside at *target*.
    """
    minor = f"python{'.'.join(environment.python_version.split('.')[:2])}"
    bundled = prefix.with_name("ensurepip")
    bundled.mkdir()
    for name in ("__init__.py", "__main__.py"):
        (bundled / name).write_bytes(source_of("stand_in_pip.py"))
    stand_in_pip.install(prefix / "lib" / minor / "site-packages", prefix / "bin", f"{target}/bin/python")
    return (
        Mount(source=uv_program(), target=stand_in_pip.UV),
        *(
            Mount(source=bundled, target=f"{mount.target}/{place}")
            for mount in environment.mounts
            for place in (f"lib/{minor}/ensurepip", f"{minor}/ensurepip", "ensurepip")
            if (mount.source / place).is_dir() and f"{mount.target}/{place}".endswith(f"/lib/{minor}/ensurepip")
        ),
    )
