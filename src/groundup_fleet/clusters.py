"""Starting a fleet: a scheduler, by Dask's cluster managers the nodes that it needs, and joining it by hand.

Dask starts nodes, ends idle ones and replaces lost ones: `SpecCluster` here, dask-jobqueue with Slurm. What is
ours: keys, nodes over SSH (Dask's `SSHCluster` would show the keys on command lines), and a file with the address.

Where a fleet's scheduler is, and the keys that let a driver and nodes in.
"""

import asyncio
import importlib
import logging
import multiprocessing
import os
import secrets
import shlex
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from groundup.configuration import environment
from groundup.domain.digests import digest_bytes
from groundup.domain.errors import MachineError, MissingExtraError, UsageError
from groundup.domain.names import is_loopback
from groundup.domain.records import Record, plainly
from groundup.store.ownership import is_made, note_made, refuse_others
from groundup.trees.scratch import scratch_folder
from groundup.trees.walking import read_regular
from groundup.trees.writer import disk_errors
from groundup_fleet.extra import SchedulerPlugin, dask, distributed

_FILE_BYTES = 1024 * 1024
_LONGEST_TMPDIR = 75
"""Nodes are forked by a server whose socket, `pymp-xxxxxxxx/listener-xxxxxxxx` in there, may have 107 bytes."""
_PATIENCE_S = 15.0
_CLOCKS_APART = timedelta(days=2)
_KEPT = timedelta(days=365)
"""A fleet's keys are good for so long."""


class FleetAddress(Record):
    """A scheduler's address; with keys, all of its connections are encrypted and only their holders get in."""

    scheduler: str = Field(description="`tls://HOST:PORT` or `tcp://HOST:PORT`")
    certificate: str | None = Field(default=None, description="PEM; everybody has it, and it has signed itself")
    key: str | None = Field(default=None, description="PEM")

    @property
    def is_open(self) -> bool:
        """Whether anyone who reaches the port may work on it."""
        return self.key is None


def read_address(text: str) -> FleetAddress:
    """Return the address that *text* is, or that the file of this name holds. Raises `UsageError`."""
    if "\n" in text or "{" in text:  # never shown, for it may hold the fleet's key
        raise UsageError("that is what an address file holds; give the name of the file")
    if "://" in text:
        return FleetAddress(scheduler=text)
    path = Path(text)
    try:
        return parsed(read_regular(path, _FILE_BYTES), f"the address file {text}")
    except OSError as error:
        raise UsageError(
            f"{text} is neither an address such as tcp://host:8786 nor a file that `groundup fleet up "
            f"--address-file` wrote: {error.strerror or error}"
        ) from error


def parsed(content: str | bytes, where: str) -> FleetAddress:
    """Return the address that *content* of *where* holds as JSON. Raises `UsageError`."""
    try:
        return FleetAddress.model_validate_json(content)
    except ValidationError as error:
        raise UsageError(f"{where} holds no fleet's address: {plainly(error.errors()[0])}") from error


def security(address: FleetAddress) -> Any:
    """Return how Dask connects to *address*: None for an open one. Raises `UsageError` for keys that are wrong."""
    if address.key is None:
        if address.scheduler.startswith("tls:"):
            raise UsageError(
                f"{address.scheduler} takes keys; give the file that `groundup fleet up` wrote instead"
            )
        return None
    try:
        pairs = {
            f"tls_{role}_{kind}": pem
            for role in ("client", "scheduler", "worker")
            for kind, pem in (("cert", address.certificate), ("key", address.key))
        }
        made = distributed.Security(require_encryption=True, tls_ca_file=address.certificate, **pairs)
        made.get_connection_args("client")
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(f"the keys of the fleet at {address.scheduler} cannot be used: {error}") from error
    return made


async def reach(address: FleetAddress) -> None:
    """Connect to *address* once: Dask tries wrong keys over and over. Raises `UsageError`, or `MachineError`."""
    place, keys = urlsplit(address.scheduler), security(address)
    context = keys and keys.get_connection_args("client")["ssl_context"]
    try:
        async with asyncio.timeout(_PATIENCE_S):
            _, writer = await asyncio.open_connection(place.hostname, place.port, ssl=context)
        writer.close()
    except ssl.SSLError as error:
        raise UsageError(
            f"the scheduler at {address.scheduler} does not take these keys; give the file that its own "
            "`groundup fleet up` wrote"
        ) from error
    except (OSError, ValueError) as error:
        raise unreached(address, error) from error


def unreached(address: FleetAddress, error: Exception) -> MachineError:
    """Return what to raise where no scheduler answers."""
    return MachineError(
        f"no Dask scheduler answers at {address.scheduler}: {error}; start one with `groundup fleet up`"
    )


