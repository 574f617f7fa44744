"""A run's side of a fleet: it sends submissions to nodes and turns their answers into verdicts.

The driver alone makes submissions, holds secrets and writes the run's folder. A node that is lost is a failure of
the infrastructure: the attempt is owed again, and a retry goes to another node.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from groundup.agents.base import Agent
from groundup.domain.errors import InfrastructureError, MachineError
from groundup.domain.subjects import Submission
from groundup.domain.version import __version__
from groundup.episodes.attempt import Grading, Phase, Room
from groundup.episodes.records import EpisodeSink, EpisodeSpec
from groundup.fleet import node
from groundup.fleet.addresses import FleetAddress, distributed, read_address, security
from groundup.fleet.agents import Desk, desk_at, identity_of
from groundup.fleet.orders import NodeAnswer, Order, Play, graded_by, made_by, pack_tree, read_answer, unpack_tree
from groundup.grading.deciding import code_digest
from groundup.models.cache import for_attempt
from groundup.models.protocol import ChatModel
from groundup.store.records import FleetFile, NodeStanding
from groundup.store.verdict_cache import VerdictCache
from groundup.suites.base import Graded
from groundup.trees.digest import tree_digest
from groundup.trees.writer import in_thread

SLOT = "groundup-slot"
"""The resource that each attempt takes one of, where workers offer it."""
MEMORY = "groundup-mb"
"""The memory in MiB that an attempt's grader reserves, where workers offer it."""
_WAITING_S = 0.25
"""Between looks for a node while there is none; at least so long between any two."""
_SILENT_S = 30.0
"""A scheduler that does not answer for so long is taken for gone; attempts are then owed."""
_DIRECT_BYTES = 32 * 1024
"""Submissions above this go to a node directly; smaller ones with the order, through the scheduler."""
_RESTING_S = 60.0
"""A node whose disk is full gets nothing for so long: failing at once, it would draw all attempts to itself."""
_ASKED = 3
"""How many nodes another one may ask for a layer."""
_GRADING_PINS = ("suite", "grader version", "architecture")


@dataclass
class FleetSize:
    """The nodes that are there, with the attempts that each takes at once and its memory in MiB (0: not known)."""

    slots: Mapping[str, int] = field(default_factory=dict)
    memory_mb: Mapping[str, int] = field(default_factory=dict)
    nodes: tuple[NodeStanding, ...] = ()
    bounded: bool = False
    """Whether the workers offer groundup's resources."""

    @property
    def room(self) -> int:
        """How many attempts are sent at once: a slot's worth, and one that waits at each node."""
        return sum(self.slots.values()) + len(self.slots)


