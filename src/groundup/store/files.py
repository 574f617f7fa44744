"""Atomic files, and append-only files of lines whose torn last line never counts."""

import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from groundup.domain.errors import UsageError
from groundup.trees.walking import open_regular
from groundup.trees.writer import disk_errors


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write *content* to a temporary name beside *path* and rename it into place; *durable* waits for the disk.

    Raises `DiskFullError` or `InfrastructureError`; then *path* is as it was.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    with disk_errors(path.parent):
        try:
            with temporary.open("xb", buffering=0) as file:
                _write_all(file.fileno(), content)
                if durable:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if durable:
            sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until names made or renamed in *path* are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_CHUNK = 64 * 1024


class Closeable(ABC):
    """Is used as a context, and closed at its end."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Journal(Closeable):
    """Appends to one file, to which no other process may append meanwhile. Opening it cuts a torn last line off.

    Threads may append at once. Without *synced*, a line survives the end of the process at once, but a power cut
    only after `close`.
    """

    def __init__(self, path: Path, *, synced: bool = True) -> None:
        self._path = path
        self._synced = synced
        self._turn = threading.Lock()
        with disk_errors(path.parent):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                self._length = _end_of_last_line(self._descriptor)
                os.ftruncate(self._descriptor, self._length)
                if synced:
                    os.fsync(self._descriptor)
                    sync_folder(path.parent)
            except BaseException:
                os.close(self._descriptor)
                raise

    def append(self, line: bytes) -> None:
        """Add *line* (without its newline). Raises `DiskFullError`; then nothing was added."""
        data = line + b"\n"
        with disk_errors(self._path.parent), self._turn:
            try:
                _write_all(self._descriptor, data)
                if self._synced:
                    os.fsync(self._descriptor)
            except BaseException:
                # Half a line would be glued to the next one, and damage both.
                os.ftruncate(self._descriptor, self._length)
                raise
            self._length += len(data)

    def is_there(self) -> bool:
        """Whether the file still has its name: whoever removes or renames it, or its folder, takes it away."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Close the file. Can be called twice."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            try:
                if not self._synced:
                    with disk_errors(self._path.parent):
                        os.fsync(descriptor)
            finally:
                os.close(descriptor)


def complete_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line without newline); nothing for an absent file, and nothing of a torn last line.

    Raises `UsageError` for what is no file or cannot be read.
    """
    try:
        file = open_regular(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; restore the file") from error
    with file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                yield number, line[:-1]


def _write_all(descriptor: int, data: bytes) -> None:
    """A short write to a regular file means that there is no room for the rest; the next one says so."""
    while data:
        data = data[os.write(descriptor, data) :]


def _end_of_last_line(descriptor: int) -> int:
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - _CHUNK)
        position = os.pread(descriptor, end - start, start).rfind(b"\n")
        if position >= 0:
            return start + position + 1
        end = start
    return 0
