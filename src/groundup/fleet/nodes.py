"""Starting a fleet: a scheduler, nodes that join it, and what each of them is.

A node is a Dask worker that offers slots and memory as resources. The same command joins one on this machine, over
SSH, or as jobs of Slurm, so each gets keys and resources in one way. Dask's own launchers would show the keys: on
command lines (`SSHCluster`) or in a folder that machines share (dask-jobqueue).
"""

import asyncio
import logging
import multiprocessing
import os
import secrets
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from groundup.configuration import environment, set_variable
from groundup.domain.digests import digest_bytes
from groundup.domain.errors import MachineError, UsageError
from groundup.domain.names import is_loopback
from groundup.fleet import node
from groundup.fleet.addresses import FleetAddress, distributed, security, with_new_keys
from groundup.fleet.driver import MEMORY, SLOT
from groundup.store.ownership import is_made, note_made, refuse_others
from groundup.trees.scratch import remove_abandoned_folders, scratch_folder
from groundup.trees.writer import disk_errors

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


class Launch(Protocol):
    """Something that runs nodes."""

    async def keep(self, address: FleetAddress, report: Report) -> None:
        """Run nodes of the fleet at *address* until this is cancelled; what ends begins again."""


@dataclass(frozen=True)
class LocalNode:
    """A process here, forked from one that has imported everything, which is nearly all that a start costs."""

    name: str
    size: NodeSize
    cache: Path | None
    """Its own, instead of this user's."""

    async def keep(self, address: FleetAddress, report: Report) -> None:
        """Run it, for ever."""
        await _kept(self.name, lambda: self._lived(address), report)

    async def _lived(self, address: FleetAddress) -> int:
        forks = multiprocessing.get_context("forkserver")
        # The first is what the main module imports, which a child imports again.
        forks.set_forkserver_preload(["groundup.cli.main", __name__, "distributed"])
        process = forks.Process(target=_be_local, args=(address, self.size, self.cache), name=self.name)
        await asyncio.to_thread(process.start)
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_reader(process.sentinel, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(process.sentinel)
            process.terminate()
            await asyncio.to_thread(process.join, _ENDING_S)
            process.kill()
        return process.exitcode or 0


def _be_local(address: FleetAddress, size: NodeSize, cache: Path | None) -> None:
    if cache is not None:
        set_variable("GROUNDUP_CACHE_DIR", str(cache))
    with suppress(KeyboardInterrupt):
        asyncio.run(join(address, size, lambda text: print(f"groundup: {text}", file=sys.stderr, flush=True)))


@dataclass(frozen=True)
class NodeCommand:
    """A program that runs nodes elsewhere until it is ended; it reads the fleet's address on standard input."""

    name: str
    argv: tuple[str, ...]

    async def keep(self, address: FleetAddress, report: Report) -> None:
        """Run it, for ever. Raises `MachineError` when it cannot be started."""
        await _kept(self.name, lambda: self._lived(address), report)

    async def _lived(self, address: FleetAddress) -> int:
        try:
            process = await asyncio.create_subprocess_exec(
                *self.argv, stdin=asyncio.subprocess.PIPE, env=environment()
            )
        except OSError as error:
            raise MachineError(f"{self.argv[0]} cannot be started: {error.strerror or error}") from error
        try:
            assert process.stdin is not None
            with suppress(ConnectionError):
                process.stdin.write(address.model_dump_json().encode())
                await process.stdin.drain()
                process.stdin.close()
            return await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), _ENDING_S)
                except TimeoutError:
                    process.kill()


async def _kept(name: str, live: Callable[[], Awaitable[int]], report: Report) -> None:
    while True:
        code = await live()
        report(f"{name} ended with exit code {code}; it begins again in {_AGAIN_S:.0f} s")
        await asyncio.sleep(_AGAIN_S)


def local_nodes(number: int, size: NodeSize, caches: Path | None) -> list[Launch]:
    """Return nodes on this machine, as processes; with *caches* each has a cache of its own below it."""
    return [
        LocalNode(name=f"local node {one}", size=size, cache=caches / str(one) if caches else None)
        for one in range(1, number + 1)
    ]


def ssh_nodes(hosts: Sequence[str], size: NodeSize, program: str) -> list[NodeCommand]:
    """Return a node on each of *hosts*, by the user's `ssh`; *program* is groundup there."""
    joining = f"{shlex.quote(program)} {shlex.join(joining_words(size))}"
    return [NodeCommand(name=host, argv=("ssh", "-o", "BatchMode=yes", "--", host, joining)) for host in hosts]


