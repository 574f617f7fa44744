"""Where layers lie, and how each is built exactly once: also across processes, and when builders are killed.

    <root>/<kind>/<short digest>/layer.json    what the layer is
    <root>/<kind>/<short digest>/tree/         what a sandbox sees
    <root>/<kind>/<short digest>.log           what its build printed
    <root>/<kind>/<short digest>.lock          held while somebody builds it

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
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.digests import short
from groundup.domain.errors import InfrastructureError
from groundup.domain.records import Record
from groundup.environments.requests import Layer
from groundup.trees.removal import remove_tree
from groundup.trees.writer import disk_errors

_POLL_S = 0.05


class Built(Record):
    """What a build reports of itself."""

    built: dict[str, str] = {}
    warnings: tuple[str, ...] = ()


class _KeptLayer(Record):
    digest: str
    kind: str
    built: dict[str, str]
    warnings: tuple[str, ...]


class LayerStore:
    """A folder of layers, shared by all processes of a user. A read-only one serves what it has."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find(self, kind: str, digest: str) -> Layer | None:
        """Return the layer when it is there and whole."""
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
        """Return where the log of a build is kept."""
        return self.root / kind / f"{short(digest)}.log"

    async def get(self, kind: str, digest: str, build: Callable[[Path], Awaitable[Built]]) -> Layer:
        """Return the layer, letting *build* fill an empty folder with its `tree` when it is not there.

        Who comes second waits for the first. What *build* leaves besides `tree` is dropped. Its errors go through.
        """
        found = self.find(kind, digest)
        if found is not None:
            return found
        with disk_errors(self.root):
            self._make_folder(self.root / kind)
        async with self._held(kind, digest):
            found = self.find(kind, digest)  # built while we waited
            if found is not None:
                return found
            # We hold the lock, so whoever began these was killed.
            for abandoned in (self.root / kind).glob(f".building-{short(digest)}-*"):
                await asyncio.to_thread(remove_tree, abandoned)
            return await self._build(kind, digest, build)

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
            await asyncio.to_thread(remove_tree, room)

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

    async def _build(self, kind: str, digest: str, build: Callable[[Path], Awaitable[Built]]) -> Layer:
        place = self._place(kind, digest)
        room = place.parent / f".building-{short(digest)}-{secrets.token_hex(4)}"
        try:
            with disk_errors(self.root):
                self._make_folder(room)
                self._make_folder(room / "build")
            told = await build(room / "build")
            kept = _KeptLayer(digest=digest, kind=kind, built=told.built, warnings=told.warnings)
            with disk_errors(self.root):
                finished = room / "finished"
                self._make_folder(finished)
                (room / "build" / "tree").rename(finished / "tree")
                await asyncio.to_thread(open_to_all, finished / "tree")
                (finished / "layer.json").write_text(kept.model_dump_json(indent=1), encoding="utf-8")
                if place.exists():  # unreadable as a layer: `find` said so
                    remove_tree(place)
                finished.rename(place)
        finally:
            await asyncio.to_thread(remove_tree, room)
        layer = self.find(kind, digest)
        if layer is None:
            raise InfrastructureError(
                f"the layer {place} vanished while it was built; is something cleaning the cache?"
            )
        return layer

    @asynccontextmanager
    async def _held(self, kind: str, digest: str) -> AsyncIterator[None]:
        """Hold the layer's lock. The lock file stays: removing it would let two holders in."""
        path = self.root / kind / f"{short(digest)}.lock"
        with disk_errors(self.root):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                await asyncio.sleep(_POLL_S)
            yield
        finally:
            os.close(descriptor)

    @staticmethod
    def _make_folder(path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)


def _sweep(folder: Path) -> None:
    """Remove what killed processes left: nothing is worked on for a day."""
    oldest = time.time() - 24 * 3600
    for abandoned in folder.glob(".building-*"):
        with contextlib.suppress(FileNotFoundError):  # somebody else removed it
            if abandoned.stat().st_mtime < oldest:
                remove_tree(abandoned)


def open_to_all(tree: Path) -> None:
    """Let every user read *tree* and nobody but its owner write: a guest is another user. Links are left alone."""
    waiting = [tree]
    while waiting:
        folder = waiting.pop()
        folder.chmod(0o755)
        for path in folder.iterdir():
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                waiting.append(path)
            elif stat.S_ISREG(mode):
                path.chmod(0o755 if mode & stat.S_IXUSR else 0o644)
