"""Dask, which the extra `fleet` brings. Modules that need it import it from here."""

import importlib
from typing import Any

from groundup.domain.errors import MissingExtraError

try:
    from distributed import SchedulerPlugin, WorkerPlugin
except ModuleNotFoundError as error:
    raise MissingExtraError("fleets need Dask; install it with `pip install 'groundup[fleet]'`") from error

__all__ = ["SchedulerPlugin", "WorkerPlugin", "dask", "distributed"]
dask: Any = importlib.import_module("dask")
distributed: Any = importlib.import_module("distributed")
"""Half of it has types, which says less than none."""
