"""Images in files or registries as layers: each is unpacked once."""

import asyncio
from pathlib import Path

from groundup.domain.errors import UsageError
from groundup.domain.names import names_image_file
from groundup.environments.layers import Built, LayerStore
from groundup.environments.requests import Layer
from groundup.registries.images import ImageClient
from groundup.sandbox.rooted import UnpackedImage
from groundup.trees.images import ImageConfig, read_config, unpack_image
from groundup.trees.scratch import async_scratch_folder
from groundup.trees.writer import in_thread

_KIND = "image"


def image_file(name: str) -> Path:
    """Return the file or folder of an image. Raises `UsageError` where it is not there."""
    path = Path(name).expanduser()
    if not path.exists():
        raise UsageError(f"{path} is not there; write it with `docker save IMAGE -o {path}`")
    return path


async def unpacked(name: str, store: LayerStore, pinned: str | None = None) -> UnpackedImage:
    """Return the image that `docker save` or the like wrote to the file *name*, or that a registry has under it.

    *pinned* is the one that it has to be. Raises `UsageError` and `NetworkError`.
    """
    if pinned is not None and (layer := store.find(_KIND, pinned)) is not None:
        return _of(name, layer)
    if names_image_file(name):
        return await _from_file(name, image_file(name), store, pinned)
    async with async_scratch_folder("image") as room:
        await ImageClient(name).fetch(room / "layout")
        return await _from_file(name, room / "layout", store, pinned)


async def _from_file(name: str, path: Path, store: LayerStore, pinned: str | None) -> UnpackedImage:
    config = await asyncio.to_thread(read_config, path)
    if pinned not in (None, config.digest):
        raise UsageError(f"{name} is another image than when the run began, {pinned}; bring that one back")

    async def build(room: Path) -> Built:
        await in_thread(unpack_image, path, room / "tree")
        return Built(built={"config": config.model_dump_json()})

    return _of(name, await store.get(_KIND, config.digest, build))


def _of(name: str, layer: Layer) -> UnpackedImage:
    config = ImageConfig.model_validate_json(layer.built["config"])
    return UnpackedImage(
        name=name, digest=layer.digest, root=layer.path, environment=config.environment, user=config.user
    )
