"""Writing and copying trees below one folder without ever following a link, within limits.

Owns the rules for names, the counting, and the list of what was dropped. Links are made last, when all of them are
known, so nothing can be written through one.
"""

import asyncio
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, ParamSpec, Self, TypeVar

from pydantic import Field

from groundup.domain.errors import DiskFullError, InfrastructureError, MachineError, SubmissionError
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.trees.walking import FOLDER, Parts, TreeEntry, read_chunks, remove_tree, walk, why_refused

DROPPED_SHOWN = 20


class TreeLimits(Record):
    """Upper bounds for a tree from a stranger; more is refused as a whole, with a `SubmissionError`."""

    files: int = Field(default=100_000, ge=1, description="files, folders and links together")
    bytes: int = Field(default=2 * 1024**3, ge=0, description="apparent sizes: a hole in a sparse file counts")
    depth: int = Field(default=100, ge=1, description="parts of a path: folders and the name")
    name_bytes: int = Field(default=255, ge=1, le=255, description="of one path component")
    path_bytes: int = Field(default=3500, ge=1, description="of a whole relative path")
    ratio: int = Field(
        default=300,
        ge=1,
        description="unpacked bytes for one packed byte, looked at from 64 MiB on",
    )


class TakenIn(NamedTuple):
    """What a copy or an extraction wrote."""

    files: int
    """Regular files and links."""
    bytes: int
    dropped: tuple[str, ...] = ()
    """`path: why`, at most 20, made printable."""
    dropped_count: int = 0


