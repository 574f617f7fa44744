"""Content-addressed layers on disk: each is built once, locked while used, and survives killed builders.

The lock file of a layer stays when the layer goes: removing it would let two holders in.

    <root>/<kind>/<short digest>/layer.json    what the layer is
    <root>/<kind>/<short digest>/tree/         what a sandbox sees
    <root>/<kind>/<short digest>.log           what its build printed
    <root>/<kind>/<short digest>.lock          held while a process builds, removes or (shared) uses it

A layer is built in a folder beside its place and renamed into it, so a layer that is there is whole. Knows nothing
of what is in a layer.
"""

import asyncio
import contextlib
import fcntl
import os
import secrets
import stat
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from groundup.domain.digests import short
from groundup.domain.errors import InfrastructureError
from groundup.domain.records import Record
from groundup.domain.steps import at_step
from groundup.environments.requests import Layer
from groundup.settings import Settings
from groundup.trees.walking import remove_tree
from groundup.trees.writer import disk_errors, in_thread


@contextmanager
def held_now(path: Path, *, make: bool = False) -> Iterator[bool]:
    """Hold the lock *path* alone if it is free; yield whether that is so. An absent lock is free."""
    try:
        if make:
            with disk_errors(path.parent):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        else:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        yield _locked(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


class Uses:
    """Shared locks on the layers that one store handed out, until the store or its process is gone."""

    def __init__(self) -> None:
        self._descriptors: dict[Path, int] = {}
        weakref.finalize(self, _close, self._descriptors)

    def add(self, path: Path) -> bool:
        """Share the lock *path*; return False while another process builds or removes what it protects."""
        if path in self._descriptors:
            return True
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # a cache that was copied without its locks, which cannot be cleaned meanwhile either
            return True
        if not _locked(descriptor, fcntl.LOCK_SH):
            os.close(descriptor)
            return False
        self._descriptors[path] = descriptor
        return True

    def drop(self, path: Path) -> None:
        """Give back what `add` took."""
        descriptor = self._descriptors.pop(path, None)
        if descriptor is not None:
            os.close(descriptor)


def _locked(descriptor: int, how: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        return True
    return False


def _close(descriptors: dict[Path, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)


_POLL_S = 0.05


def layer_store(settings: Settings) -> "LayerStore":
    return LayerStore(settings.cache_dir / "layers")


class Built(Record):
    """What a build reports of itself."""

    built: dict[str, str] = {}
    warnings: tuple[str, ...] = ()


class Neighbours(Protocol):
    """Other machines that may have a layer already."""

    async def fetch(self, kind: str, digest: str, room: Path) -> Built | None:
        """Fill the empty folder *room* with `tree`; None leaves it empty: no neighbour has the layer."""
        ...

    def used(self, layer: Layer) -> None:
        """Hear which layers are asked for."""
        ...


NEIGHBOURS: ContextVar[Neighbours | None] = ContextVar("NEIGHBOURS", default=None)
"""Of the work under way; a layer that they do not have is built."""


class _KeptLayer(Record):
    digest: str
    kind: str
    built: dict[str, str]
    warnings: tuple[str, ...]


class LayerStore:
    """A folder of layers, shared by all processes of a user. A read-only one serves what it has."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._uses = Uses()

    def find(self, kind: str, digest: str) -> Layer | None:
        """Return the layer when it is there and whole; from then on it is not removed while this store lives."""
        # The lock comes first: what is read under it cannot be removed before it is used.
        lock = self._lock(kind, digest)
        if not self._uses.add(lock):
            return None
        layer = None
        try:
            layer = self._read(kind, digest)
        finally:
            if layer is None:
                self._uses.drop(lock)
        if layer is not None:
            if neighbours := NEIGHBOURS.get():
                neighbours.used(layer)
            with contextlib.suppress(OSError):  # a read-only cache
                # The day of its last use, by which `unused` decides.
                os.utime(layer.path.parent / "layer.json")
        return layer

    def unused(self, older_than_s: float) -> list[Path]:
        """Return the layers that were not asked for in that time and are not held, for `remove`."""
        before = time.time() - older_than_s
        records = sorted(self.root.glob("*/*/layer.json"))
        old = [record.parent for record in records if _asked_before(record, before)]
        return [place for place in old if _is_layer(place) and not self._is_held(place)]

    def remove(self, place: Path) -> bool:
        """Remove a layer with its log; return False when it is used after all."""
        with held_now(_lock_of(place)) as free:
            if not free:
                return False
            gone = place.with_name(f".building-{place.name}-{secrets.token_hex(4)}")  # swept, should we be killed
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                place.rename(gone)
                remove_tree(gone)
            place.with_name(f"{place.name}.log").unlink(missing_ok=True)
            return True

    def _read(self, kind: str, digest: str) -> Layer | None:
        place = self._place(kind, digest)
        try:
            kept = _KeptLayer.model_validate_json((place / "layer.json").read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise InfrastructureError(f"the layer {place} cannot be read: {error}; remove that folder") from error
        if kept.digest != digest:
            return None
        return Layer(digest=digest, kind=kind, path=place / "tree", built=kept.built, warnings=kept.warnings)

    def log_path(self, kind: str, digest: str) -> Path:
        return self.root / kind / f"{short(digest)}.log"

    async def get(self, kind: str, digest: str, build: Callable[[Path], Awaitable[Built]]) -> Layer:
        """Return the layer, letting *build* fill an empty folder with its `tree` when it is not there.

        Who comes second waits for the first. What *build* leaves besides `tree` is dropped. Its errors go through.
        """
        while True:
            found = self.find(kind, digest)
            if found is not None:
                return found
            with disk_errors(self.root):
                self._make_folder(self.root / kind)
            with held_now(self._lock(kind, digest), make=True) as alone:
                if alone and self._read(kind, digest) is None:  # else it was built a moment ago
                    # We hold the lock, so the process that began these was killed.
                    for abandoned in (self.root / kind).glob(f".building-{short(digest)}-*"):
                        await in_thread(remove_tree, abandoned)
                    at_step(f"building its environment ({kind})")
                    await self._build(kind, digest, build)
            if not alone:
                at_step(f"waiting for its environment ({kind}), which is built elsewhere")
                await asyncio.sleep(_POLL_S)

    @asynccontextmanager
    async def scratch(self, kind: str, digest: str) -> AsyncIterator[Path]:
        """Yield a folder for work that leaves no layer; it is gone afterwards."""
        room = self.root / kind / f".building-{short(digest)}-{secrets.token_hex(4)}"
        try:
            with disk_errors(self.root):
                self._make_folder(room)
                await asyncio.to_thread(_sweep, room.parent)
            yield room
        finally:
            await in_thread(remove_tree, room)

    def keep_log(self, kind: str, digest: str, text: bytes) -> Path:
        """Write the log of a build and return where it lies."""
        path = self.log_path(kind, digest)
        temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
        with disk_errors(self.root):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(text)
            temporary.replace(path)
        return path

    def empty_folder(self) -> Path:
        """Return a folder that holds nothing, to hide others behind."""
        place = self.root / "empty"
        if not place.is_dir():
            with disk_errors(self.root):
                self._make_folder(place)
        return place

    def _place(self, kind: str, digest: str) -> Path:
        return self.root / kind / short(digest)

    def _lock(self, kind: str, digest: str) -> Path:
        return _lock_of(self._place(kind, digest))

    @staticmethod
    def _is_held(place: Path) -> bool:
        with held_now(_lock_of(place)) as free:
            return not free

    async def _build(self, kind: str, digest: str, build: Callable[[Path], Awaitable[Built]]) -> None:
        place = self._place(kind, digest)
        room = place.parent / f".building-{short(digest)}-{secrets.token_hex(4)}"
        try:
            with disk_errors(self.root):
                self._make_folder(room)
                self._make_folder(room / "build")
            neighbours = NEIGHBOURS.get()
            made = await neighbours.fetch(kind, digest, room / "build") if neighbours else None
            made = made or await build(room / "build")
            kept = _KeptLayer(digest=digest, kind=kind, built=made.built, warnings=made.warnings)
            with disk_errors(self.root):
                finished = room / "finished"
                self._make_folder(finished)
                (room / "build" / "tree").rename(finished / "tree")
                await asyncio.to_thread(open_to_all, finished / "tree")
                (finished / "layer.json").write_text(kept.model_dump_json(indent=1), encoding="utf-8")
                if place.exists():  # unreadable as a layer: `find` found none
                    remove_tree(place)
                finished.rename(place)
        finally:
            await in_thread(remove_tree, room)

    @staticmethod
    def _make_folder(path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)


def _lock_of(place: Path) -> Path:
    return place.with_name(f"{place.name}.lock")


def _is_layer(place: Path) -> bool:
    """Whether *place* holds what a store wrote there: a folder of that name may be anybody's."""
    try:
        kept = _KeptLayer.model_validate_json((place / "layer.json").read_bytes())
    except (OSError, ValidationError):
        return False
    return (kept.kind, short(kept.digest)) == (place.parent.name, place.name)


def _asked_before(record: Path, moment: float) -> bool:
    try:
        return record.stat().st_mtime < moment
    except FileNotFoundError:  # another process removed it
        return False


def _sweep(folder: Path) -> None:
    """Remove what killed processes left: nothing is worked on for a day."""
    oldest = time.time() - 24 * 3600
    for abandoned in folder.glob(".building-*"):
        with contextlib.suppress(FileNotFoundError):  # another process removed it
            if abandoned.stat().st_mtime < oldest:
                remove_tree(abandoned)


def open_to_all(tree: Path) -> None:
    """Let every user read *tree* and only its owner write: a guest is another user. Links are left alone."""
    waiting = [tree]
    while waiting:
        folder = waiting.pop()
        folder.chmod(0o755)
        with os.scandir(folder) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                wanted = 0o755 if mode & stat.S_IXUSR else 0o644
                if stat.S_ISDIR(mode):
                    waiting.append(Path(entry))
                elif stat.S_ISREG(mode) and stat.S_IMODE(mode) != wanted:
                    Path(entry).chmod(wanted)
