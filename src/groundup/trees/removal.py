"""Removing what strangers made: folders without permissions, any depth, never through a link or into a mount."""

import errno
import os
import secrets
import stat
import sys
from pathlib import Path

from groundup.domain.errors import InfrastructureError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: Path) -> None:
    """Remove *path*, whatever it is; nothing happens when it is absent. Raises `InfrastructureError`.

    A folder below is first moved up into *path* itself, so depth costs neither descriptors nor stack, and a folder
    that something is mounted on cannot be moved and so is never entered.
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


def _empty(root: int) -> None:
    token = secrets.token_hex(8)  # no name below can be the same by intent
    waiting: list[str] = []
    made = 0

    def drain(folder: int) -> None:
        nonlocal made
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_folder in found:
            if not is_folder:
                os.unlink(name, dir_fd=folder)
            elif not _went(name, folder):
                made += 1
                _make_writable(name, folder)  # or it cannot be moved
                os.rename(name, f"{token}-{made}", src_dir_fd=folder, dst_dir_fd=root)
                waiting.append(f"{token}-{made}")

    drain(root)
    while waiting:
        name = waiting.pop()
        folder = _open_folder(name, root)
        try:
            drain(folder)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=root)


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
