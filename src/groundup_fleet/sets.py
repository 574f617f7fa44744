"""Entries of sets made on a fleet: a node makes a set of one entry, and the driver takes it over.

The driver alone writes the set, so a node that dies loses what it had under way and nothing else; Dask gives that
to another one. Folders of the driver's machine, which nodes do not see, are made by the driver.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.domain.errors import InfrastructureError, MachineError, UsageError
from groundup.domain.version import __version__
from groundup.settings import Settings, load
from groundup.store.ownership import write_made
from groundup.suites.sets import MANIFEST, SetManifest
from groundup.trees.digest import tree_digest
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import in_thread
from groundup_fleet.clusters import read_address
from groundup_fleet.driver import DaskFleet, connected
from groundup_fleet.orders import packed, unpack

if TYPE_CHECKING:
    from groundup_factory.set_entries import SetEntry, SetPlace, SetWish, Tell
    from groundup_factory.sets import SetRequest, SetYield

_RESERVED_MB = 2048
"""That an entry takes of a node's memory, as Dask counts it."""


async def make_set_on(workers: str, request: "SetRequest", settings: Settings, tell: "Tell") -> "SetYield":
    """Make the set of *request* on the fleet at *workers*. Raises `UsageError`, and `MachineError` without one."""
    from groundup_factory.sets import make_set

    if request.model is not None:
        raise UsageError("a model is asked from one machine; leave out --workers, or -m")
    async with connected(read_address(workers), lambda line: tell("fleet", line), DaskFleet) as fleet:
        for one in await fleet.identities(settings.sandbox):
            if one.problem is not None:
                raise MachineError(f"the node {one.name} cannot work on it: {one.problem}")
            _refuse_other(one.name, one.groundup)
        return await make_set(request, settings, tell, elsewhere=_Nodes(fleet, request, tell))


def _refuse_other(node: str, version: str) -> None:
    if version != __version__:
        raise MachineError(f"the node {node} has groundup {version}, and this machine {__version__}; install one")


@dataclass(frozen=True)
class EntryOrder:
    """One entry to make, and of what set."""

    request: "SetRequest"
    manifest: SetManifest
    groundup: str


@dataclass(frozen=True)
class EntryAnswer:
    """What a node made of an entry."""

    entry: "SetEntry"
    digest: str
    """Of the set's tree."""
    packed: bytes


@dataclass(frozen=True)
class _Nodes:
    """The nodes, as `make_set` uses them."""

    fleet: DaskFleet
    request: "SetRequest"
    tell: "Tell"

    async def entry(self, one: "SetWish", place: "SetPlace", part: Path) -> "SetEntry":
        wanted = replace(self.request, entries=[one.text], kind=place.manifest.kind, jobs=1, hours=None)
        order = EntryOrder(wanted, place.manifest.but(tasks=(), shared={}), __version__)
        try:
            answer = await self.fleet.carried(make_entry, order, _RESERVED_MB)
        except Exception as error:
            raise InfrastructureError(f"no node made it: {error}") from error
        await in_thread(unpack, answer.packed, part, answer.digest)
        self.tell(one.name, f"{answer.entry.standing}: {answer.entry.why or answer.entry.task}")
        return answer.entry


async def make_entry(order: EntryOrder) -> EntryAnswer:
    """Make the set of one entry on a node. Raises `MachineError` where its groundup is another one."""
    from groundup_factory.sets import make_set

    _refuse_other("that got the entry", order.groundup)
    with scratch_folder("entry") as work:
        folder = work / "set"
        folder.mkdir()
        write_made(folder / MANIFEST, order.manifest.model_dump_json().encode())
        made = await make_set(replace(order.request, folder=folder), load(), lambda *_: None)
        (entry,) = made.entries
        digest, data = await asyncio.to_thread(lambda: (tree_digest(folder).digest, packed(folder)))
    return EntryAnswer(entry, digest, data)
