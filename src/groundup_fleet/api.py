"""Fleets: a scheduler with nodes that grade for runs, joining one, and looking at it."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Unpack

from groundup.api.flags import Names, names
from groundup.api.requests import checked
from groundup.domain.errors import UsageError
from groundup.domain.names import is_loopback
from groundup.domain.version import __version__
from groundup.runs.scheduler import machine_memory_mb
from groundup.settings import load
from groundup_fleet.clusters import (
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
from groundup_fleet.driver import DaskFleet, connected
from groundup_fleet.flags import FleetFlags
from groundup_fleet.node import NodeIdentity


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
        size=NodeSize(_slots(flags), memory_mb or _memory_mb() // max(local, 1)),
        slurm=_words(flags.get("slurm_option")) if slurm else None,
    )


def _memory_mb() -> int:
    return int(machine_memory_mb() * load().memory_share)


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
    place = SchedulerPlace(host, given.get("port") or 0, keys, round(float(given.get("lost_after") or 60)))
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
    size = NodeSize(slots or len(os.sched_getaffinity(0)), memory_mb or _memory_mb())
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