class Fleet:
    """A connection to a scheduler whose workers are nodes."""

    look_s = 2.0
    """Between looks at the nodes, unless one says that it has come."""
    desk: Desk | None = None
    """Where agents on nodes reach the run's model; None where agents are on the driver's machine."""

    def __init__(self, client: Any, address: str, warn: Callable[[str], None]) -> None:
        self._client = client
        self._address = address
        self._warn = warn
        self._size = FleetSize()
        self._refusing: dict[str, str] = {}
        self._resting: dict[str, float] = {}
        """Nodes whose disk is full, and until when they are left alone."""
        self.fetched = 0
        """How many layers nodes took from one another."""
        self._seen = False
        """Whether there was a node at any time: those of the beginning are not announced."""
        self._known: dict[str, dict[str, str]] = {}
        """By task: its layers, and the digest of what the node that first used each found in it."""
        self._holders: dict[str, Counter[str]] = {}
        """By task: the nodes that have its layers, and how much each has of it to do now."""
        self.sent = 0
        """How many attempts nodes have to do now."""
        self._changed = asyncio.Event()
        self._lost = asyncio.Event()
        self._joined = asyncio.Event()

    @property
    def size(self) -> FleetSize:
        """The nodes as they were a moment ago, without those that refused."""
        return self._size

    def standing(self) -> FleetFile:
        """Return the nodes and what waits for them."""
        return FleetFile(
            at=datetime.now(UTC),
            waiting=max(0, self.sent - sum(self._size.slots.values())),
            layers=self.fetched,
            nodes=self._size.nodes,
        )

    async def ask(self, address: str, function: Callable[..., str], *arguments: str) -> str | BaseException:
        """Return what *function* returns or raises on a node; a `TimeoutError` where it is silent."""
        try:
            async with asyncio.timeout(_SILENT_S):
                answers = await self._client.run(function, *arguments, workers=[address], on_error="return")
        except TimeoutError as error:
            return error
        found: str | BaseException = answers[address]
        return found

    async def watch(self) -> None:
        """Keep the size up to date, for ever; nodes that come and go are named."""
        heard = time.monotonic()
        while True:
            try:
                async with asyncio.timeout(_SILENT_S):
                    await self.refresh()
                heard = time.monotonic()
            except (InfrastructureError, TimeoutError):
                if time.monotonic() - heard > _SILENT_S:
                    self._lost.set()
                    self._changed.set()
            await asyncio.sleep(_WAITING_S)
            if self._size.slots:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._joined.wait(), self.look_s)
            self._joined.clear()

    def joined(self, event: object) -> None:
        """Hear from a node that it has come: its slots are not to wait for the next look."""
        self._joined.set()

    async def refresh(self) -> None:
        """Ask the scheduler once which nodes there are."""
        try:
            found = await self._client.scheduler.identity(n_workers=-1)
        except OSError as error:
            raise InfrastructureError(f"the fleet at {self._address} cannot be reached: {error}") from error
        workers = found["workers"]
        usable = {address: one for address, one in workers.items() if self._is_usable(address)}
        before, now = set(self._size.slots), set(usable)
        for address in sorted(now - before - self._resting.keys()) if self._seen else ():
            self._warn(f"the node {workers[address]['name']} joined, with {_slots(workers[address])} slots")
        for address in sorted(before - workers.keys()):
            self._warn(f"the node {address} was lost; what it did is done again")
        self._seen = self._seen or bool(now)
        if before and not now:
            self._warn("no node is left; the run waits for one")
        self._size = FleetSize(
            slots={address: _slots(one) for address, one in usable.items()},
            memory_mb={address: int(one["resources"].get(MEMORY, 0)) for address, one in usable.items()},
            nodes=tuple(_standing(one) for one in usable.values()),
            bounded=any(SLOT in one["resources"] for one in usable.values()),
        )
        self._changed.set()

    def _is_usable(self, address: str) -> bool:
        return address not in self._refusing and self._resting.get(address, 0.0) <= time.monotonic()

    @asynccontextmanager
    async def admitted(self, reservation_mb: int) -> AsyncIterator[None]:
        """Wait until a node may have room for one more attempt, then hold that. Dask counts the memory itself."""
        while self.sent >= self._size.room and not self._lost.is_set():
            self._changed.clear()
            await self._changed.wait()
        self.sent += 1
        try:
            yield
        finally:
            self.sent -= 1
            self._changed.set()

    async def answer(self, order: Order, archive: bytes, reservation_mb: int) -> tuple[Graded, bool]:
        """Return what a node makes of *order*, and whether it knew the verdict.

        Raises what failed there, and `InfrastructureError` for a node that was lost.
        """
        reply, logs = await self.replied(order, archive, reservation_mb)
        return graded_by(reply, logs), reply.cached

    async def replied(
        self, order: Order, archive: bytes, reservation_mb: int
    ) -> tuple[NodeAnswer, dict[str, bytes]]:
        """Return the answer of a node that works on the run, with its logs. Raises `InfrastructureError`."""
        task = f"{order.spec.suite}/{order.spec.task}"
        known, holders = self._known.setdefault(task, {}), self._holders.setdefault(task, Counter())
        while True:
            near = [address for address, sent in holders.items() if sent < self._size.slots.get(address, 0)]
            there = [address for address in holders if address in self._size.slots]
            asked = random.sample(there, min(len(there), _ASKED))  # so that no node has to serve all others
            order = order.model_copy(update={"layers": dict(known), "holders": tuple(asked)})
            holders.update(near)
            try:
                packed = await self._sent(order.model_dump_json().encode(), archive, reservation_mb, near)
            finally:
                holders.subtract(near)
            reply, logs = read_answer(packed)
            if reply.full and await self._rests(reply):
                continue
            if reply.refused is None:
                # What the first node found in a layer stands: all later copies are checked against it.
                known |= {**reply.layers, **known}
                # Only a node whose layers are those of the first may hand them on.
                if reply.layers and reply.layers.items() <= known.items():
                    holders.setdefault(reply.address, 0)
                self.fetched += reply.fetched
                return reply, logs
            await self._refused_by(reply.node, reply.address, reply.refused)

    async def _sent(self, order: bytes, archive: bytes, reservation_mb: int, near: list[str]) -> bytes:
        dask = distributed()
        try:
            packed: Any = archive
            if len(archive) > _DIRECT_BYTES:
                packed = await self._client.scatter(archive, direct=True, hash=False)
            limits = self._limits(reservation_mb, near)
            future = self._client.submit(node.grade, order, packed, **limits)
        except (OSError, TimeoutError) as error:
            raise InfrastructureError(f"the fleet at {self._address} cannot be reached: {error}") from error
        # Both are watched, because the answer of a scheduler that is gone never comes.
        lost, answered = asyncio.ensure_future(self._lost.wait()), asyncio.ensure_future(future.result())
        try:
            while not answered.done():
                await asyncio.wait({lost, answered}, timeout=self.look_s, return_when=asyncio.FIRST_COMPLETED)
                if not answered.done():  # Dask would wait for ever
                    self._check_possible(limits)
            return bytes(answered.result())
        except dask.scheduler.KilledWorker as error:
            raise InfrastructureError("the nodes that were given it died, one after another") from error
        except (OSError, TimeoutError) as error:
            raise InfrastructureError(f"the fleet at {self._address} cannot be reached: {error}") from error
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) and task.cancelling():  # the run stops
                raise
            raise InfrastructureError("the node that was given it was lost") from error
        finally:
            lost.cancel()
            answered.cancel()
            future.release()

    def _check_possible(self, limits: Mapping[str, Any]) -> None:
        """Raise `InfrastructureError` where the scheduler, or all nodes that may do it, are gone."""
        if self._lost.is_set():
            raise InfrastructureError(f"the fleet at {self._address} has been silent for {_SILENT_S:.0f} s")
        bound = "workers" in limits and not limits.get("allow_other_workers")
        if bound and self._size.slots.keys().isdisjoint(limits["workers"]):
            raise InfrastructureError("the nodes that could work on it were lost")

    def _limits(self, reservation_mb: int, near: list[str]) -> dict[str, Any]:
        # Dask must not hand out an earlier answer to an equal order, and tries again are the run's to count.
        limits: dict[str, Any] = {"pure": False, "retries": 0}
        if self._size.bounded:
            largest = max(self._size.memory_mb.values(), default=0)
            # Asked for more than any node has, Dask would wait for ever.
            limits["resources"] = {SLOT: 1, **({MEMORY: min(reservation_mb, largest)} if largest else {})}
        if self._refusing or self._resting:
            limits["workers"] = sorted(self._size.slots)
        elif near:
            limits |= {"workers": near, "allow_other_workers": True}
        return limits

    async def _rests(self, reply: NodeAnswer) -> bool:
        """Leave a node alone whose disk is full; return whether others are there, which are asked at once."""
        if self._size.slots.keys() <= {reply.address}:
            return False
        if reply.address in self._size.slots:
            self._warn(f"{reply.message} on the node {reply.node}; it gets nothing for {_RESTING_S:.0f} s")
            self._resting[reply.address] = time.monotonic() + _RESTING_S
            await self.refresh()
        return True

    async def _refused_by(self, name: str, address: str, why: str) -> None:
        if address not in self._refusing:
            self._refusing[address] = why
            self._warn(f"the node {name} cannot work on this run: {why}")
        await self.refresh()
        if not self._size.slots:
            raise MachineError(f"no node can work on this run; the last one was {name}: {why}")


