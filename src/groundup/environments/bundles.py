"""What grading needs, layers and interpreters, as one file for another machine: it is written and taken in.

The file is a tar of `bundle.json` and of parts, each packed by zstd. A part that the other machine has already
stays as it is there.
"""

import asyncio
import hashlib
import platform
import secrets
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.records import Record
from groundup.domain.version import __version__
from groundup.environments.installed_tools import FETCHED
from groundup.environments.interpreters import Interpreter, known_interpreter
from groundup.environments.layers import NEIGHBOURS, Built, LayerStore, layer_store
from groundup.environments.packing import pack_folder, unpack_folder
from groundup.environments.requests import Layer
from groundup.settings import Settings
from groundup.store.files import write_atomically
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import remove_tree
from groundup.trees.writer import disk_errors, in_thread

_RECORD = "bundle.json"
_OF_THE_SYSTEM = (Path("/usr"), Path("/usr/local"))
_OF_USERS = ("site-packages", "dist-packages")
Report = Callable[[str], None]


class PackedLayer(Record):
    """A layer in a bundle."""

    file: str
    sha256: str
    kind: str
    digest: str
    built: dict[str, str]
    warnings: tuple[str, ...]


class PackedInterpreter(Record):
    """An interpreter in a bundle; its folder has the name that uv looks for."""

    file: str
    sha256: str
    folder: str


class WarmBundle(Record):
    """`bundle.json`."""

    format: Literal[1] = 1
    groundup: str
    machine: str
    suite: str
    tasks: tuple[str, ...]
    layers: tuple[PackedLayer, ...]
    interpreters: tuple[PackedInterpreter, ...]


class UsedLayers:
    """Implements `Neighbours`: remembers which layers were used, and has none."""

    def __init__(self) -> None:
        self.layers: dict[tuple[str, str], Layer] = {}

    def used(self, layer: Layer) -> None:
        self.layers[layer.kind, layer.digest] = layer

    async def fetch(self, kind: str, digest: str, room: Path) -> Built | None:
        """Have nothing: what is not here is built."""
        return None


@contextmanager
def used_layers() -> Iterator[UsedLayers]:
    """Yield the layers that are used inside, also by tasks that are started there."""
    used = UsedLayers()
    mark = NEIGHBOURS.set(used)
    try:
        yield used
    finally:
        NEIGHBOURS.reset(mark)


def this_machine() -> str:
    """Return what a bundle must have been made on to be of use here."""
    return f"{platform.system()} {platform.machine()} {platform.libc_ver()[0] or 'another C library'}"


async def write_bundle(
    path: Path,
    suite: str,
    tasks: Sequence[str],
    layers: Sequence[Layer],
    minors: Sequence[str],
    settings: Settings,
    report: Report,
) -> None:
    """Write *layers* and the interpreters of the versions *minors* to the new file *path*."""
    found = [await known_interpreter(minor, settings.cache_dir) for minor in minors]
    await in_thread(_write, path, suite, tasks, layers, found, report)


def _write(
    path: Path,
    suite: str,
    tasks: Sequence[str],
    layers: Sequence[Layer],
    found: Sequence[Interpreter],
    report: Report,
) -> None:
    partial = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    with disk_errors(path.parent), scratch_folder("bundle") as work:
        try:
            with tarfile.open(partial, "w") as tar:
                packed = [_add_layer(tar, layer, number, work) for number, layer in enumerate(layers)]
                own = [_add_interpreter(tar, one, work, report) for one in found]
                bundle = WarmBundle(
                    groundup=__version__,
                    machine=this_machine(),
                    suite=suite,
                    tasks=tuple(tasks),
                    layers=tuple(packed),
                    interpreters=tuple(one for one in own if one is not None),
                )
                write_atomically(work / _RECORD, bundle.model_dump_json(indent=1).encode())
                tar.add(work / _RECORD, _RECORD)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def _add_layer(tar: tarfile.TarFile, layer: Layer, number: int, work: Path) -> PackedLayer:
    name = f"layers/{number}.tar.zst"
    pack_folder(layer.path, work / "part")
    return PackedLayer(
        file=name,
        sha256=_moved(tar, work / "part", name),
        kind=layer.kind,
        digest=layer.digest,
        built=layer.built,
        warnings=layer.warnings,
    )


