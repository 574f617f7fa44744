"""Source distributions as layers: fetched by hash, unpacked as a stranger's archive, one top folder stripped."""

import asyncio
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.domain.errors import SubmissionError, TaskError
from groundup.environments.git_sources import commit_key
from groundup.environments.layer_store import Built, LayerStore
from groundup.environments.requests import AnySource, GitSource, Layer, SourceRequest
from groundup.gateways.pypi_registry import PyPIRegistry
from groundup.gateways.records import UnknownPackageError
from groundup.trees.archives import extract_archive
from groundup.trees.digest import tree_digest

_FORMAT = 1
"""Counts up when the same archive unpacks to another tree."""


def source_key(request: SourceRequest) -> str:
    """Return the digest under which the store has the tree of *request*."""
    return digest_of({"format": _FORMAT, "kind": request.kind, "sha256": request.sha256})


def has_source(request: AnySource, store: LayerStore) -> bool:
    """Whether the tree of *request* is here."""
    key = commit_key(request) if isinstance(request, GitSource) else source_key(request)
    return store.find("source", key) is not None


async def source_layer(request: SourceRequest, registry: PyPIRegistry, store: LayerStore) -> Layer:
    """Return the unpacked tree of *request*; its `built` names the tree's digest.

    Raises `TaskError` when the index has no such file or it cannot be unpacked, and `NetworkError`.
    """

    async def build(room: Path) -> Built:
        try:
            archive = await registry.fetch_file(request.name, request.version, request.sha256)
        except UnknownPackageError as error:
            raise TaskError(f"the source of {request.name} {request.version}: {error}") from error
        tree = await asyncio.to_thread(_unpacked, archive, room, f"{request.name} {request.version}")
        digest = await asyncio.to_thread(tree_digest, tree)
        return Built(built={"tree": digest.digest, "files": str(digest.files), "bytes": str(digest.bytes)})

    return await store.get("source", source_key(request), build)


def _unpacked(archive: Path, room: Path, what: str) -> Path:
    """Unpack into `room/tree` without the one folder that holds everything."""
    try:
        extract_archive(archive, room / "whole")
    except SubmissionError as error:
        raise TaskError(f"the source of {what}: {error}") from error
    entries = [entry for entry in (room / "whole").iterdir() if entry.name != "pax_global_header"]
    if len(entries) != 1 or not entries[0].is_dir() or entries[0].is_symlink():
        raise TaskError(f"the source of {what} does not have exactly one top folder, as a source distribution has")
    return entries[0].rename(room / "tree")