def _slots(worker: Mapping[str, Any]) -> int:
    return int(worker["resources"].get(SLOT, worker["nthreads"]))


def _standing(worker: Mapping[str, Any]) -> NodeStanding:
    known = NodeStanding(name=str(worker["name"]), slots=_slots(worker))
    # A worker may say anything, and says nothing before its first attempt.
    with suppress(KeyError, TypeError, ValidationError):
        return NodeStanding(**known.model_dump(exclude_defaults=True), **worker["metrics"][node.METRIC])
    return known


@asynccontextmanager
async def connected(address: FleetAddress, warn: Callable[[str], None]) -> AsyncIterator[Fleet]:
    """Yield the fleet at *address*. Raises `MachineError` when no scheduler answers there."""
    dask = distributed()
    try:
        client = await dask.Client(
            address.scheduler, asynchronous=True, security=security(address), set_as_default=False, timeout="15s"
        )
    except (OSError, TimeoutError, ValueError) as error:
        raise MachineError(
            f"no Dask scheduler answers at {address.scheduler}: {error}; start one with `groundup fleet up`"
        ) from error
    try:
        fleet = Fleet(client, address.scheduler, warn)
        await fleet.refresh()
        if not fleet.size.slots:
            warn(f"the fleet at {address.scheduler} has no node yet; the run waits for one")
        client.subscribe_topic(node.JOINED, fleet.joined)
        watching = asyncio.create_task(fleet.watch())
        try:
            yield fleet
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
    finally:
        await client.close()


