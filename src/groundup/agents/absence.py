"""Copies of what a task asks for, among what a sandbox shows: found by name and by content, and hidden.

Programs bring their own copies of popular libraries along: pip's `_vendor`, the wheels of `ensurepip`, cloud tools
below /usr/lib. A copy goes by the library's import name, so a folder or module of that name is hidden, wherever it
lies outside a standard library. A copy that goes by another name is known by its prints (`trees.fingerprints`).
docs/security.md tells what is found where.
"""

import asyncio
import contextlib
import os
import re
import threading
import zipfile
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from groundup.domain.digests import digest_bytes, digest_of, short
from groundup.domain.errors import InfrastructureError
from groundup.sandbox.composition import masked_folders
from groundup.sandbox.protocol import Mount
from groundup.store.files import write_atomically
from groundup.trees import fingerprints
from groundup.trees.fingerprints import Contents, Fingerprint, contents_of_folder

_SYSTEM = Path("/usr")
_STANDARD_LIBRARY = re.compile(r"/lib(64)?/python3(\.\d+)?(?=/|$)")
_INSTALLED = ("site-packages", "dist-packages")
_BROUGHT = (
    *_INSTALLED,
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
_walking = threading.Lock()
_ARCHIVES = (".whl", ".zip", ".egg", ".pyz", ".pex")
_MODULES = (".py", ".pyi", ".pyx", ".pyc", ".so")


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
    if any(path.parent.name in _BROUGHT for path in copies_below(root, names)):
        return True
    return original is not None and original.likeness(_contents(root).prints).is_copy


def brought_along(shown: Iterable[Mount], names: Collection[str]) -> tuple[str, ...]:
    """Return where, inside, *shown* folders have copies of *names* installed or vendored."""
    found = (inside for path, inside in _seen(tuple(shown), names) if path.parent.name in _BROUGHT)
    return tuple(dict.fromkeys(found))


def copies_below(root: Path, names: Collection[str]) -> tuple[Path, ...]:
    """Return the folders, modules and archives below *root* that hold, by its name, one of *names*."""
    with _walking:  # who comes second finds what the first has kept
        index = _index(root)
    wanted = {_normal(name) for name in names}
    found = sorted({path for name in wanted for path in index.get(name, ())})
    return tuple(path for path in found if not any(above in found for above in path.parents))


def hiding(names: Collection[str], shown: Iterable[Mount], room: Path) -> tuple[Mount, ...]:
    """Return mounts over every copy of *names* in the host's /usr and in the archives below *shown*.

    *room* is a folder for what is seen instead: nothing.
    """
    if not names:
        return ()
    folder, file = room / "nothing", room / "nothing.txt"
    folder.mkdir(parents=True, exist_ok=True)
    file.touch()
    found = [(path, str(path)) for path in copies_below(_SYSTEM, names)]
    found += [(path, inside) for path, inside in _seen(tuple(shown), names) if path.name.endswith(_ARCHIVES)]
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
def _index(root: Path) -> dict[str, tuple[Path, ...]]:
    """Return what is below *root* by import name. Trees that sandboxes show do not change while a run lasts."""
    found: dict[str, list[Path]] = {}
    unseen = {str(folder) for folder in masked_folders()}
    for name, path in _named(str(root), unseen):
        found.setdefault(name, []).append(Path(path))
    return {name: tuple(paths) for name, paths in found.items()}


@lru_cache(maxsize=16)
def _contents(root: Path) -> Contents:
    """Return the prints of the code below *root*, but for what no sandbox shows, and for standard libraries."""
    unseen = tuple(f"{folder}/" for folder in masked_folders())
    return contents_of_folder(root, lambda folder: f"{folder}/".startswith(unseen) or _is_standard(folder))


def _is_standard(folder: str) -> bool:
    """Whether *folder* is of a standard library, and not of what is installed beside it."""
    inside = _STANDARD_LIBRARY.search(folder)
    return inside is not None and not any(f"/{name}" in folder[inside.end() :] for name in _INSTALLED)


def _named(folder: str, unseen: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield import names and places, of a folder that has modules, too; links are not followed."""
    standard = _is_standard(folder)
    has_modules = False
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:  # no one inside can read it, either
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            if entry.path not in unseen:
                yield from _named(entry.path, unseen)
        elif not entry.is_file(follow_symlinks=False):
            continue
        elif entry.name.endswith(_ARCHIVES):
            yield from ((name, entry.path) for name in _inside(entry.path))
        elif entry.name.endswith(_MODULES) and not standard:
            has_modules = True
            yield _normal(entry.name.split(".")[0]), entry.path
    if has_modules:
        yield _normal(os.path.basename(folder)), folder  # noqa: PTH119 - of 100,000 folders


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
            above = (_INSTALLED[0], *parts)
            names |= {_normal(part) for part, parent in zip(parts, above, strict=False) if parent in _BROUGHT}
    return names


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()
