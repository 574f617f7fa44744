"""Dask, which the extra `fleet` brings. Modules that need it import it from here."""

import importlib
import ssl
from contextlib import suppress
from typing import Any

from groundup.domain.errors import MissingExtraError

try:
    from distributed import SchedulerPlugin, WorkerPlugin
    from tornado.iostream import IOStream, SSLIOStream
except ModuleNotFoundError as error:
    raise MissingExtraError("fleets need Dask; install it with `pip install 'groundup[fleet]'`") from error

__all__ = ["SchedulerPlugin", "WorkerPlugin", "dask", "distributed"]
dask: Any = importlib.import_module("dask")
distributed: Any = importlib.import_module("distributed")
"""Half of it has types, which says less than none."""
_ANY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _close(stream: IOStream) -> None:
    """Close the socket, and forget what OpenSSL noted about it.

    Where a peer goes away, Python's `ssl` raises an `OSError` and leaves OpenSSL's note in the thread's queue. The
    next read fails for it, of whatever connection that is (https://github.com/python/cpython/issues/148594, with
    OpenSSL 3.2 and later). So fleets lost nodes that were well when somebody hung up. A refused cipher clears it.
    """
    IOStream.close_fd(stream)
    with suppress(ssl.SSLError):
        _ANY.set_ciphers("none")


SSLIOStream.close_fd = _close  # type: ignore[assignment, method-assign]  # Dask makes its streams itself
