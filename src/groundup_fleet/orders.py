"""What travels between the driver of a run and its nodes, pickled by Dask; and layers, from node to node.

An order says what shall be graded and what that was pinned with; trees travel beside it, packed. A layer travels
packed, too, over the connections that workers have with each other anyhow, encrypted and for holders of the
fleet's keys alone; never through the scheduler. Who receives it checks it against the digest of its content, which
the driver has from the node that built it.
"""

import asyncio
import pickle
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from groundup.domain.errors import DiskFullError, GroundupError, InfrastructureError, MachineError, SandboxError
from groundup.domain.records import Record
from groundup.domain.subjects import Submission
from groundup.environments.layers import Built
from groundup.environments.packing import pack_folder, unpack_folder
from groundup.environments.requests import Layer
from groundup.episodes.records import EpisodeSpec
from groundup.suites.base import Graded
from groundup.trees.digest import tree_digest
from groundup.trees.walking import remove_tree
from groundup.trees.writer import in_thread


class Play(Record):
    """An agent that makes the submission on a node, and where it reaches the run's model."""

    agent: str = Field(description="short name or dotted path")
    options: dict[str, JsonValue]
    identity: str = Field(description="digest of the agent with its settings")
    relay: str = Field(description="address of the driver")
    token: str = Field(description="opens the relay for this attempt, as long as it goes on")
    model: str | None
    context_tokens: int | None


class Order(Record):
    """One submission to grade or to make, and what the node must have in common with the driver."""

    spec: EpisodeSpec
    submission: str = Field(default="", description="digest of the tree")
    play: Play | None = Field(default=None, description="None: the submission is there, to be graded")
    sandbox: str
    sandbox_identity: dict[str, str]
    images: dict[str, str] = Field(default={}, description="names of tasks' images -> the images that they are")
    builder: str
    groundup: str = Field(description="version")
    code: str = Field(description="digest of the code that decides the verdict")
    use_cache: bool
    data: str | None = Field(default=None, description="digest of the driver's; None: the node's own")
    layers: dict[str, str] = Field(default={}, description="that the task needs -> digest of the content of each")
    holders: tuple[str, ...] = Field(default=(), description="addresses of the workers that have these layers")


@dataclass(frozen=True, kw_only=True)
class NodeAnswer:
    """What a node says of an order: what it did, why it cannot work on such orders, or what failed."""

    node: str
    address: str
    """Of the worker, as the scheduler knows it."""
    graded: tuple[Graded, bool] | None = None
    """With whether the node knew the verdict already."""
    made: tuple[Submission, bytes] | None = None
    """What an agent handed in, with its packed tree."""
    layers: dict[str, str] = field(default_factory=dict)
    """That were used -> digest of the content of each."""
    fetched: int = 0
    """How many of them came from other nodes."""
    refused: str | None = None
    """Why this node grades nothing for the run."""
    failure: Exception | None = None


def packed(tree: Path) -> bytes:
    """Return *tree* in one piece, to be unpacked by `unpack`."""
    with tempfile.TemporaryDirectory() as name:
        pack_folder(tree, Path(name) / "packed")
        return (Path(name) / "packed").read_bytes()


def unpack(data: bytes, tree: Path, digest: str) -> None:
    """Write what was `packed` to *tree*. Raises `InfrastructureError` when it is not what has *digest*."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "packed").write_bytes(data)
        unpack_folder(Path(name) / "packed", tree, digest)


def failure_of(error: Exception, node: str) -> Exception:
    """Return what the driver raises for *error*, so that it blames whom it would blame here."""
    text = f"{error} (on the node {node})"
    if isinstance(error, SandboxError | DiskFullError):  # the node's own, none of the driver's
        return (MachineError if isinstance(error, MachineError) else InfrastructureError)(text)
    if isinstance(error, GroundupError):
        error.args = (text,)
        try:
            return pickle.loads(pickle.dumps(error))  # type: ignore[no-any-return]  # noqa: S301
        except Exception:  # noqa: BLE001, S110  # a class whose errors cannot travel
            pass
    trace = "".join(traceback.format_exception(error))[-20_000:]
    return RuntimeError(f"{type(error).__name__}: {text}\n{trace}")


_OPERATION = "groundup_layer"
_CHUNK = 16 * 1024 * 1024
_MOST_BYTES = 16 * 1024**3
_WAIT_S = 60.0


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
                pack_folder(self._layers[key][0].path, packed)
        with packed.open("rb") as file:
            file.seek(offset)
            return file.read(_CHUNK)


class OtherNodes:
    """The nodes that have a task's layers, as the driver knows; remembers which layers were used. `Neighbours`."""

    def __init__(self, worker: Any, contents: Mapping[str, str], holders: Sequence[str]) -> None:
        self._worker = worker
        self._contents = contents
        self._holders = [holder for holder in holders if holder != worker.address]
        self.layers: dict[str, Layer] = {}
        self.fetched = 0
        self.arriving = 0

    def used(self, layer: Layer) -> None:
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
                    await in_thread(unpack_folder, packed, room / "tree", self._contents[key])
                    self.fetched += 1
                    return made
            except (OSError, TimeoutError, InfrastructureError):  # gone, or not what it should be: the next one
                await in_thread(remove_tree, room / "tree")
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
