"""Fleets: a scheduler with nodes that grade for runs, joining one, and looking at it."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Unpack

from groundup.api.flags import FleetFlags, Names, names
from groundup.api.requests import checked
from groundup.domain.errors import UsageError
from groundup.domain.names import is_loopback
from groundup.domain.version import __version__
from groundup.fleet.addresses import parsed, read_address
from groundup.fleet.kubernetes import ClusterNodes
from groundup.fleet.node import NodeIdentity
from groundup.fleet.nodes import (
    Launch,
    NodeSize,
    Report,
    SchedulerPlace,
    identities,
    join,
    local_nodes,
    serve_fleet,
    slurm_nodes,
    ssh_nodes,
)
from groundup.runs.scheduler import machine_memory_mb

_SHARE = 0.8


def launches(flags: FleetFlags) -> list[Launch]:
    """Return what is to be started. Raises `UsageError`."""
    local, slurm = flags.get("local") or 0, flags.get("slurm") or 0
    slots = flags.get("slots") or len(os.sched_getaffinity(0))
    memory_mb, program = flags.get("memory_mb"), flags.get("program") or "groundup"
    here = NodeSize(slots, memory_mb or int(machine_memory_mb() * _SHARE) // max(local, 1))
    there = NodeSize(slots, memory_mb or 0)
    caches = flags.get("caches")
    found: list[Launch] = local_nodes(local, here, Path(caches) if caches else None)
    found += ssh_nodes(names(flags.get("ssh"), "--ssh") or (), there, program)
    if slurm:
        found += slurm_nodes(slurm, there, program, _words(flags.get("slurm_option")))
    if pods := flags.get("kubernetes") or 0:
        if not (image := flags.get("image")):
            raise UsageError("name an image that has groundup and its extra `fleet`, with --image")
        found.append(ClusterNodes(pods, there, image, program, _words(flags.get("kubectl_option"))))
    return found


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
    serving = serve_fleet(place, Path(file) if file else None, launches(given), report)
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
    with suppress(KeyboardInterrupt):
        asyncio.run(join(found, size, report))


def look(address: str, sandbox: str) -> list[NodeIdentity]:
    """Return what each node of the fleet is, its problem where it cannot work with this groundup."""
    found = asyncio.run(identities(read_address(address), sandbox))
    return [
        one
        if one.problem or one.groundup == __version__  # a silent one has a problem
        else one.model_copy(update={"problem": f"has groundup {one.groundup}, this is {__version__}"})
        for one in found
    ]
