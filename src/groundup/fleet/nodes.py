"""Starting a fleet: a scheduler, nodes that join it, and what each of them is.

A node is a Dask worker that offers slots and memory as resources. The same command joins one on this machine, over
SSH, or as tasks of Slurm, so each gets keys and resources in one way; Dask's own deployments would give neither.
"""

import asyncio
import logging
import os
import secrets
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from groundup.configuration import environment
from groundup.domain.errors import MachineError, UsageError
from groundup.domain.names import is_loopback
from groundup.fleet import node
from groundup.fleet.addresses import FleetAddress, distributed, security, with_new_keys
from groundup.fleet.driver import MEMORY, SLOT
from groundup.trees.scratch import remove_abandoned_folders, scratch_folder
from groundup.trees.writer import disk_errors

_GONE_AFTER = "60s"
"""A node that says nothing for so long is taken for lost."""
_NO_PAGES = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Dask listens for browsers whatever is asked; here on loopback, with nothing to see."""
_AGAIN_S = 5.0
_ENDING_S = 30.0
Report = Callable[[str], None]


@dataclass(frozen=True)
class NodeSize:
    """What one node offers."""

    slots: int
    memory_mb: int


@dataclass(frozen=True)
class Launch:
    """A program that runs nodes until it is ended; it reads the fleet's address on standard input."""

    name: str
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


def local_nodes(number: int, size: NodeSize, caches: Path | None) -> list[Launch]:
    """Return nodes on this machine, as processes; with *caches* each has a cache of its own below it."""
    own = (sys.executable, "-m", "groundup", *_joining(size))
    return [
        Launch(
            name=f"local node {one}",
            argv=own,
            environment=(("GROUNDUP_CACHE_DIR", str(caches / str(one))),) if caches else (),
        )
        for one in range(1, number + 1)
    ]


def ssh_nodes(hosts: Sequence[str], size: NodeSize, program: str) -> list[Launch]:
    """Return a node on each of *hosts*, by the user's `ssh`; *program* is groundup there."""
    joining = f"{shlex.quote(program)} {shlex.join(_joining(size))}"
    return [Launch(name=host, argv=("ssh", "-o", "BatchMode=yes", "--", host, joining)) for host in hosts]


def slurm_nodes(number: int, size: NodeSize, program: str, options: Sequence[str]) -> list[Launch]:
    """Return *number* nodes as one job step of Slurm; *options* are further words for `srun`."""
    sized = (f"--cpus-per-task={size.slots}", f"--mem={size.memory_mb}M") if size.memory_mb else ()
    alone = (f"--ntasks={number}", "--input=all", "--kill-on-bad-exit=0", *sized, *options)
    return [Launch(name="srun", argv=("srun", *alone, program, *_joining(size)))]


def _joining(size: NodeSize) -> tuple[str, ...]:
    memory = ("--memory-mb", str(size.memory_mb)) if size.memory_mb else ()
    return ("fleet", "join", "-", "--slots", str(size.slots), *memory)


async def serve_fleet(
    place: tuple[str, int], address_file: Path | None, launches: Sequence[Launch], *, keys: bool, report: Report
) -> None:
    """Run a scheduler at *place*, host and port, and *launches*, until this is cancelled; what ends begins again.

    The address and, with *keys*, what lets others in are written to *address_file*, which only its owner can read.
    """
    async with _scheduler(*place, keys=keys) as address:
        if address_file is not None:
            _write_private(address_file, address.model_dump_json(indent=1).encode() + b"\n")
            report(f"the fleet's address is in {address_file}")
        else:
            report(f"the fleet's address is {address.scheduler}")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.Event().wait())
                for launch in launches:
                    group.create_task(_kept_running(launch, address, report))
        finally:
            if address_file is not None:
                address_file.unlink(missing_ok=True)


def _write_private(path: Path, content: bytes) -> None:
    """Write a file that holds keys; it is never readable by others, not for a moment."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with disk_errors(path.parent):
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        partial.replace(path)


@asynccontextmanager
async def _scheduler(host: str, port: int, *, keys: bool) -> AsyncIterator[FleetAddress]:
    dask = distributed()
    _configure()
    made = with_new_keys("") if keys else FleetAddress(scheduler="")
    try:
        scheduler = await dask.Scheduler(
            host=host, port=port, protocol="tls" if keys else "tcp", security=security(made), **_NO_PAGES
        )
    except (OSError, RuntimeError) as error:
        raise UsageError(f"no scheduler can listen on {host}:{port}: {error}") from error
    try:
        yield made.model_copy(update={"scheduler": scheduler.address})
    finally:
        await scheduler.close()


def _configure() -> None:
    import dask

    # Pages about tasks and workers would be open to everybody who reaches their ports.
    pages: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    dask.config.set({"distributed.scheduler.worker-ttl": _GONE_AFTER, **pages})
    logging.getLogger("distributed").setLevel(logging.WARNING)


async def _kept_running(launch: Launch, address: FleetAddress, report: Report) -> None:
    while True:
        try:
            process = await asyncio.create_subprocess_exec(
                *launch.argv,
                stdin=asyncio.subprocess.PIPE,
                env={**environment(), **dict(launch.environment)},
            )
        except OSError as error:
            raise MachineError(f"{launch.argv[0]} cannot be started: {error.strerror or error}") from error
        try:
            assert process.stdin is not None
            with suppress(ConnectionError):
                process.stdin.write(address.model_dump_json().encode())
                await process.stdin.drain()
                process.stdin.close()
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), _ENDING_S)
        report(f"{launch.name} ended with exit code {code}; it begins again in {_AGAIN_S:.0f} s")
        await asyncio.sleep(_AGAIN_S)


async def join(address: FleetAddress, size: NodeSize, report: Report) -> None:
    """Be a node of the fleet at *address* until this is cancelled or the scheduler ends.

    Raises `MachineError` when no scheduler answers there.
    """
    dask = distributed()
    _configure()
    memory = {MEMORY: size.memory_mb} if size.memory_mb else {}
    with scratch_folder("node") as folder:
        worker: Any = dask.Worker(
            address.scheduler,
            nthreads=size.slots,
            resources={SLOT: size.slots, **memory},
            name=node.node_name(),
            security=security(address),
            local_directory=str(folder),
            memory_limit=0,  # sandboxes have limits of their own
            death_timeout=30,
            **_only_here(address.scheduler),
            **_NO_PAGES,
        )
        try:
            await worker
        except (OSError, TimeoutError, ValueError) as error:
            raise MachineError(f"no scheduler answers at {address.scheduler}: {error}") from error
        worker.log_event(node.JOINED, {})
        # A node that begins again after a killed one would else fill the disk with packed layers.
        await asyncio.to_thread(remove_abandoned_folders)
        report(f"{node.node_name()} joined {address.scheduler} with {size.slots} slots")
        try:
            await worker.finished()
        finally:
            await worker.close(nanny=False)


def _only_here(scheduler: str) -> dict[str, str]:
    """Return where a node listens for others: on loopback when the scheduler can be reached only there."""
    host = urlsplit(scheduler).hostname or ""
    return {"host": host} if is_loopback(host) else {}


async def identities(address: FleetAddress, sandbox: str) -> list[node.NodeIdentity]:
    """Return what each node of the fleet is. Raises `MachineError` when no scheduler answers."""
    from groundup.fleet.driver import connected

    async with connected(address, lambda message: None) as fleet:
        return [
            node.NodeIdentity.model_validate_json(one) for one in await fleet.everywhere(node.identify, sandbox)
        ]
