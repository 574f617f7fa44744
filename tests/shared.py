"""What several tests start from, made once for all workers of pytest."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder *name*, which *make* fills when it is given the absent folder; others wait for it."""
    place = factory.getbasetemp()
    place = (place.parent if "PYTEST_XDIST_WORKER" in os.environ else place) / "shared" / name
    place.parent.mkdir(exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            partial = place.with_suffix(".partial")
            make(partial)
            partial.rename(place)
    return place
