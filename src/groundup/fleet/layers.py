"""Layers from node to node: what one has built, others take from it instead of building it again.

A layer travels packed by zstd, over the connections that workers have with each other anyhow, encrypted and for
holders of the fleet's keys alone; never through the scheduler. Who receives it checks it against the digest of its
content, which the driver has from the node that built it.
"""

import asyncio
import os
import secrets
import shutil
import tarfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from groundup.domain.errors import InfrastructureError
from groundup.environments.layers import Built
from groundup.environments.requests import Layer
from groundup.trees.archives import UNREADABLE
from groundup.trees.digest import tree_digest
from groundup.trees.removal import remove_tree

_OPERATION = "groundup_layer"
_CHUNK = 16 * 1024 * 1024
_MOST_BYTES = 16 * 1024**3
_WAIT_S = 60.0


def pack_layer(layer: Layer, destination: Path) -> None:
    """Write what is in *layer* to the file *destination*."""
    import zstandard

    partial = destination.with_name(f".{destination.name}-{secrets.token_hex(4)}")
    with (
        partial.open("wb") as file,
        zstandard.ZstdCompressor(level=3).stream_writer(file) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(layer.path.rglob("*")):
            tar.add(path, str(path.relative_to(layer.path)), recursive=False)
    partial.replace(destination)


def unpack_layer(packed: Path, room: Path, content: str) -> None:
    """Fill `room/tree` from *packed*. Raises `InfrastructureError` when its digest is not *content*."""
    import zstandard

    tree = room / "tree"
    tree.mkdir()
    try:
        with (
            packed.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as plain,
            tarfile.open(fileobj=plain, mode="r|") as tar,
        ):
            size = 0
            for member in tar:
                size += member.size
                if size > _MOST_BYTES:
                    raise ValueError("it is larger than any layer")
                _unpack(tar, member, tree)
        if tree_digest(tree).digest != content:
            raise InfrastructureError("a layer was changed on its way: its digest is another one")
    except (*UNREADABLE, zstandard.ZstdError, FileExistsError, FileNotFoundError, NotADirectoryError) as error:
        raise InfrastructureError(f"a layer was damaged on its way: {error}") from error


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, tree: Path) -> None:
    """Write a file, folder or link into *tree*. Raises `ValueError` for what is in no layer, or would lie outside.

    By hand: the filters of `tarfile` are younger than the Python of Debian 12.
    """
    place, inside = tree / member.name, os.path.realpath(tree)
    parts = Path(member.name).parts
    if not parts or ".." in parts or not Path(os.path.realpath(place.parent)).is_relative_to(inside):
        raise ValueError(f"{member.name} would lie outside")
    if member.isdir():
        place.mkdir(member.mode & 0o755)
    elif member.issym():
        place.symlink_to(member.linkname)
    elif (content := tar.extractfile(member)) is not None and member.isfile():
        with content, place.open("xb") as file:
            shutil.copyfileobj(content, file)
        place.chmod(member.mode & 0o755)
        os.utime(place, (member.mtime, member.mtime))  # bytecode beside it names this moment
    else:
        raise ValueError(f"{member.name} is in no layer")


class LayerShelf:
    """The layers that this process has used, packed for others when they first ask."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._layers: dict[str, tuple[Layer, str]] = {}
        self._packing = threading.Lock()

    def contents(self, layers: Mapping[str, Layer]) -> dict[str, str]:
        """Return the digest of what is in each of *layers*, and offer them from now on."""
        for key in layers.keys() - self._layers.keys():
            with suppress(InfrastructureError):  # it holds what cannot travel
                self._layers[key] = (layers[key], tree_digest(layers[key].path).digest)
        return {key: self._layers[key][1] for key in layers if key in self._layers}

    def offer(self, worker: Any) -> None:
        """Let other workers ask this one."""
        worker.handlers[_OPERATION] = self._chunk

    async def _chunk(self, layer: str, offset: int) -> dict[str, object]:
        """Return a part of a packed layer, and what its build reported; nothing of one that is not here."""
        if layer not in self._layers:
            return {}
        data = await asyncio.to_thread(self._read, layer, offset)
        return {"data": data, "built": self._layers[layer][0].built, "warnings": self._layers[layer][0].warnings}

    def _read(self, key: str, offset: int) -> bytes:
        packed = self._folder / key.replace("/", "-").replace(":", "-")
        with self._packing:
            if not packed.exists():
                pack_layer(self._layers[key][0], packed)
        with packed.open("rb") as file:
            file.seek(offset)
            return file.read(_CHUNK)


class OtherNodes:
    """The nodes that have a task's layers, as the driver knows; remembers which layers were used. `Neighbours`."""

    def __init__(self, worker: Any, contents: Mapping[str, str], holders: Sequence[str]) -> None:
        self._worker = worker
        self._contents = contents
        self._holders = [holder for holder in holders if worker is not None and holder != worker.address]
        self.layers: dict[str, Layer] = {}
        self.fetched = 0
        self.arriving = 0

    def used(self, layer: Layer) -> None:
        """Remember it."""
        self.layers[_key(layer.kind, layer.digest)] = layer

    async def fetch(self, kind: str, digest: str, room: Path) -> Built | None:
        """Take the layer from the first node that gives it as it should be."""
        key = _key(kind, digest)
        for holder in self._holders if key in self._contents else ():
            packed = room / "packed"
            self.arriving += 1
            try:
                made = await asyncio.wrap_future(
                    asyncio.run_coroutine_threadsafe(
                        _taken(self._worker, holder, key, packed), self._worker.loop.asyncio_loop
                    )
                )
                if made is not None:
                    await asyncio.to_thread(unpack_layer, packed, room, self._contents[key])
                    self.fetched += 1
                    return made
            except (OSError, TimeoutError, InfrastructureError):  # gone, or not what it should be: the next one
                await asyncio.to_thread(remove_tree, room / "tree")
            finally:
                self.arriving -= 1
                with suppress(FileNotFoundError):
                    packed.unlink()
        return None


async def _taken(worker: Any, holder: str, key: str, packed: Path) -> Built | None:
    """Write a packed layer of *holder* to the file *packed*; None: it has none. Runs in the worker's loop."""
    offset, answer = 0, {}
    with packed.open("wb") as file:
        while True:
            async with asyncio.timeout(_WAIT_S):
                answer = await worker.rpc(holder).groundup_layer(layer=key, offset=offset)
            if not answer:
                return None
            offset += file.write(answer["data"])
            if len(answer["data"]) < _CHUNK:
                return Built(built=answer["built"], warnings=tuple(answer["warnings"]))
            if offset > _MOST_BYTES:
                raise InfrastructureError("a packed layer has no end")


def _key(kind: str, digest: str) -> str:
    return f"{kind}/{digest}"
