"""Copies of what a task asks for, among what a sandbox shows: found by name and by content, and hidden.

Programs bring their own copies of popular libraries along: pip's `_vendor`, the wheels of `ensurepip`, cloud tools
below /usr/lib. A copy goes by the library's import name, so a folder or module of that name is hidden, wherever it
lies outside a standard library. A copy that goes by another name is known by its prints (`trees.fingerprints`).
docs/security.md tells what is found where.
"""

import asyncio
import contextlib
import threading
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from groundup.agents import named_copies
from groundup.agents.named_copies import (
    ARCHIVES,
    BROUGHT,
    Names,
    is_standard,
    kept_names_below,
    names_below,
    normal,
)
from groundup.domain.digests import digest_bytes, digest_of, short
from groundup.domain.errors import InfrastructureError
from groundup.sandbox.composition import masked_folders
from groundup.sandbox.protocol import Mount
from groundup.store.files import write_atomically
from groundup.trees import fingerprints
from groundup.trees.fingerprints import Contents, Fingerprint, contents_of_folder
from groundup.trees.scratch import temporary_root

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
    return digest_bytes(
        b"".join(Path(str(one)).read_bytes() for one in (__file__, named_copies.__file__, fingerprints.__file__))
    )


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
