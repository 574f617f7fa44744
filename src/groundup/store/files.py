"""Writing files so that a reader never sees half of one."""

import os
import secrets
from pathlib import Path

from groundup.trees.writer import disk_errors


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write *content* to a temporary name beside *path* and rename it into place; *durable* waits for the disk.

    Raises `DiskFullError` or `InfrastructureError`; then *path* is as it was.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    with disk_errors(path.parent):
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
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