def slurm_nodes(number: int, size: NodeSize, program: str, options: Sequence[str]) -> list[NodeCommand]:
    """Return *number* nodes, each a job of Slurm that waits and begins again by itself; *options* go to `srun`."""
    memory = (f"--mem={size.memory_mb}M",) if size.memory_mb else ()
    argv = (
        "srun",
        "--ntasks=1",
        f"--cpus-per-task={size.slots}",
        *memory,
        *options,
        program,
        *joining_words(size),
    )
    return [NodeCommand(name=f"Slurm's node {one}", argv=argv) for one in range(1, number + 1)]


def joining_words(size: NodeSize, address: str = "-") -> tuple[str, ...]:
    """Return what groundup is called with to be a node."""
    memory = ("--memory-mb", str(size.memory_mb)) if size.memory_mb else ()
    return ("fleet", "join", address, "--slots", str(size.slots), *memory)


@dataclass(frozen=True)
class SchedulerPlace:
    """Where a scheduler listens, and how."""

    host: str
    port: int
    keys: bool
    """Whether it makes keys, and lets only their holders in."""
    lost_after_s: int = 60
    """A node that says nothing for so long is taken for lost."""


async def serve_fleet(
    place: SchedulerPlace, address_file: Path | None, launches: Sequence[Launch], report: Report
) -> None:
    """Run a scheduler at *place* and *launches* until this is cancelled; what ends begins again.

    The address and the keys are written to *address_file*, which only its owner can read. Raises `UsageError`
    where somebody else's file lies there.
    """
    if address_file is not None:
        refuse_others(address_file)
    async with _scheduler(place) as address:
        if address_file is not None:
            _write_private(address_file, address.model_dump_json(indent=1).encode() + b"\n")
            report(f"the fleet's address is in {address_file}")
        else:
            report(f"the fleet's address is {address.scheduler}")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.Event().wait())
                for launch in launches:
                    group.create_task(launch.keep(address, report))
        except ExceptionGroup as errors:  # people want to read the first of them
            raise errors.exceptions[0] from None
        finally:
            if address_file is not None:
                _take_away(address_file)


def _write_private(path: Path, content: bytes) -> None:
    """Write a file that holds keys; it is never readable by others, not for a moment."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with disk_errors(path.parent):
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        note_made(path, digest_bytes(content))
        partial.replace(path)


def _take_away(address_file: Path) -> None:
    if is_made(address_file):  # another fleet may have written its own meanwhile
        address_file.unlink(missing_ok=True)


@asynccontextmanager
async def _scheduler(place: SchedulerPlace) -> AsyncIterator[FleetAddress]:
    dask = distributed()
    _configure()
    made = with_new_keys("") if place.keys else FleetAddress(scheduler="")
    try:
        scheduler = await dask.Scheduler(
            host=place.host,
            port=place.port,
            protocol="tls" if place.keys else "tcp",
            security=security(made),
            worker_ttl=place.lost_after_s,
            **_NO_PAGES,
        )
    except (OSError, RuntimeError) as error:
        raise UsageError(f"no scheduler can listen on {place.host}:{place.port}: {error}") from error
    try:
        yield made.model_copy(update={"scheduler": scheduler.address})
    finally:
        await scheduler.close()


def _configure() -> None:
    import dask

    # Pages about tasks and workers would be open to everybody who reaches their ports.
    pages: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
    dask.config.set(pages)
    logging.getLogger("distributed").setLevel(logging.WARNING)


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
            await asyncio.to_thread(node.close)


def _only_here(scheduler: str) -> dict[str, str]:
    """Return where a node listens for others: on loopback when the scheduler can be reached only there."""
    host = urlsplit(scheduler).hostname or ""
    return {"host": host} if is_loopback(host) else {}


async def identities(address: FleetAddress, sandbox: str) -> list[node.NodeIdentity]:
    """Return what each node of the fleet is. Raises `MachineError` when no scheduler answers."""
    from groundup.fleet.driver import connected

    async with connected(address, lambda message: None) as fleet:
        asked = [fleet.ask(place, node.identify, sandbox) for place in fleet.size.slots]
        answers = await asyncio.gather(*asked)
    return [
        node.NodeIdentity.model_validate_json(answer)
        if isinstance(answer, str)
        else node.NodeIdentity(name=known.name, problem=_unanswered(answer))
        for known, answer in zip(fleet.size.nodes, answers, strict=True)
    ]


def _unanswered(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return f"it cannot run groundup: {type(error).__name__}: {error}"
