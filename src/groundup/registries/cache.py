"""What is asked for again and again: files and records that gateways keep, and work done once in this process.

    <root>/files/<first two digits>/<sha256>
    <root>/records/<kind>/<digest of the key>.json

Everything is written to a temporary name and renamed, so two writers of one name leave one whole file. Knows no
registry: what a key means is its caller's.
"""

import asyncio
import hashlib
import heapq
import itertools
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Generic, TypeVar

from pydantic import ValidationError

from groundup.domain.digests import digest_of, short
from groundup.domain.records import Record
from groundup.trees.writer import disk_errors

R = TypeVar("R", bound=Record)

_ABANDONED_S = 24 * 3600.0
"""A temporary file this old belongs to a process that was killed: no download takes a day."""


class FetchCache:
    """A folder of fetched things, shared by all gateways and all processes of a user."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def file(self, sha256: str) -> Path | None:
        path = self._file_path(sha256)
        return path if path.is_file() else None

    @contextmanager
    def incoming(self) -> Iterator["Incoming"]:
        """Yield a file to write to; what is not kept is gone at the end. Raises `InfrastructureError`."""
        folder = self.root / "incoming"
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._sweep(folder)
            descriptor, name = tempfile.mkstemp(dir=folder)
        path = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield Incoming(self, file, path)
        finally:
            path.unlink(missing_ok=True)

    def record(self, kind: str, key: object, model: type[R]) -> R | None:
        """Return the record that was kept under *key*, or None; one that cannot be understood is none."""
        try:
            return model.model_validate_json(self._record_path(kind, key).read_bytes())
        except (OSError, ValidationError):
            return None

    def stamp(self, kind: str, key: object) -> int | None:
        """Return what changes when the record under *key* is written again; None when there is none."""
        try:
            return self._record_path(kind, key).stat().st_mtime_ns
        except OSError:
            return None

    def keep_record(self, kind: str, key: object, record: Record) -> None:
        """Keep *record* under *key*, over what was there."""
        path = self._record_path(kind, key)
        with self.incoming() as incoming:
            incoming.write(record.model_dump_json().encode())
            incoming.rename(path, durable=False)  # one that a power failure cuts short is as good as none

    def forget_file(self, sha256: str) -> None:
        """Remove a file that turned out to be damaged."""
        self._file_path(sha256).unlink(missing_ok=True)

    def _file_path(self, sha256: str) -> Path:
        return self.root / "files" / sha256[:2] / sha256

    def _record_path(self, kind: str, key: object) -> Path:
        return self.root / "records" / kind / f"{short(digest_of(key))}.json"

    @staticmethod
    def _sweep(folder: Path) -> None:
        oldest = time.time() - _ABANDONED_S
        for entry in folder.iterdir():
            with suppress(FileNotFoundError):  # another process swept or finished it
                if entry.stat().st_mtime < oldest:
                    entry.unlink()


class Incoming:
    """A file on its way into the cache, hashed while it is written."""

    def __init__(self, cache: FetchCache, file: IO[bytes], path: Path) -> None:
        self._cache = cache
        self._file = file
        self._path = path
        self._hashers = {"sha256": hashlib.sha256()}
        self.size = 0

    def expect(self, algorithms: Mapping[str, str]) -> None:
        for name in algorithms:
            self._hashers.setdefault(name, hashlib.new(name, usedforsecurity=False))

    def write(self, data: bytes) -> None:
        """Append *data*. Raises `DiskFullError` or `InfrastructureError`."""
        with disk_errors(self._cache.root):
            self._file.write(data)
        for hasher in self._hashers.values():
            hasher.update(data)
        self.size += len(data)

    def restart(self) -> None:
        """Forget what was written, for another try."""
        self._file.seek(0)
        self._file.truncate()
        self._hashers = {name: hashlib.new(name, usedforsecurity=False) for name in self._hashers}
        self.size = 0

    def digests(self) -> dict[str, str]:
        return {name: hasher.hexdigest() for name, hasher in self._hashers.items()}

    def keep(self) -> Path:
        """Move it under its sha256 and return where it lies."""
        path = self._cache._file_path(self.digests()["sha256"])
        self.rename(path)
        return path

    def rename(self, path: Path, *, durable: bool = True) -> None:
        """Move it to *path*; *durable*: its content is on the disk before it has that name."""
        with disk_errors(self._cache.root):
            self._file.flush()
            if durable:
                os.fsync(self._file.fileno())
            path.parent.mkdir(parents=True, exist_ok=True)
            self._path.chmod(0o644)
            self._path.replace(path)


T = TypeVar("T")


@dataclass
class _Work(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Work by key. A failure reaches all who wait; the next to ask after the end starts anew."""

    def __init__(self) -> None:
        self._running: dict[Hashable, _Work[T]] = {}

    async def get(self, key: Hashable, start: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work under *key*, started by the first to ask.

        One who is cancelled does not disturb the others; the work ends when none is waiting any more.
        """
        work = self._running.get(key)
        if work is None:
            work = _Work(asyncio.ensure_future(start()))
            self._running[key] = work
        work.waiting += 1
        try:
            # One who is cancelled leaves; the work goes on for the others.
            return await asyncio.shield(work.task)
        finally:
            work.waiting -= 1
            if work.waiting == 0:
                if self._running.get(key) is work:
                    del self._running[key]
                if not work.task.done():
                    work.task.cancel()
                    await asyncio.wait([work.task])


class SharedResource(Generic[T]):
    """Something that is opened for its first user and closed after its last; the next one opens another."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._opening = opening
        self._open: tuple[T, AsyncExitStack] | None = None
        self._turn = asyncio.Lock()
        self._users = 0

    @asynccontextmanager
    async def use(self) -> AsyncIterator[T]:
        """Yield the one thing that all users of a time share."""
        self._users += 1
        try:
            async with self._turn:
                if self._open is None:
                    stack = AsyncExitStack()
                    self._open = (await stack.enter_async_context(self._opening()), stack)
                shared = self._open[0]
            yield shared
        finally:
            self._users -= 1
            if self._users == 0 and self._open is not None:
                (_, stack), self._open = self._open, None
                await stack.aclose()


class PrioritySemaphore:
    """So many places for work. Of what waits for one, the largest is next: begun last, it would end alone."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    @asynccontextmanager
    async def place(self, size: int = 0) -> AsyncIterator[None]:
        """Hold a place for work of *size*, by any measure that all who ask share."""
        self._free -= 1
        if self._free < 0:
            turn = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (-size, next(self._numbers), turn))
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # its turn came in the same moment
                    self._leave()
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        self._free += 1
        while self._waiting:
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
            self._free += 1  # it left the line