def named_dropped(taken: TakenIn) -> tuple[str, ...]:
    """Return what was dropped, at most 20, the last saying how many more."""
    if taken.dropped_count <= DROPPED_SHOWN:
        return taken.dropped
    return (*taken.dropped[: DROPPED_SHOWN - 1], f"and {taken.dropped_count - DROPPED_SHOWN + 1} more")


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TreeWriter:
    """Fills the absent or empty folder *destination*; when it fails, the folder is removed again."""

    def __init__(self, destination: Path, limits: TreeLimits) -> None:
        self.limits = limits
        self._destination = destination
        self._entries = 0
        self._files = 0
        self._bytes = 0
        self._links: dict[Parts, str] = {}
        self._dropped: list[str] = []
        self._dropped_count = 0
        self._root = -1
        self._open: tuple[Parts, int] | None = None

    def __enter__(self) -> Self:
        with disk_errors(self._destination):
            self._destination.mkdir(parents=True, exist_ok=True)
            if any(self._destination.iterdir()):
                raise InfrastructureError(f"{self._destination} is not empty; remove it first")
            self._root = os.open(self._destination, FOLDER)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._forget_folder()
        os.close(self._root)
        if kind is not None:
            with suppress(InfrastructureError):  # the first failure is the one to report
                remove_tree(self._destination)

    def drop(self, parts: Parts, why: str) -> None:
        """Note that something was left out."""
        self._dropped_count += 1
        if len(self._dropped) < DROPPED_SHOWN:
            self._dropped.append(f"{shown(parts)[:200]}: {why}")

    def admit(self, parts: Parts) -> None:
        """Count one more entry and check its name; raises `SubmissionError` beyond the limits."""
        self._entries += 1
        if self._entries > self.limits.files:
            raise SubmissionError(f"the tree holds more than {self.limits.files} files and folders; hand in fewer")
        if len(parts) > self.limits.depth:
            raise SubmissionError(f"{shown(parts)[:120]}... lies deeper than {self.limits.depth} folders")
        if len(os.fsencode(parts[-1])) > self.limits.name_bytes:
            raise SubmissionError(
                f"the file name {shown(parts[-1:])[:60]}... is longer than {self.limits.name_bytes} bytes"
            )
        if len(os.fsencode("/".join(parts))) > self.limits.path_bytes:
            raise SubmissionError(f"the path {shown(parts)[:60]}... is longer than {self.limits.path_bytes} bytes")

    def folder(self, parts: Parts) -> None:
        """Make the folder *parts* and those above it."""
        try:
            self._folder(parts)
        except (FileExistsError, NotADirectoryError):
            self.drop(parts, "a file of that name exists")

    def file(self, parts: Parts, chunks: Iterable[bytes], *, executable: bool, size: int = 0) -> None:
        """Write a file, replacing an earlier one of that name. *size* is what it claims, looked at first."""
        self.require(size, parts)
        try:
            parent = self._folder(parts[:-1])
        except (FileExistsError, NotADirectoryError):
            self.drop(parts, "a file has the name of its folder")
            return
        self._links.pop(parts, None)
        with disk_errors(self._destination):
            try:
                descriptor = self._create(parent, parts[-1], executable)
            except IsADirectoryError:
                self.drop(parts, "a folder of that name exists")
                return
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                for chunk in chunks:
                    self.require(len(chunk), parts)
                    self._bytes += len(chunk)
                    file.write(chunk)
        self._files += 1

    def link(self, parts: Parts, target: str) -> None:
        """Remember a symbolic link; it is made by `finish` if it stays inside."""
        if "\0" in target or not target or len(os.fsencode(target)) > self.limits.path_bytes:
            self.drop(parts, "link to nothing that can be named")
            return
        self._links[parts] = target

    def open_file(self, parts: Parts) -> int:
        """Open a file that was written before, for reading; raises `OSError`, also when it is a folder."""
        parent = self._descend(parts[:-1], make=False)
        try:
            if not stat.S_ISREG(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_mode):
                raise IsADirectoryError(parts[-1])
            return os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        finally:
            os.close(parent)

    def finish(self) -> TakenIn:
        """Make the links that stay inside and return what was written."""
        for parts, target in sorted(self._links.items()):
            refused = why_refused(parts, self._links)
            if refused is None:
                refused = self._make_link(parts, target)
            if refused is None:
                self._files += 1
            else:
                self.drop(parts, refused)
        return TakenIn(
            files=self._files,
            bytes=self._bytes,
            dropped=tuple(self._dropped),
            dropped_count=self._dropped_count,
        )

    def require(self, size: int, parts: Parts) -> None:
        """Raise `SubmissionError` when *size* more bytes are too many."""
        if size > self.limits.bytes - self._bytes:
            raise SubmissionError(
                f"the tree holds more than {self.limits.bytes} bytes (passed at {shown(parts)[:120]}); "
                "leave out large files that are not part of the repository"
            )

    def _create(self, parent: int, name: str, executable: bool) -> int:
        mode = 0o755 if executable else 0o644
        try:
            descriptor = os.open(name, _NEW_FILE, mode, dir_fd=parent)
        except FileExistsError:
            if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                raise IsADirectoryError(name) from None
            os.unlink(name, dir_fd=parent)
            self._files -= 1
            descriptor = os.open(name, _NEW_FILE, mode, dir_fd=parent)
        os.fchmod(descriptor, mode)  # whatever the umask
        return descriptor

    def _make_link(self, parts: Parts, target: str) -> str | None:
        try:
            parent = self._folder(parts[:-1])
            os.symlink(target, parts[-1], dir_fd=parent)
        except (FileExistsError, NotADirectoryError):
            return "a file or folder of that name exists"
        except OSError as error:
            raise _explained(error, self._destination) from error
        return None

    def _folder(self, parts: Parts) -> int:
        """Return a descriptor of the folder, made when absent; it stays open until another folder is asked for."""
        if self._open is not None and self._open[0] == parts:
            return self._open[1]
        with disk_errors(self._destination, FileExistsError, NotADirectoryError):
            descriptor = self._descend(parts, make=True)
        self._forget_folder()
        self._open = (parts, descriptor)
        return descriptor

    def _descend(self, parts: Parts, *, make: bool) -> int:
        descriptor = os.open(".", FOLDER, dir_fd=self._root)
        try:
            for part in parts:
                # One component at a time, none followed if it is a link: so no path leads outside, whatever lies
                # there by now.
                below = _enter(part, descriptor, make=make)
                os.close(descriptor)
                descriptor = below
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _forget_folder(self) -> None:
        if self._open is not None:
            os.close(self._open[1])
            self._open = None


def _enter(name: str, parent: int, *, make: bool) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(name, 0o755, dir_fd=parent)
    descriptor = os.open(name, FOLDER, dir_fd=parent)
    os.fchmod(descriptor, 0o755)
    return descriptor


def shown(parts: Parts) -> str:
    """Return a path as people may see it."""
    return printable("/".join(parts))


@contextmanager
def disk_errors(place: Path, *passed: type[OSError]) -> Iterator[None]:
    """Turn what the host's disk refuses into an `InfrastructureError`; *passed* errors go through."""
    try:
        yield
    except passed:
        raise
    except OSError as error:
        if error.errno is None:  # not the system's: a decompressor's word for bad data
            raise
        raise _explained(error, place) from error


_LIMITS = {
    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",
    errno.EFBIG: "raise the limit of a file's size (`ulimit -f`)",
}


