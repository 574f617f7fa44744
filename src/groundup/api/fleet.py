"""Fleets: a scheduler with nodes that grade for runs, joining one, and looking at it.

Entries of sets made on a fleet: a node makes a set of one entry, and the driver takes it over.

The driver alone writes the set, so a node that dies loses what it had under way and nothing else; Dask gives that
to another one. Folders of the driver's machine, which nodes do not see, are made by the driver.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from groundup.api.flags import FleetFlags, Names, names
from groundup.api.requests import checked
from groundup.curation.set_entries import SetEntry, SetPlace, SetWish, Tell
from groundup.curation.sets import SetRequest, SetYield, make_set
from groundup.domain.errors import InfrastructureError, MachineError, UsageError
from groundup.domain.names import is_loopback
from groundup.domain.version import __version__
from groundup.fleet.clusters import (
    NodeSize,
    NodesWanted,
    Report,
    SchedulerPlace,
    join,
    parsed,
    read_address,
    serve_fleet,
    ssh_nodes,
)
from groundup.fleet.driver import DaskFleet, connected
from groundup.fleet.node import NodeIdentity
from groundup.fleet.orders import packed, unpack
from groundup.runs.scheduler import machine_memory_mb
from groundup.settings import Settings, load
from groundup.store.ownership import write_made
from groundup.suites.sets import MANIFEST, SetManifest
from groundup.trees.digest import tree_digest
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import in_thread

_SHARE = 0.8


def wanted(flags: FleetFlags) -> NodesWanted:
    """Return which nodes Dask shall run. Raises `UsageError`."""
    local, slurm = flags.get("local") or 0, flags.get("slurm") or 0
    if local and slurm:
        raise UsageError(
            "--local and --slurm exclude each other; more machines join by --ssh or `groundup fleet join`"
        )
    memory_mb, most = flags.get("memory_mb"), local or slurm
    if slurm and not memory_mb:
        raise UsageError("say how much memory a job of Slurm gets, with --memory-mb")
    least = flags.get("minimum")
    if least is not None and least > most:
        raise UsageError(f"--minimum {least} is more than the {most} nodes that the fleet may have")
    return NodesWanted(
        minimum=most if least is None else least,
        maximum=most,
        size=NodeSize(_slots(flags), memory_mb or int(machine_memory_mb() * _SHARE) // max(local, 1)),
        slurm=_words(flags.get("slurm_option")) if slurm else None,
    )


def _slots(flags: FleetFlags) -> int:
    return flags.get("slots") or len(os.sched_getaffinity(0))


def _words(given: Names) -> tuple[str, ...]:
    """Return words of a command line, which may hold commas."""
    return (given,) if isinstance(given, str) else tuple(given or ())


def up(report: Report, **flags: Unpack[FleetFlags]) -> None:
    """Run a scheduler and nodes until ^C; *report* gets a sentence for each thing that happens.

    Raises `UsageError` for what would be open to others, and `MachineError` where nodes cannot be started.
    """
    given: FleetFlags = checked(FleetFlags, flags)
    host, keys = given.get("host") or "127.0.0.1", not given.get("no_keys", False)
    file = given.get("address_file")
    if not keys and not is_loopback(host):
        raise UsageError(f"everyone who reaches {host} could run code on every node; leave --no-keys out")
    if keys and file is None:
        raise UsageError("name a file for the address and the keys, with --address-file; or use --no-keys")
    place = SchedulerPlace(host, given.get("port") or 0, keys, given.get("lost_after") or 60)
    hosts, program = names(given.get("ssh"), "--ssh") or (), given.get("program") or "groundup"
    over_ssh = ssh_nodes(hosts, _slots(given), given.get("memory_mb"), program)
    serving = serve_fleet(place, Path(file) if file else None, wanted(given), over_ssh, report)
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_until_ended(serving))


async def _until_ended(work: Coroutine[None, None, None]) -> None:
    """Await *work*; SIGTERM ends it as ^C does, so that no node, file with keys or Deployment stays behind."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await work


def join_fleet(address: str, slots: int | None, memory_mb: int | None, report: Report) -> None:
    """Be a node until ^C or the scheduler's end; *address* `-` reads it from standard input."""
    found = parsed(sys.stdin.read(), "standard input") if address == "-" else read_address(address)
    size = NodeSize(slots or len(os.sched_getaffinity(0)), memory_mb or int(machine_memory_mb() * _SHARE))
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(join(found, size, report))


def look(address: str, sandbox: str) -> list[NodeIdentity]:
    """Return what each node of the fleet is, its problem where it cannot work with this groundup."""
    found = asyncio.run(_identities(address, sandbox))
    return [
        one
        if one.problem or one.groundup == __version__  # a silent one has a problem
        else one.but(problem=f"has groundup {one.groundup}, this is {__version__}")
        for one in found
    ]


async def _identities(address: str, sandbox: str) -> list[NodeIdentity]:
    async with connected(read_address(address), lambda message: None, DaskFleet) as fleet:
        return await fleet.identities(sandbox)


_RESERVED_MB = 2048
"""That an entry takes of a node's memory, as Dask counts it."""


async def make_set_on(workers: str, request: SetRequest, settings: Settings, tell: Tell) -> SetYield:
    """Make the set of *request* on the fleet at *workers*. Raises `UsageError`, and `MachineError` without one."""
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

    request: SetRequest
    manifest: SetManifest
    groundup: str


@dataclass(frozen=True)
class EntryAnswer:
    """What a node made of an entry."""

    entry: SetEntry
    digest: str
    """Of the set's tree."""
    packed: bytes


@dataclass(frozen=True)
class _Nodes:
    """The nodes, as `make_set` uses them."""

    fleet: DaskFleet
    request: SetRequest
    tell: Tell

    async def entry(self, one: SetWish, place: SetPlace, part: Path) -> SetEntry:
        wanted = replace(self.request, entries=[one.text], kind=place.manifest.kind, jobs=1, hours=None)
        order = EntryOrder(wanted, place.manifest.but(tasks=(), shared={}), __version__)
        try:
            answer = await self.fleet.carried(make_entry, order, _RESERVED_MB)
        except Exception as error:
            raise InfrastructureError(f"no node made it: {error}") from error
        await in_thread(lambda: unpack(answer.packed, part, answer.digest))
        self.tell(one.name, f"{answer.entry.standing}: {answer.entry.why or answer.entry.task}")
        return answer.entry


async def make_entry(order: EntryOrder) -> EntryAnswer:
    """Make the set of one entry on a node. Raises `MachineError` where its groundup is another one."""
    _refuse_other("that got the entry", order.groundup)
    with scratch_folder("entry") as work:
        folder = work / "set"
        folder.mkdir()
        write_made(folder / MANIFEST, order.manifest.model_dump_json().encode())
        made = await make_set(replace(order.request, folder=folder), load(), lambda *_: None)
        (entry,) = made.entries
        digest, data = await asyncio.to_thread(lambda: (tree_digest(folder).digest, packed(folder)))
    return EntryAnswer(entry, digest, data)
