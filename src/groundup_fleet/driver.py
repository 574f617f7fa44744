"""A run's side of a fleet: it gives orders to Dask's scheduler and turns nodes' answers into verdicts.

Dask decides which node gets what, brings nodes where it adapts a cluster to its queue, and does again what a lost
node had. The driver alone makes submissions, holds secrets and writes the run's folder. What Dask gives up is a
failure of the infrastructure: the attempt is pending again.
"""

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from groundup.domain.errors import DiskFullError, InfrastructureError, MachineError
from groundup.store.records import FleetFile, NodeStanding
from groundup_fleet import node
from groundup_fleet.clusters import FleetAddress, reach, security, unreached
from groundup_fleet.extra import distributed
from groundup_fleet.orders import NodeAnswer, Order

LOOK_S = 2.0
"""Between looks at the nodes, for people and for what Dask would keep waiting for ever."""
_SILENT_S = 30.0
"""A scheduler that does not answer for so long is taken for gone; attempts are then pending."""
_AHEAD = 16
"""Orders beyond what the nodes can do now: by them Dask sees that more nodes are needed, and of how many."""
_AFTER_FULL = 2
"""To how many further nodes an order goes whose node had no room left on its disk."""
_ASKED = 3
"""How many nodes another one may ask for a layer."""


A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")
Work = Callable[[A], Coroutine[Any, Any, R]]


