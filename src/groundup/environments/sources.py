"""Originals as layers: source distributions by hash, trees of Git commits by digest, and either with edits.

A commit whose files that matter are on the package index comes from there as well: `released_layer`.
"""

import asyncio
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from groundup.domain.digests import digest_of
from groundup.domain.errors import SubmissionError, TaskError
from groundup.environments.requests import (
    AnySource,
    EditedSource,
    GitSource,
    Layer,
    ReleasedFiles,
    SourceRequest,
)
from groundup.registries.ledger import UnknownPackageError
from groundup.trees.digest import tree_digest
from groundup.trees.edits import FileEdit
from groundup.trees.walking import remove_tree

if TYPE_CHECKING:
    from groundup.registries.pypi.client import PyPIClient
from groundup.environments.layers import Built, LayerStore
from groundup.trees.writer import in_thread

_GIT_FORMAT = 1
"""Counts up when the same commit is exported as another tree."""


def commit_key(request: GitSource) -> str:
    """Return the digest under which the store has the tree of *request*."""
    question: dict[str, object] = {"format": _GIT_FORMAT, "kind": request.kind, "commit": request.commit}
    if request.without:
        question["without"] = sorted(request.without)
    return digest_of(question)


async def git_layer(request: GitSource, store: LayerStore, mirror: str | None) -> Layer:
    """Return the tree of *request*; its `built` names the tree's digest.

    Raises `TaskError` when the commit is not there or holds another tree than the recipe says, and `NetworkError`.
    """
    from groundup.environments.git import GitRepository, addresses_of  # few originals are commits
    from groundup.trees.archives import extract_archive

    what = f"the source {request.repository} at {request.commit[:10]}"

    async def build(room: Path) -> Built:
        kept = archive_place(request, mirror)
        is_from_host = False
        try:
            if kept is not None and kept.is_file():
                await in_thread(extract_archive, kept, room / "tree")
            elif shutil.which("git") is None and request.tree_digest and not request.by_git_only:
                is_from_host = True
                await _fill_from_archive(request, mirror, room, what)
            else:
                repository = GitRepository(room / "repository")
                await repository.create()
                await repository.fetch(addresses_of(request.repository, mirror), request.commit)
                await repository.export(request.commit, room / "tree", room, without=request.without)
        except SubmissionError as error:
            raise TaskError(f"{what}: {error}") from error
        digest = await asyncio.to_thread(tree_digest, room / "tree")
        if is_from_host and digest.digest != request.tree_digest:
            raise TaskError(f"{what}: its host's archive holds another tree; install Git, or mend the recipe")
        _require(request, digest.digest, what)
        return Built(built={"tree": digest.digest, "files": str(digest.files), "bytes": str(digest.bytes)})

    # A commit's id says what is in it, wherever it is fetched from.
    layer = await store.get("source", commit_key(request), build)
    _require(request, layer.built["tree"], what)
    return layer


async def _fill_from_archive(request: GitSource, mirror: str | None, room: Path, what: str) -> None:
    """Write `room/tree` from the archive that the repository's host makes of the commit."""
    from groundup.environments.commit_archives import fetch_archive
    from groundup.environments.git import addresses_of

    archive = room / "commit.tar.gz"
    await fetch_archive(addresses_of(request.repository, mirror), request.commit, archive)
    tree = await in_thread(_unpacked, archive, room, what)
    for path in request.without:
        await in_thread(remove_tree, tree / path)
        for folder in list((tree / path).relative_to(tree).parents)[:-1]:
            with suppress(OSError):  # a commit has no empty folders
                (tree / folder).rmdir()


def archive_place(request: GitSource, mirror: str | None) -> Path | None:
    """Return where the folder *mirror* keeps the tree of *request* as an archive, whether or not it does.

    The name is the tree's digest, which is checked after unpacking; a commit without one has no archive.
    """
    if mirror is None or not mirror.startswith("/") or "{" in mirror or request.tree_digest is None:
        return None
    return Path(mirror, "archives", f"{request.tree_digest.replace(':', '-')}.tar.gz")


def _require(request: GitSource, found: str, what: str) -> None:
    if request.tree_digest is not None and request.tree_digest != found:
        raise TaskError(f"{what} holds the tree {found}, not {request.tree_digest}; mend the recipe or the mirror")


_FORMAT = 1
"""Counts up when the same archive unpacks to another tree."""


def source_key(request: SourceRequest) -> str:
    return digest_of({"format": _FORMAT, "kind": request.kind, "sha256": request.sha256})


def released_key(released: ReleasedFiles) -> str:
    """Return the digest under which the store has the tree that is made of uploads."""
    return digest_of({"format": _FORMAT, "kind": "released", "tree": released.tree_digest})


def present_source(request: AnySource, store: LayerStore) -> Layer | None:
    """Return the layer of *request*, or of what it is made of without any network; None: it is not at hand."""
    if isinstance(request, EditedSource):
        edited = (store.find("source", edited_key(request, key)) for key in _keys(request.of))
        return next(filter(None, edited), None) or present_source(request.of, store)
    return next(filter(None, (store.find("source", key) for key in _keys(request))), None)


