"""Protocols that a server speaks beside ORS; extension packages bring them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from starlette.routing import BaseRoute

from groundup.catalog import Table
from groundup.serving.http import ServedTasks


class Protocol(NamedTuple):
    """One protocol."""

    name: str
    place: str
    """Where a server answers it, such as `at /ws`; empty where its clients know."""
    routes: Callable[[ServedTasks], AbstractAsyncContextManager[Sequence[BaseRoute]]]
    """They answer while the context is entered."""
    lacks: str = ""
    """What this installation lacks for it, and how to get that; the routes then say so."""


PROTOCOLS: Table[Protocol] = Table("protocol", {})


def spoken() -> list[Protocol]:
    """Return the protocols that are here, also those that lack something."""
    return [PROTOCOLS.find(name) for name in PROTOCOLS.names()]