class DaskFleet:
    """A connection to a scheduler whose workers are nodes."""

    data: str | None = None
    """Digest of the suite's data that nodes got from here."""

    def __init__(self, client: Any, address: str, warn: Callable[[str], None]) -> None:
        self._client = client
        self._address = address
        self._warn = warn
        self._workers: dict[str, Mapping[str, Any]] = {}
        """By address, what Dask says of each node."""
        self._looked = False
        """Whether there was a look: the nodes of the beginning are not announced."""
        self._refusing: set[str] = set()
        self._fetched = 0
        """How many layers nodes took from one another."""
        self._known: dict[str, dict[str, str]] = {}
        """By task: its layers, and the digest of what the node that first used each found in it."""
        self._holders: dict[str, Counter[str]] = {}
        """By task: the nodes that have its layers, and how much each has of it to do now."""
        self._sent = 0
        """How many orders are not answered."""
        self._changed = asyncio.Event()

    @property
    def slots(self) -> dict[str, int]:
        """How many attempts each node takes at once, by address, without those that refused the run or rest."""
        usable = {address: one for address, one in self._workers.items() if address not in self._refusing}
        return {address: int(one["nthreads"]) for address, one in usable.items() if _memory_mb(one)}

    def standing(self) -> FleetFile:
        """Return the nodes and what waits for them."""
        return FleetFile(
            at=datetime.now(UTC),
            waiting=max(0, self._sent - sum(self.slots.values())),
            layers=self._fetched,
            nodes=tuple(_standing(one) for address, one in self._workers.items() if address not in self._refusing),
        )

    async def register(self, plugin: Any) -> None:
        """Give *plugin* to all nodes, also to those that join later."""
        try:
            await self._client.register_plugin(plugin)
        except Exception as error:  # noqa: BLE001  # whatever a worker of another kind raises
            self._warn(f"a worker there cannot be a node: {error}; `groundup fleet doctor` names it")

    async def identities(self, sandbox: str) -> list[node.NodeIdentity]:
        """Return what each node says that it is; one that does not say it has a problem."""
        return list(await asyncio.gather(*(self._identity(address, sandbox) for address in self._workers)))

    async def _identity(self, address: str, sandbox: str) -> node.NodeIdentity:
        answer: Any = TimeoutError()
        with suppress(TimeoutError):
            async with asyncio.timeout(_SILENT_S):
                answers = await self._client.run(node.identify, sandbox, workers=[address], on_error="return")
                answer = answers[address]
        name = _name(self._workers[address])
        if isinstance(answer, node.NodeIdentity):
            return answer.but(name=name)
        problem = f"it cannot run groundup: {type(answer).__name__}: {answer}"
        silent = isinstance(answer, TimeoutError)
        return node.NodeIdentity(name=name, problem="it does not answer" if silent else problem)

    async def watch(self) -> None:
        """Look at the nodes now and then, for ever. A scheduler that is silent for long is given up."""
        heard = time.monotonic()
        while time.monotonic() - heard < _SILENT_S:
            await asyncio.sleep(LOOK_S)
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_SILENT_S):
                    await self.look()
                heard = time.monotonic()
        await self._client.close()  # which cancels everything that was asked

    async def look(self) -> None:
        """Ask the scheduler once which nodes there are; those that came, went or rest are named."""
        before = self._workers
        self._workers = dict((await self._client.scheduler.identity(n_workers=-1))["workers"])
        for address, one in self._workers.items():
            if address not in before and self._looked:
                self._warn(f"the node {_name(one)} is there, with {one['nthreads']} slots")
            if _rests(one) and not (address in before and _rests(before[address])):
                self._warn(f"the node {_name(one)} rests, for its disk is full; free some there")
        for address in before.keys() - self._workers.keys():
            self._warn(f"the node {_name(before[address])} left; what it had is done elsewhere")
        if before and not self._workers:
            self._warn("no node is left; the run waits for one")
        self._looked = True
        self._changed.set()

    @asynccontextmanager
    async def admitted(self, reservation_mb: int) -> AsyncIterator[None]:
        """Wait until the scheduler has few enough orders, then hold a place; Dask counts the memory itself."""
        while self._sent >= 2 * sum(self.slots.values()) + _AHEAD:
            self._changed.clear()
            await self._changed.wait()
        self._sent += 1
        try:
            yield
        finally:
            self._sent -= 1
            self._changed.set()

    async def answer(self, order: Order, archive: bytes, reservation_mb: int) -> NodeAnswer:
        """Return the answer of a node that works on the run. Raises what failed there, or of the fleet."""
        task = f"{order.spec.suite}/{order.spec.task}"
        known, holders = self._known.setdefault(task, {}), self._holders.setdefault(task, Counter())
        while True:
            near = [address for address, sent in holders.items() if sent < self.slots.get(address, 0)]
            there = [address for address in holders if address in self.slots]
            asked = random.sample(there, min(len(there), _ASKED))  # so that no node has to serve all others
            order = order.but(layers=dict(known), holders=tuple(asked), data=self.data)
            holders.update(near)
            try:
                reply = await self._done(node.grade, (order, archive), self._demands(reservation_mb, near))
            finally:
                holders.subtract(near)
            if reply is None:
                continue
            if reply.failure is not None:
                raise reply.failure
            if reply.refused is None:
                # What the first node found in a layer stands: all later copies are checked against it.
                known |= {**reply.layers, **known}
                # Only a node whose layers are those of the first may hand them on.
                if reply.layers and reply.layers.items() <= known.items():
                    holders.setdefault(reply.address, 0)
                self._fetched += reply.fetched
                return reply
            self._refused_by(reply, reply.refused)

    async def carried(self, work: Work[A, R], argument: A, reservation_mb: int) -> R:
        """Return what *work* makes of *argument* on a node; a lost node's is done again by another one.

        Both are pickled. Raises `InfrastructureError` for what the nodes or the fleet do not manage.
        """
        async with self.admitted(reservation_mb):
            while True:
                done = await self._done(node.carry, (work, argument), self._demands(reservation_mb, []))
                if done is not None:
                    return cast(R, done)

    async def _done(
        self, function: Callable[..., T], arguments: tuple[object, ...], demands: Mapping[str, Any]
    ) -> T | None:
        """Return what *function* returns on a node; None where the nodes that might do it are gone."""
        try:
            future = self._client.submit(function, *arguments, pure=False, retries=_AFTER_FULL, **demands)
            answered = asyncio.ensure_future(future.result())
            # Dask's answer may be an error just when nobody waits for it any more.
            answered.add_done_callback(lambda done: done.cancelled() or done.exception())
            try:
                while not answered.done() and self._is_possible(demands):
                    await asyncio.wait({answered}, timeout=LOOK_S)
                return cast(T, answered.result()) if answered.done() else None
            finally:
                answered.cancel()
                future.release()
        except distributed.KilledWorker as error:
            raise InfrastructureError("the nodes that were given it died, one after another") from error
        except DiskFullError as error:  # of nodes: the driver goes on
            raise InfrastructureError(str(error)) from error
        except (OSError, TimeoutError, RuntimeError) as error:  # such as a client that was closed
            raise InfrastructureError(f"the fleet at {self._address} cannot be reached: {error}") from error
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) and task.cancelling():  # the run stops
                raise
            raise InfrastructureError(f"the fleet at {self._address} cannot be reached any more") from error

    def _demands(self, reservation_mb: int, near: list[str]) -> dict[str, Any]:
        """Return what Dask shall look for: memory, and nodes that have the layers or did not refuse the run."""
        largest = max(map(_memory_mb, self._workers.values()), default=0)
        demands: dict[str, Any] = {
            "resources": {node.MEMORY: max(1, min(reservation_mb, largest or reservation_mb))}
        }
        if self._refusing and (others := self._workers.keys() - self._refusing):
            demands["workers"] = sorted(others)
        elif near:
            demands |= {"workers": near, "allow_other_workers": True}
        return demands

    def _is_possible(self, demands: Mapping[str, Any]) -> bool:
        """Whether nodes that may do it are there or may come; else Dask would keep it for ever."""
        if "workers" in demands and "allow_other_workers" not in demands:
            return not self._workers.keys().isdisjoint(demands["workers"])
        largest = max(map(_memory_mb, self._workers.values()), default=0)
        return not largest or largest >= demands["resources"][node.MEMORY]

    def _refused_by(self, reply: NodeAnswer, why: str) -> None:
        if reply.address not in self._refusing:
            self._refusing.add(reply.address)
            self._warn(f"the node {reply.node} cannot work on this run: {why}")
        if self._workers.keys() <= self._refusing:
            raise MachineError(f"no node can work on this run; the last one was {reply.node}: {why}")