@asynccontextmanager
async def fleet_at(
    workers: str | None, warn: Callable[[str], None], *, agents: bool = False
) -> AsyncIterator[Fleet | None]:
    """Yield the fleet whose address or address file *workers* is; None where there is none to be used.

    *agents*: whether agents work on its nodes, too.
    """
    if workers is None:
        yield None
        return
    address = read_address(workers)
    async with connected(address, warn) as fleet, AsyncExitStack() as stack:
        if agents:
            fleet.desk = await stack.enter_async_context(desk_at(address))
        yield fleet


def graded_on(fleet: Fleet | None, grading: Grading, spec: EpisodeSpec, sandbox: str, builder: str) -> Grading:
    """Return *grading* as the nodes of *fleet* do it, with these tools; itself where there is no fleet."""
    if fleet is None:
        return grading
    common = {one.name: getattr(grading, one.name) for one in fields(Grading)}
    return RemoteGrading(**common, fleet=fleet, spec=spec, sandbox=sandbox, builder=builder)


@dataclass(frozen=True)
class RemoteGrading(Grading):
    """Grades on a fleet's nodes, which open sandboxes and build layers of their own."""

    fleet: Fleet = field(kw_only=True)
    spec: EpisodeSpec = field(kw_only=True)
    sandbox: str = field(kw_only=True)
    builder: str = field(kw_only=True)

    async def prepare(self, scratch: Path) -> None:
        """Do nothing: nodes build and fetch by themselves."""

    async def settled(
        self, digest: str, tree: Path, index: int, scratch: Path, cache: VerdictCache | None
    ) -> tuple[Graded, bool]:
        """Return a node's verdict, and whether the node knew it; without *cache* it grades anew."""
        archive = await asyncio.to_thread(pack_tree, tree)
        order = await self._order(digest, use_cache=cache is not None)
        return await self.fleet.answer(order, archive, self.grader.reservation_mb(self.task))

    async def grade(self, tree: Path, scratch: Path) -> Graded:
        """Grade *tree*, such as what an agent hands in before the end."""
        digest = (await asyncio.to_thread(tree_digest, tree)).digest
        graded, _ = await self.settled(digest, tree, self.spec.index, scratch, None)
        return graded

    async def _order(self, digest: str, *, use_cache: bool) -> Order:
        names = {*_GRADING_PINS, f"grader of {self.task.id}"}
        pinned = {name: value for name, value in self.spec.pinned.items() if name in names}
        pinned[f"task {self.task.id}"] = self.task.graded_digest
        order = await self.order(self.spec.model_copy(update={"pinned": pinned}), use_cache=use_cache)
        return order.model_copy(update={"submission": digest})

    async def order(self, spec: EpisodeSpec, *, use_cache: bool) -> Order:
        """Return an order for *spec* that says what a node must have in common with this machine."""
        await self.inside()  # finds out which image it is, for all nodes
        images = self.equipment.images
        return Order(
            spec=spec,
            sandbox=self.sandbox,
            images={} if images is None else images.pins,
            sandbox_identity=dict(self.equipment.provider.identity()),
            builder=self.builder,
            groundup=__version__,
            code=code_digest(type(self.grader).__module__),
            use_cache=use_cache,
        )


@dataclass(frozen=True)
class PlayingOnNodes:
    """An agent makes the submission on a node. A `SubmissionMaker`."""

    grading: RemoteGrading
    sink: EpisodeSink
    agent: Agent
    chosen: tuple[str, dict[str, JsonValue]]
    """What the catalog calls the agent, and its options."""
    model: ChatModel | None
    room: Room
    phase = Phase.MAKING

    async def make(self, destination: Path, scratch: Path) -> Submission:
        """Have it made, and write what it is into *destination*."""
        grading, (name, options) = self.grading, self.chosen
        fleet, spec = grading.fleet, grading.spec
        desk = fleet.desk
        assert desk is not None, "agents are on nodes only where a desk is"
        model = None if self.model is None else for_attempt(self.model, spec.index)
        # What the agent submits on the way is graded there, too.
        reservation_mb = max(self.agent.reservation_mb(grading.task), grading.grader.reservation_mb(grading.task))
        async with self.room():
            with (
                self.sink.trajectory() as trajectory,
                desk.serving(model, trajectory, self.sink.keep_agent_log) as token,
            ):
                play = Play(
                    agent=name,
                    options=options,
                    identity=identity_of(self.agent),
                    desk=desk.address,
                    token=token,
                    model=model and model.name,
                    context_tokens=model and model.context_tokens,
                )
                order = (await grading.order(spec, use_cache=False)).model_copy(update={"play": play})
                submission, archive = made_by(*await fleet.replied(order, b"", reservation_mb))
            await in_thread(lambda: unpack_tree(archive, destination, submission.digest))
        return submission
