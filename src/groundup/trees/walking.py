"""Looking through a tree by descriptors, and reading regular files only. Walks follow no link.

A device, a pipe or a socket would never end, or block.

Removing what strangers made: folders without permissions, any depth, never through a link or into a mount.
"""

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Literal, NamedTuple

from groundup.domain.errors import InfrastructureError
from groundup.domain.steps import counted_files

Parts = tuple[str, ...]

_MAX_HOPS = 40
"""What Linux follows before it answers ELOOP."""


def why_refused(link: Parts, links: Mapping[Parts, str]) -> str | None:
    """Say why the link at *link* must not be kept in a tree with these *links*; None when it stays inside.

    A link to something inside that does not exist is kept: it cannot lead anywhere else.
    """
    if links[link].startswith("/"):
        return "absolute link"
    at: list[str] = list(link[:-1])
    todo = links[link].split("/")[::-1]
    hops = 1
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                return "link leads outside"
            at.pop()
            continue
        at.append(part)
        target = links.get(tuple(at))
        if target is None:
            continue
        hops += 1
        if hops > _MAX_HOPS:
            return "link in a circle"
        if target.startswith("/"):
            return "link leads to an absolute link"
        at.pop()
        todo.extend(target.split("/")[::-1])
    return None


FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CHUNK = 1024 * 1024

Kind = Literal["file", "folder", "link", "device", "fifo", "socket", "unreadable"]


class TreeEntry(NamedTuple):
    """Something found in a tree. `parent` is a folder's descriptor, open until the walk goes on."""

    parts: Parts
    kind: Kind
    parent: int
    size: int
    executable: bool

    def open(self) -> int:
        """Open a regular file for reading; raises `OSError`, also when it has been swapped for something else."""
        descriptor = os.open(
            self.parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.parent
        )
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(f"{self.parts[-1]!r} is not a file any more")
        return descriptor

    def target(self) -> str:
        return os.readlink(self.parts[-1], dir_fd=self.parent)


def walk(root: int, max_depth: int) -> Iterator[TreeEntry]:
    """Yield everything below the open folder *root*, sorted by name, a folder before what is in it.

    Folders at *max_depth* are yielded and not entered, so descriptors and stack stay bounded.
    """
    for number, entry in enumerate(_below(root, max_depth, ()), start=1):
        counted_files(number)
        yield entry


def _below(root: int, max_depth: int, parts: Parts) -> Iterator[TreeEntry]:
    for name in sorted(os.listdir(root), key=os.fsencode):
        try:
            found = os.stat(name, dir_fd=root, follow_symlinks=False)
        except FileNotFoundError:  # gone meanwhile
            continue
        except OSError:
            yield TreeEntry((*parts, name), "unreadable", root, 0, executable=False)
            continue
        here = (*parts, name)
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "device")
        if kind == "folder":
            yield from _folder(root, here, max_depth)
        else:
            yield TreeEntry(here, kind, root, found.st_size, bool(found.st_mode & stat.S_IXUSR))


def _folder(parent: int, parts: Parts, max_depth: int) -> Iterator[TreeEntry]:
    try:
        descriptor = os.open(parts[-1], FOLDER, dir_fd=parent)
    except OSError:
        yield TreeEntry(parts, "unreadable", parent, 0, executable=False)
        return
    try:
        yield TreeEntry(parts, "folder", parent, 0, executable=True)
        if len(parts) < max_depth:
            yield from _below(descriptor, max_depth, parts)
    finally:
        os.close(descriptor)


def read_chunks(descriptor: int) -> Iterator[bytes]:
    """Yield the content of an open file, in pieces."""
    while chunk := os.read(descriptor, CHUNK):
        yield chunk


_KINDS: dict[int, Kind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFBLK: "device",
    stat.S_IFCHR: "device",
}


def is_file_inside(path: Path, root: Path) -> bool:
    """Whether *path* is a regular file of *root*, also where links lead to it."""
    return path.is_file() and path.resolve().is_relative_to(root.resolve())