def with_new_keys(scheduler: str) -> FleetAddress:
    """Return *scheduler* with keys that are made now and stand in no file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "groundup fleet")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_APART)  # Dask's own are refused by a node whose clock is a second behind
        .not_valid_after(now + _KEPT + _CLOCKS_APART)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    return FleetAddress(
        scheduler=scheduler,
        certificate=signed.public_bytes(pem).decode(),
        key=key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain).decode(),
    )


SETTINGS: dict[str, Any] = {
    # Pages about tasks and workers would be open to everybody who reaches their ports.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Sandboxes have limits of their own, and Dask does not see them.
    **{f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause", "terminate")},
    # An answer that lies on a node that died is given up so soon, and made again.
    "distributed.comm.timeouts.connect": "10 s",
    "distributed.worker.multiprocessing-method": "forkserver",
}
"""Of Dask, for schedulers and nodes. `DASK_...` variables and Dask's own files set the rest."""
_NO_PAGES: dict[str, Any] = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Dask listens for browsers whatever is asked; here on loopback, with nothing to see."""
_NO_PAGES_WORDS = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")
_IDLE_S = 30
"""A node that has nothing to do for so long is ended, where the fleet may shrink."""
_AGAIN_S = 5.0
_ENDING_S = 30.0
Report = Callable[[str], None]


@dataclass(frozen=True)
class NodeSize:
    """What one node offers."""

    slots: int
    memory_mb: int


@dataclass(frozen=True)
class SchedulerPlace:
    """Where a scheduler listens, and how."""

    host: str
    port: int
    keys: bool
    """Whether it makes keys, and lets only their holders in."""
    lost_after_s: int = 60
    """A node that says nothing for so long is taken for lost."""


@dataclass(frozen=True)
class NodesWanted:
    """Which nodes Dask shall run: between *minimum* and *maximum*, as there is work."""

    minimum: int
    maximum: int
    size: NodeSize
    slurm: tuple[str, ...] | None = None
    """Further words for `sbatch`, of nodes that are jobs of Slurm; None: they are processes here."""


class _Told(SchedulerPlugin):
    """Says which nodes come and go."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """Say that a node is there."""
        one = scheduler.workers[worker]
        self._report(f"node {one.name} is there: process {one.pid} on {one.host}, {one.nthreads} slots")

    def remove_worker(self, scheduler: Any, worker: str, **more: Any) -> None:
        self._report(f"the node at {worker} left")


def _cluster(
    stack: AsyncExitStack, place: SchedulerPlace, keys: FleetAddress, wanted: NodesWanted, shared: Path
) -> Any:
    """Return a cluster of Dask's with a scheduler here and no node yet; *shared* is for Slurm's machines, too."""
    size, protocol = wanted.size, "tls://" if place.keys else "tcp://"
    listening = {"host": place.host, "port": place.port, **_NO_PAGES}
    if wanted.slurm is None:
        if len(os.fsencode(gettempdir())) > _LONGEST_TMPDIR:
            raise UsageError(
                f"TMPDIR ({gettempdir()}) is too long for sockets; name a shorter folder, TMPDIR=/tmp"
            )
        try:
            multiprocessing.Lock()
        except OSError as error:
            raise MachineError(f"nodes need semaphores, which live in /dev/shm: {error}") from error
        folder = stack.enter_context(scratch_folder("nodes"))
        return distributed.SpecCluster(
            scheduler={
                "cls": distributed.Scheduler,
                "options": {**listening, "protocol": protocol, "security": security(keys)},
            },
            # What it imports is nearly all that the start of a node costs, so nodes are forked from what has it.
            worker={
                "cls": distributed.Nanny,
                "options": {**_node_options(keys, place.host, size, folder), "preload": [__name__]},
            },
            security=security(keys),
            asynchronous=True,
        )
    try:
        slurm_cluster = importlib.import_module("dask_jobqueue").SLURMCluster
    except ModuleNotFoundError as error:
        raise MissingExtraError("jobs of Slurm need `pip install 'groundup[slurm]'`") from error
    shared.mkdir(mode=0o700, exist_ok=True)
    return slurm_cluster(
        n_workers=0,
        cores=size.slots,
        processes=1,
        memory=f"{size.memory_mb}MiB",
        job_extra_directives=list(wanted.slurm),
        # A job gets its settings here, for it sees none of this process.
        job_script_prologue=[f"export {name}={shlex.quote(str(value))}" for name, value in _variables().items()],
        worker_extra_args=[*(("--host", place.host) if is_loopback(place.host) else ()), *_NO_PAGES_WORDS],
        log_directory=str(shared),
        # Files with keys, which only their owner can read; Dask would leave them there.
        shared_temp_directory=stack.enter_context(TemporaryDirectory(prefix=".keys-", dir=shared)),
        scheduler_options=listening,
        protocol=protocol,
        security=security(keys),
        asynchronous=True,
    )


def dask_setup(worker: Any) -> None:
    """Leave ^C to the process that started this node; Dask calls it where this module is preloaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _node_options(keys: FleetAddress, host: str, size: NodeSize, folder: Path) -> dict[str, Any]:
    """Return what Dask's workers and nannies are made with, beside scheduler and name."""
    return {
        "nthreads": size.slots,
        "memory_limit": size.memory_mb * 2**20,
        "security": security(keys),
        "local_directory": str(folder),
        "death_timeout": 30,
        # Where others reach it: on loopback when the scheduler can be reached only there.
        "host": host if is_loopback(host) else None,
        **_NO_PAGES,
    }


