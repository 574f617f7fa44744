"""Images for agents: what a published image has, without the original, its tests and copies of either.

What goes: what lies in /workspace, and files elsewhere with the same bytes; files, and archives with files, that
are like one of the original's; distributions under its names; histories, caches, and archives that cannot be read.
Then all is looked through once more: what is left has nothing of it, by content.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError
from groundup.environments.layers import Built, layer_store
from groundup.languages.spelling import python_name
from groundup.sandbox.protocol import WORKSPACE
from groundup.sandbox.rooted import UnpackedImage
from groundup.settings import Settings
from groundup.trees.fingerprints import Fingerprint, contents_of_folder
from groundup.trees.walking import remove_tree
from groundup.trees.writer import share_tree

_KIND = "agent-image"
_RULES = "2"
"""Changes with what is removed."""
_LEAST_BYTES = 64
"""Files with fewer are alike by accident."""
_ALL = 0.9
"""Of a file's prints."""
_CACHES = frozenset({".cache", ".git", ".hg", ".svn", ".pip"})
_INFO = (".dist-info", ".egg-info", ".egg-link", ".data")


async def image_for_agents(
    image: UnpackedImage, original: Fingerprint, names: Collection[str], settings: Settings
) -> UnpackedImage:
    """Return *image* without *original*, and without distributions and packages under *names*.

    Raises `TaskError` where something of it is left.
    """
    key = digest_of([_RULES, image.digest, original.digest, sorted(names)])

    async def build(room: Path) -> Built:
        return await asyncio.to_thread(_without, image, original, names, room / "tree")

    layer = await layer_store(settings).get(_KIND, key, build)
    return image.but(digest=key, root=layer.path)


def _without(image: UnpackedImage, original: Fingerprint, names: Collection[str], tree: Path) -> Built:
    share_tree(image.root, tree)
    held = frozenset(_digests(tree / WORKSPACE.strip("/")).values())
    gone = [*_named(tree, names), tree / WORKSPACE.strip("/")]
    for place in gone:
        _remove(place)
    gone += _alike(tree, original, held)
    for place in gone:
        _remove(place)
    _remove_orphans(tree)
    left = _alike(tree, original, held)
    if left:
        shown = ", ".join(str(place.relative_to(tree)) for place in left[:3])
        raise TaskError(f"{image.name}: the original is still in it, in {shown}; agents cannot work in this image")
    removed = sorted({str(place.relative_to(tree)) for place in gone})
    return Built(built={"image": image.digest, "removed": " ".join(removed)[:2000]})


def _remove(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.is_dir():
        remove_tree(place)


def _digests(folder: Path) -> dict[Path, str]:
    found = {}
    for path in _files(folder):
        if path.stat().st_size >= _LEAST_BYTES:
            found[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_symlink():  # it may lead out of the image
        return
    for place, _, names in os.walk(folder):
        paths = (Path(place, name) for name in sorted(names))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _named(tree: Path, names: Collection[str]) -> list[Path]:
    """Return what installers left of the original by its names, and what may hold anything of anybody."""
    plain = {python_name(name) for name in names}
    found = []
    for place, folders, files in os.walk(tree):
        found += [Path(place, name) for name in (*folders, *files) if name in _CACHES]
        if Path(place).name not in ("site-packages", "dist-packages"):
            continue
        for name in (*folders, *files):
            path = Path(place, name)
            of = python_name(re.split(r"-\d", path.stem)[0]) if path.suffix in _INFO else python_name(path.stem)
            leads = path.suffix == ".pth" and path.is_file() and WORKSPACE.encode() in path.read_bytes()
            if leads or {of, of.removeprefix("-editable-").split("-")[0]} & plain:
                found.append(path)
    return found


def _alike(tree: Path, original: Fingerprint, held: Collection[str]) -> list[Path]:
    """Return files with the bytes of one in /workspace or with code like the original's, and unread archives."""
    contents = contents_of_folder(tree)
    places = [place for place, prints in contents.prints.items() if _is_of(original, prints)]
    places += [one.partition(": ")[0] for one in contents.unread]
    code = [tree / place.partition("!")[0] for place in places]
    return [*code, *(path for path, digest in _digests(tree).items() if digest in held)]


def _is_of(original: Fingerprint, prints: frozenset[int]) -> bool:
    """Whether one of the original's files lies in a file with *prints*, or all of that is the original's."""
    return original.nearly(prints) is not None or len(prints & original.all_prints) >= _ALL * len(prints)


def _remove_orphans(tree: Path) -> None:
    """Remove bytecode whose source is not there: it may be of what was removed."""
    for path in _files(tree):
        if path.suffix == ".pyc" and path.parent.name == "__pycache__":
            if not path.parent.with_name(f"{path.name.partition('.')[0]}.py").is_file():
                path.unlink()
        elif path.suffix == ".pyc":
            path.unlink()
