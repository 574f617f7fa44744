"""Other machines that make and grade submissions, as runs see them. An extension package provides them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pydantic import JsonValue

from groundup.catalog import Table
from groundup.episodes.attempt import Grading
from groundup.episodes.records import EpisodeSpec
from groundup.settings import Settings
from groundup.store.records import FleetFile

if TYPE_CHECKING:
    from groundup.episodes.episode import Playing

_ENGINE = "dask"


class FleetRequest(NamedTuple):
    """Which fleet a run wants, and for what."""

    workers: str
    """The fleet's address, or the file that has it."""
    suite: str
    """As the run names it: SUITE or SUITE@NAME."""
    suite_name: str
    """As it calls itself."""
    settings: Settings
    agents: bool = False
    """Whether agents work on the nodes, too."""


class Fleet(Protocol):
    """A connection to machines that work for a run."""

    @property
    def agents_on_nodes(self) -> bool:
        """Whether agents work there, too."""
        ...

    def standing(self) -> FleetFile:
        """Return the machines and what waits for them."""
        ...

    def admitted(self, reservation_mb: int) -> AbstractAsyncContextManager[None]:
        """Wait until one more attempt may be sent, then hold its place."""
        ...

    def graded_there(self, here: Grading, spec: EpisodeSpec, sandbox: str, builder: str) -> Grading:
        """Return *here* as the machines do it."""
        ...

    def made_there(self, playing: "Playing", chosen: tuple[str, dict[str, JsonValue]]) -> "Playing":
        """Return *playing* as the machines do it; the table of agents finds its agent by what was *chosen*."""
        ...


FleetOpener = Callable[[FleetRequest, Callable[[str], None]], AbstractAsyncContextManager[Fleet]]
"""Returns the fleet that is asked for, which connects when it is entered; the second argument gets warnings."""
FLEETS: Table[FleetOpener] = Table("fleet", {})


def refuse_unknown_fleet(request: FleetRequest) -> None:
    """Raise `UsageError` where no fleet can be what *request* names; whether one answers is not asked."""
    FLEETS.find(_ENGINE)(request, lambda message: None)


@asynccontextmanager
async def fleet_for(request: FleetRequest | None, warn: Callable[[str], None]) -> AsyncIterator[Fleet | None]:
    """Yield the fleet that is asked for; None: none is."""
    if request is None:
        yield None
        return
    async with FLEETS.find(_ENGINE)(request, warn) as fleet:
        yield fleet