def _name(worker: Mapping[str, Any]) -> str:
    return str(worker["name"])


def _memory_mb(worker: Mapping[str, Any]) -> int:
    """Return what a worker offers; 0 of one that rests."""
    return int(worker["resources"].get(node.MEMORY, 0))


def _rests(worker: Mapping[str, Any]) -> bool:
    return node.MEMORY in worker["resources"] and not _memory_mb(worker)


def _standing(worker: Mapping[str, Any]) -> NodeStanding:
    known = NodeStanding(name=_name(worker), slots=int(worker["nthreads"]), rests=_rests(worker))
    # A worker may say anything, and says nothing before its first heartbeat.
    with suppress(KeyError, TypeError, ValidationError):
        return NodeStanding(**known.model_dump(exclude_defaults=True), **worker["metrics"][node.METRIC])
    return known


F = TypeVar("F", bound=DaskFleet)


@asynccontextmanager
async def connected(address: FleetAddress, warn: Callable[[str], None], kind: type[F]) -> AsyncIterator[F]:
    """Yield the fleet at *address* as a *kind*. Raises what `reach` does."""
    await reach(address)
    logging.getLogger("distributed").setLevel(logging.ERROR)  # what Dask does again is no warning
    try:
        client: Any = await distributed.Client(
            address.scheduler, asynchronous=True, security=security(address), set_as_default=False, timeout="15s"
        )
    except (OSError, TimeoutError, ValueError) as error:
        raise unreached(address, error) from error
    async with client:
        fleet = kind(client, address.scheduler, warn)
        await fleet.register(node.NodePlugin())
        await fleet.look()
        if not fleet.slots:
            warn(f"the fleet at {address.scheduler} has no node yet; the run waits for one")
        watching = asyncio.create_task(fleet.watch())
        try:
            yield fleet
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
