"""Images in files as layers: each is unpacked once."""

import asyncio
from pathlib import Path

from groundup.domain.errors import UsageError
from groundup.environments.layers import Built, LayerStore
from groundup.sandbox.rooted import UnpackedImage
from groundup.trees.images import read_config, unpack_image

_KIND = "image"


async def unpacked(path: Path, store: LayerStore) -> UnpackedImage:
    """Return the image that `docker save` or the like wrote to *path*. Raises `UsageError`."""
    path = path.expanduser()
    if not path.exists():
        raise UsageError(f"{path} is not there; write it with `docker save IMAGE -o {path}`")
    config = await asyncio.to_thread(read_config, path)

    async def build(room: Path) -> Built:
        await asyncio.to_thread(unpack_image, path, room / "tree")
        return Built()

    layer = await store.get(_KIND, config.digest, build)
    return UnpackedImage(
        name=str(path),
        digest=config.digest,
        root=layer.path,
        environment=config.environment,
        user=config.user,
    )
