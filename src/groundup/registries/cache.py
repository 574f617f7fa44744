"""What gateways keep on disk: fetched files by their sha256, and small records by key. Safe across processes.

    <root>/files/<first two digits>/<sha256>
    <root>/records/<kind>/<digest of the key>.json

Everything is written to a temporary name and renamed, so two writers of one name leave one whole file. Knows no
registry: what a key means is its caller's.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

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
        """Return where the file with this hash lies, or None."""
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
        """Hash by these algorithms too."""
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
        """Return the hashes of what was written, by algorithm."""
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
