"""A run's way into a fleet: the connection, the suite's data for its nodes, and a relay for agents there."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from groundup.runs.fleets import FleetRequest
from groundup.suites.places import data_folder, split_variants, with_data_set
from groundup.trees.digest import tree_digest
from groundup.trees.writer import in_thread
from groundup_fleet import node
from groundup_fleet.agents import relay_at
from groundup_fleet.attempts import RunFleet
from groundup_fleet.clusters import FleetAddress, read_address, security
from groundup_fleet.driver import connected
from groundup_fleet.orders import packed

_DATA_BYTES = 256 * 2**20
"""The most that is sent to nodes of a suite's data, packed; Dask's scheduler keeps it in memory."""


def open_fleet(request: FleetRequest, warn: Callable[[str], None]) -> AbstractAsyncContextManager[RunFleet]:
    """Return the fleet that a run asks for, whose nodes get the suite's data. What the catalog names.

    An address that cannot be one is refused at once; nothing is connected before the fleet is entered. Raises
    `UsageError`.
    """
    address = read_address(request.workers)
    security(address)
    return _opened(address, request, warn)


@asynccontextmanager
async def _opened(
    address: FleetAddress, request: FleetRequest, warn: Callable[[str], None]
) -> AsyncIterator[RunFleet]:
    async with connected(address, warn, RunFleet) as fleet, AsyncExitStack() as stack:
        _, settings = with_data_set(request.suite, request.settings)
        folder = data_folder(split_variants(request.suite_name)[0], settings)
        if folder is not None:
            place = str(folder.parent.relative_to(request.settings.data))
            digest, data = await in_thread(lambda: (tree_digest(folder.parent).digest, packed(folder.parent)))
            if len(data) <= _DATA_BYTES:
                fleet.data = digest
                await fleet.register(node.DataPlugin(place, digest, data))
            else:
                warn(
                    f"the data of {request.suite} is too large to send; nodes need it: `groundup data pull` there"
                )
        if request.agents:
            fleet.relay = await stack.enter_async_context(relay_at(address))
        yield fleet