def _keys(request: SourceRequest | GitSource) -> list[str]:
    """Return where the store can have *request*, the best first."""
    if isinstance(request, SourceRequest):
        return [source_key(request)]
    return [commit_key(request), *([released_key(request.released)] if request.released else [])]


def edited_key(request: EditedSource, base: str) -> str:
    """Return the digest under which the store has the source *base* with the edits of *request*."""
    edits = {path: edit.sha256 for path, edit in request.edits.items()}
    return digest_of({"format": 1, "kind": request.kind, "of": base, "edits": edits})


def _place(tree: Path, path: str) -> Path:
    """Return where the file *path* lies in *tree*. Raises `TaskError` for one that leads out of it."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise TaskError(f"the original has no file {path!r}, which its recipe names; mend the recipe")
    return tree / pure


def write_edits(tree: Path, edits: Mapping[str, FileEdit]) -> None:
    """Change files of *tree*. Raises `TaskError` where one is not there, or does not become what is stated."""
    for path, edit in edits.items():
        place = _place(tree, path)
        if place.is_symlink() or not place.is_file():
            raise TaskError(f"the original has no file {path!r}, which its recipe edits; mend the recipe")
        place.write_bytes(edit.of(place.read_bytes(), path))


async def edited_layer(request: EditedSource, base: Layer, store: LayerStore) -> Layer:
    """Return the tree of *base* with the edits of *request*. Raises `TaskError` where one is not as stated."""

    def fill(tree: Path) -> Built:
        shutil.copytree(base.path, tree, symlinks=True)
        write_edits(tree, request.edits)
        digest = tree_digest(tree)
        return Built(built={"tree": digest.digest, "files": str(digest.files), "bytes": str(digest.bytes)})

    async def build(room: Path) -> Built:
        return await in_thread(fill, room / "tree")

    return await store.get("source", edited_key(request, base.digest), build)


async def source_layer(request: SourceRequest, registry: "PyPIClient", store: LayerStore) -> Layer:
    """Return the unpacked tree of *request*; its `built` names the tree's digest.

    Raises `TaskError` when the index has no such file or it cannot be unpacked, and `NetworkError`.
    """

    async def build(room: Path) -> Built:
        try:
            archive = await registry.fetch_file(request.name, request.version, request.sha256)
        except UnknownPackageError as error:
            raise TaskError(f"the source of {request.name} {request.version}: {error}") from error
        tree = await in_thread(_unpacked, archive, room, f"{request.name} {request.version}")
        digest = await asyncio.to_thread(tree_digest, tree)
        return Built(built={"tree": digest.digest, "files": str(digest.files), "bytes": str(digest.bytes)})

    return await store.get("source", source_key(request), build)


async def released_layer(released: ReleasedFiles, registry: "PyPIClient", store: LayerStore) -> Layer:
    """Return the tree that the uploads of *released* make together.

    Raises `TaskError` where one is gone or they make another tree than stated, and `NetworkError`.
    """
    what = f"the source of {' and '.join(released.uploads)}"
    parts = [
        ((await source_layer(request, registry, store)).path, files)
        for request, files in released.requests().items()
    ]

    def fill(tree: Path) -> Built:
        fill_released(tree, parts, released)
        digest = tree_digest(tree)
        if digest.digest != released.tree_digest:
            raise TaskError(f"{what} makes the tree {digest.digest}, not {released.tree_digest}; mend the recipe")
        return Built(built={"tree": digest.digest, "files": str(digest.files), "bytes": str(digest.bytes)})

    async def build(room: Path) -> Built:
        (room / "tree").mkdir()
        return await in_thread(fill, room / "tree")

    return await store.get("source", released_key(released), build)


def fill_released(tree: Path, parts: Iterable[tuple[Path, Sequence[str]]], released: ReleasedFiles) -> None:
    """Put the files that are taken of unpacked uploads together in the folder *tree*. Raises `TaskError`."""
    for path, files in parts:
        for file in files or [one.name for one in sorted(path.iterdir())]:
            _take(_place(path, file), tree / file)
    for name in released.without:
        remove_tree(_place(tree, name))
    write_edits(tree, released.edits)


def _take(source: Path, target: Path) -> None:
    """Copy a file or a folder in the place of what an earlier upload had there."""
    if not os.path.lexists(source):
        raise TaskError(f"an upload has no file {source.name!r}, which its recipe takes; mend the recipe")
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        remove_tree(target)
        shutil.copy2(source, target, follow_symlinks=False)


def _unpacked(archive: Path, room: Path, what: str) -> Path:
    """Unpack into `room/tree` without the one folder that holds everything."""
    from groundup.trees.archives import extract_archive  # once for each original, and imports every compression

    try:
        extract_archive(archive, room / "whole")
    except SubmissionError as error:
        raise TaskError(f"the source of {what}: {error}") from error
    entries = [entry for entry in (room / "whole").iterdir() if entry.name != "pax_global_header"]
    if len(entries) != 1 or not entries[0].is_dir() or entries[0].is_symlink():
        raise TaskError(f"the source of {what} does not have exactly one top folder, as a source distribution has")
    return entries[0].rename(room / "tree")