def _add_interpreter(
    tar: tarfile.TarFile, found: Interpreter, work: Path, report: Report
) -> PackedInterpreter | None:
    if found.prefix in _OF_THE_SYSTEM:
        report(f"Python {found.version} is the system's and stays here; the other machine needs one of its own")
        return None
    folder = f"cpython-{found.version}-linux-{platform.machine()}-gnu"
    name = f"interpreters/{folder}.tar.zst"
    pack_folder(found.prefix, work / "part", without=_OF_USERS)
    return PackedInterpreter(file=name, sha256=_moved(tar, work / "part", name), folder=folder)


def _moved(tar: tarfile.TarFile, part: Path, name: str) -> str:
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    tar.add(part, name)
    part.unlink()
    return digest


async def take_bundle(path: Path, settings: Settings, report: Report) -> WarmBundle:
    """Put what the bundle *path* holds into the cache, but for what is there. Raises `UsageError`."""
    try:
        with tarfile.open(path, "r:") as tar:
            bundle = _record(tar, path)
            with scratch_folder("bundle") as work:
                for one in bundle.interpreters:
                    await asyncio.to_thread(_take_interpreter, tar, one, settings.cache_dir / FETCHED, work)
                for number, layer in enumerate(bundle.layers, 1):
                    await _take_layer(tar, layer, layer_store(settings), work)
                    report(f"[{number}/{len(bundle.layers)}] {layer.kind}")
    except (OSError, tarfile.TarError) as error:
        raise UsageError(
            f"{path} cannot be read as a bundle: {error}; make it by `groundup warm --bundle`"
        ) from error
    return bundle


def _record(tar: tarfile.TarFile, path: Path) -> WarmBundle:
    try:
        record = tar.extractfile(_RECORD)
        bundle = WarmBundle.model_validate_json(record.read() if record else b"")
    except (KeyError, ValidationError) as error:
        raise UsageError(f"{path} is no bundle of this groundup; make it by `groundup warm --bundle`") from error
    if bundle.machine != this_machine():
        raise UsageError(
            f"{path} was made for {bundle.machine}, and this is {this_machine()}; make one on such a machine"
        )
    return bundle


def _part(tar: tarfile.TarFile, file: str, sha256: str, work: Path) -> Path:
    """Write a part of the bundle to a file in *work*. Raises `UsageError` where it is not what the record says."""
    place, digest = work / "part", hashlib.sha256()
    content = tar.extractfile(file) if file in tar.getnames() else None
    with place.open("wb") as written:
        while content is not None and (piece := content.read(1024 * 1024)):
            digest.update(piece)
            written.write(piece)
    if digest.hexdigest() != sha256:
        raise UsageError(f"the bundle is damaged: {file} is not what was packed; copy it again")
    return place


def _take_interpreter(tar: tarfile.TarFile, one: PackedInterpreter, folder: Path, work: Path) -> None:
    place = folder / Path(one.folder).name
    if place.exists():
        return
    room = folder / f".incoming-{secrets.token_hex(4)}"
    with disk_errors(folder):
        room.mkdir(parents=True)
        try:
            unpack_folder(_part(tar, one.file, one.sha256, work), room / "tree", None)
            (room / "tree").rename(place)
        finally:
            remove_tree(room)


async def _take_layer(tar: tarfile.TarFile, layer: PackedLayer, store: LayerStore, work: Path) -> None:
    async def build(room: Path) -> Built:
        packed = await asyncio.to_thread(_part, tar, layer.file, layer.sha256, work)
        await in_thread(unpack_folder, packed, room / "tree", None)
        return Built(built=layer.built, warnings=layer.warnings)

    try:
        await store.get(layer.kind, layer.digest, build)
    except InfrastructureError as error:
        raise InfrastructureError(f"{layer.file} of the bundle: {error}") from error
