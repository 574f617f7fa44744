"""Trees of Git commits as layers: fetched without history, exported as committed, verified by our own digest."""

import asyncio
from pathlib import Path

from groundup.domain.digests import digest_of
from groundup.domain.errors import SubmissionError, TaskError
from groundup.environments.git import GitRepository, address_of
from groundup.environments.layer_store import Built, LayerStore
from groundup.environments.requests import GitSource, Layer
from groundup.trees.digest import tree_digest

_FORMAT = 1
"""Counts up when the same commit is exported as another tree."""


def commit_key(request: GitSource) -> str:
    """Return the digest under which the store has the tree of *request*."""
    return digest_of({"format": _FORMAT, "kind": request.kind, "commit": request.commit})


async def git_layer(request: GitSource, store: LayerStore, mirror: str | None) -> Layer:
    """Return the tree of *request*; its `built` names the tree's digest.

    Raises `TaskError` when the commit is not there or holds another tree than the recipe says, and `NetworkError`.
    """
    what = f"the source {request.repository} at {request.commit[:10]}"

    async def build(room: Path) -> Built:
        repository = GitRepository(room / "repository")
        await repository.create()
        await repository.fetch_commit(address_of(request.repository, mirror), request.commit)
        try:
            await repository.export(request.commit, room / "tree", room)
        except SubmissionError as error:
            raise TaskError(f"{what}: {error}") from error
        digest = await asyncio.to_thread(tree_digest, room / "tree")
        _require(request, digest.digest, what)
        return Built(built={"tree": digest.digest, "files": str(digest.files), "bytes": str(digest.bytes)})

    # A commit's id says what is in it, wherever it is fetched from.
    layer = await store.get("source", commit_key(request), build)
    _require(request, layer.built["tree"], what)
    return layer


def _require(request: GitSource, found: str, what: str) -> None:
    if request.tree_digest is not None and request.tree_digest != found:
        raise TaskError(f"{what} holds the tree {found}, not {request.tree_digest}; mend the recipe or the mirror")