def _variables() -> dict[str, Any]:
    """Return `SETTINGS` as Dask reads them from variables."""
    names = {name: f"DASK_{name.upper().replace('.', '__').replace('-', '_')}" for name in SETTINGS}
    return {names[name]: value for name, value in SETTINGS.items()}


def configure(lost_after_s: int = 60) -> None:
    """Set Dask up as fleets have it."""
    dask.config.set({**SETTINGS, "distributed.scheduler.worker-ttl": f"{lost_after_s} s"})
    # Processes of nodes here say what fails, and no more.
    dask.config.set({"distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "error"})
    # Dask sets modules of its own the first time that it asks.
    distributed.utils.get_mp_context().set_forkserver_preload(["groundup.cli.main", __name__])
    # Where nodes come and go, Dask asks once a second; what people set wins.
    dask.config.update_defaults({"distributed": {"adaptive": {"wait-count": _IDLE_S}}})
    logging.getLogger("distributed").setLevel(logging.ERROR)


async def serve_fleet(
    place: SchedulerPlace,
    address_file: Path | None,
    wanted: NodesWanted,
    over_ssh: Sequence["NodeCommand"],
    report: Report,
) -> None:
    """Run a scheduler at *place* and nodes until this is cancelled; what ends begins again.

    The address and the keys are written to *address_file*, which only its owner can read. Raises `UsageError`
    where somebody else's file lies there.
    """
    if address_file is not None:
        refuse_others(address_file)
    configure(place.lost_after_s)
    keys = with_new_keys("") if place.keys else FleetAddress(scheduler="")
    shared = Path(f"{address_file}.nodes").absolute() if address_file else Path.cwd()
    async with AsyncExitStack() as stack:
        try:
            cluster = await stack.enter_async_context(_cluster(stack, place, keys, wanted, shared))
        except (OSError, RuntimeError) as error:
            raise UsageError(f"no scheduler can listen on {place.host}:{place.port}: {error}") from error
        cluster.scheduler.add_plugin(_Told(report))
        address = keys.but(scheduler=cluster.scheduler_address)
        stack.enter_context(_written(address, address_file, report))
        if wanted.maximum:
            cluster.adapt(minimum=wanted.minimum, maximum=wanted.maximum)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.Event().wait())
                for one in over_ssh:
                    group.create_task(one.keep(address, report))
        except ExceptionGroup as errors:  # people want to read the first of them
            raise errors.exceptions[0] from None


@contextmanager
def _written(address: FleetAddress, path: Path | None, report: Report) -> Iterator[None]:
    """Have *address* in the file *path* meanwhile, which its owner alone can read."""
    if path is None:
        report(f"the fleet's address is {address.scheduler}")
        yield
        return
    content = address.model_dump_json(indent=1).encode() + b"\n"
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with disk_errors(path.parent):
        # Never readable by others, not for a moment.
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        note_made(path, digest_bytes(content))
        partial.replace(path)
    report(f"the fleet's address is in {path}")
    try:
        yield
    finally:
        if is_made(path):  # another fleet may have written its own meanwhile
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class NodeCommand:
    """A program that runs a node elsewhere until it is ended; it reads the fleet's address on standard input."""

    name: str
    argv: tuple[str, ...]

    async def keep(self, address: FleetAddress, report: Report) -> None:
        """Run it, for ever. Raises `MachineError` when it cannot be started."""
        while True:
            code = await self._lived(address)
            report(f"{self.name} ended with exit code {code}; it begins again in {_AGAIN_S:.0f} s")
            await asyncio.sleep(_AGAIN_S)

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


def ssh_nodes(hosts: Sequence[str], slots: int, memory_mb: int | None, program: str) -> list[NodeCommand]:
    """Return a node on each of *hosts*, by the user's `ssh`; *program* is groundup there."""
    words = ["fleet", "join", "-", "--slots", str(slots)]
    words += ["--memory-mb", str(memory_mb)] if memory_mb else []
    joining = f"{shlex.quote(program)} {shlex.join(words)}"
    return [NodeCommand(name=host, argv=("ssh", "-o", "BatchMode=yes", "--", host, joining)) for host in hosts]


async def join(address: FleetAddress, size: NodeSize, report: Report) -> None:
    """Be a node of the fleet at *address* until SIGTERM, this is cancelled or the scheduler ends.

    Raises what `reach` does.
    """
    configure()
    await reach(address)
    if task := asyncio.current_task():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    name = f"{socket.gethostname()}:{os.getpid()}"
    host = urlsplit(address.scheduler).hostname or ""
    with scratch_folder("node") as folder:
        worker: Any = distributed.Worker(
            address.scheduler, name=name, **_node_options(address, host, size, folder)
        )
        try:
            await worker
        except (OSError, TimeoutError, ValueError) as error:
            raise unreached(address, error) from error
        report(f"{name} joined {address.scheduler} with {size.slots} slots")
        try:
            await worker.finished()
        finally:
            await worker.close(nanny=False)
