"""Reading files that somebody named: regular ones only, and no more of them than is expected.

A device, a pipe or a socket would never end, or block.
"""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

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
        content = file.read(largest + 1)
    if len(content) > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest // (1024 * 1024) or 1} MiB", str(path))
    return content