def _explained(error: OSError, place: Path) -> InfrastructureError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(f"no room left on the disk of {place}; free some")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return MachineError(
            f"{place} cannot be written to: {error.strerror}; make it writable or name another folder"
        )
    name = error.filename2 or error.filename or place
    advice = _LIMITS.get(error.errno or 0, "name another folder")
    return InfrastructureError(f"cannot write {name}: {error.strerror or error}; {advice}")


def copy_tree(source: Path, destination: Path, limits: TreeLimits | None = None) -> TakenIn:
    """Copy the folder *source* to the absent or empty *destination*.

    Kept: regular files (with their executable bit), folders, links that stay inside. Dropped and named: everything
    else, and what cannot be read. Times, owners, special bits and hard links are not kept. Links are never
    followed, *source* itself included. Raises `SubmissionError` beyond the limits, `InfrastructureError` when the
    disk refuses.
    """
    limits = limits or TreeLimits()
    try:
        root = os.open(source, FOLDER)
    except OSError as error:
        raise InfrastructureError(f"cannot read the folder {source}: {error.strerror or error}") from error
    try:
        with TreeWriter(destination, limits) as writer:
            for entry in walk(root, limits.depth + 1):
                _copy(entry, writer)
            return writer.finish()
    finally:
        os.close(root)


def share_tree(source: Path, destination: Path) -> None:
    """Fill the absent folder *destination* with new folders and, in them, the very files of *source*.

    For who cannot write those files but may replace them, such as an installer: that is many times cheaper than a
    copy. Files that others may not read or run, or that cannot have another name there, are copied. Raises
    `InfrastructureError`.
    """
    with disk_errors(destination):
        destination.mkdir()
        with _opened(source) as folder, _opened(destination) as made:
            _share_folder(folder, made)


def lay_tree(source: Path, destination: Path, *, shared: bool) -> None:
    """Fill the absent folder *destination* with *source*: its very files if *shared*, otherwise copies."""
    if shared:
        share_tree(source, destination)
    else:
        shutil.copytree(source, destination, symlinks=True)


@contextmanager
def _opened(folder: Path | str, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(folder, FOLDER, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _share_folder(source: int, destination: int) -> None:
    """As `share_tree`, by descriptors: the system would walk a whole path for each file."""
    with os.scandir(source) as entries:
        for entry in entries:
            name = entry.name
            if entry.is_symlink():
                os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=destination)
            elif entry.is_dir():
                os.mkdir(name, dir_fd=destination)
                with _opened(name, source) as folder, _opened(name, destination) as made:
                    _share_folder(folder, made)
            else:
                _share_file(entry, source, destination)
    status = os.stat(source)
    os.fchmod(destination, stat.S_IMODE(status.st_mode))
    os.utime(destination, ns=(status.st_atime_ns, status.st_mtime_ns))


def _share_file(entry: os.DirEntry[str], source: int, destination: int) -> None:
    mode = entry.stat(follow_symlinks=False).st_mode
    if not mode >> 6 & 0o5 & ~mode:  # else the owner may do what others may not
        with suppress(OSError):  # on another file system, or it has too many names
            os.link(entry.name, entry.name, src_dir_fd=source, dst_dir_fd=destination, follow_symlinks=False)
            return
    shutil.copy2(f"/proc/self/fd/{source}/{entry.name}", f"/proc/self/fd/{destination}/{entry.name}")


def _copy(entry: TreeEntry, writer: TreeWriter) -> None:
    writer.admit(entry.parts)
    if entry.kind == "file":
        _copy_file(entry, writer)
    elif entry.kind == "folder":
        writer.folder(entry.parts)
    elif entry.kind == "link":
        try:
            target = entry.target()
        except OSError:
            writer.drop(entry.parts, "unreadable")
        else:
            writer.link(entry.parts, target)
    else:
        writer.drop(entry.parts, entry.kind)


def _copy_file(entry: TreeEntry, writer: TreeWriter) -> None:
    try:
        descriptor = entry.open()
    except OSError:
        writer.drop(entry.parts, "unreadable")
        return
    try:
        writer.file(entry.parts, read_chunks(descriptor), executable=entry.executable, size=entry.size)
    finally:
        os.close(descriptor)


P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do blocking *work* in a thread. When cancelled, wait for its end first: it may still be writing."""
    bound = partial(copy_context().run, work, *args, **kwargs)
    done = asyncio.get_running_loop().run_in_executor(None, bound)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        with suppress(Exception):  # the caller has to learn of the cancellation
            await done
        raise
