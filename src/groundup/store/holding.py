"""One process at a time works on a run folder: a lock that the kernel drops with the process."""

import errno
import fcntl
import os
from pathlib import Path

from groundup.domain.errors import InfrastructureError, UsageError

LOCK_NAME = ".lock"


class Hold:
    """The exclusive hold on a run folder, until it is closed or the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        """Take the hold; raises `UsageError` naming the process that has it."""
        path = folder / LOCK_NAME
        try:
            # Closed on exec, so no program that a run starts can keep it alive.
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise InfrastructureError(f"cannot write below {folder}: {error.strerror or error}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._descriptor)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise InfrastructureError(f"{path} cannot be locked: {error.strerror or error}") from error
            raise UsageError(
                f"process {holder} is working on the run {folder.name!r}: wait for it or choose another --run-id"
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Give the folder back. Can be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_held(folder: Path) -> bool:
    """Whether some process works on the run in *folder*."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