SMALL = 16 * 1024 * 1024
"""Bytes. What people write by hand is far below."""
LARGE = 256 * 1024 * 1024
"""Bytes. What programs write for other programs is below."""


def open_regular(path: Path) -> BufferedReader:
    """Open *path*, links followed. Raises `OSError`, also for what is no regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    raise OSError(errno.EINVAL, "it is no regular file", str(path))


def read_regular(path: Path, largest: int = SMALL) -> bytes:
    """Return the content of *path*. Raises `OSError`, also for what is no regular file or has too many bytes."""
    with open_regular(path) as file:
        # What is there and a byte more: to ask for the *largest* would set that much memory aside each time.
        size = min(os.fstat(file.fileno()).st_size, largest)
        content = file.read(size + 1)
        if len(content) > size:  # it grows, or the kernel makes it up, as in /proc
            content += file.read(largest - size)
    if len(content) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest // (1024 * 1024) or 1} MiB", str(path))
    return content


def read_own(path: Path, largest: int = SMALL) -> bytes | None:
    """Return the content of a stranger's file; None for a link, and for what is larger or cannot be read."""
    try:
        return None if path.is_symlink() else read_regular(path, largest)
    except OSError:
        return None


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: Path) -> None:
    """Remove *path*, whatever it is; nothing happens when it is absent. Raises `InfrastructureError`.

    A folder that lies deep is first moved up into *path* itself, so depth costs neither descriptors nor stack. One
    that something is mounted on can be neither removed nor moved, and so is never entered.
    """
    if path.absolute() == Path("/"):
        raise InfrastructureError("groundup does not remove /; this is a fault of its own")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    try:
        if stat.S_ISDIR(mode):
            _remove_folder(path)
        else:
            path.unlink()
    except OSError as error:
        raise InfrastructureError(
            f"cannot remove {path}: {error.strerror or error}; remove it by hand (perhaps as its owner)"
        ) from error


def _remove_folder(path: Path) -> None:
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        root = _open_folder(path.name, parent)
        try:
            _empty(root)
        finally:
            os.close(root)
        os.rmdir(path.name, dir_fd=parent)
    finally:
        os.close(parent)


_NEAR = 8
"""How many folders deep is emptied where it lies: to move a folder costs more than to remove it."""


def _empty(root: int) -> None:
    token = secrets.token_hex(8)  # no name below can be the same by intent
    waiting: list[str] = []
    made = 0

    def drain(folder: int, depth: int) -> None:
        nonlocal made
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_folder in found:
            if not is_folder:
                os.unlink(name, dir_fd=folder)
            elif _went(name, folder):
                continue
            elif depth < _NEAR:
                remove(name, folder, depth + 1)
            else:
                made += 1
                _make_writable(name, folder)  # or it cannot be moved
                os.rename(name, f"{token}-{made}", src_dir_fd=folder, dst_dir_fd=root)
                waiting.append(f"{token}-{made}")

    def remove(name: str, parent: int, depth: int) -> None:
        folder = _open_folder(name, parent)
        try:
            drain(folder, depth)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=parent)

    drain(root, 0)
    while waiting:
        remove(waiting.pop(), root, 0)


def _went(name: str, parent: int) -> bool:
    """Remove a folder that is empty, as most of those are that we made; return whether it is gone."""
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _open_folder(name: str, parent: int) -> int:
    """Open a folder so that its entries can be removed."""
    _make_writable(name, parent)
    return os.open(name, _FOLDER, dir_fd=parent)


def _make_writable(name: str, parent: int) -> None:
    """Give a folder's owner the permissions that are missing."""
    mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        _permit(name, parent)


def _permit(name: str, parent: int) -> None:
    if sys.platform != "linux":
        os.chmod(name, stat.S_IRWXU, dir_fd=parent, follow_symlinks=False)
        return
    # Linux changes no mode through a link-proof name; a path-only descriptor is the way round.
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{place}").chmod(stat.S_IRWXU)
    finally:
        os.close(place)
