"""What this package adds to groundup's tables (`groundup/extensions.py`)."""

from typing import TYPE_CHECKING

from groundup.catalog import Lazy

if TYPE_CHECKING:
    from groundup.runs.fleets import FleetOpener
    from groundup_factory.sets import SetWorker


def _fleet() -> "FleetOpener":
    from groundup_fleet.opening import open_fleet

    return open_fleet


def _set_worker() -> "SetWorker":
    from groundup_fleet.sets import make_set_on

    return make_set_on


FLEETS: "dict[str, Lazy[FleetOpener]]" = {"dask": _fleet}
SET_WORKERS: "dict[str, Lazy[SetWorker]]" = {"dask": _set_worker}
