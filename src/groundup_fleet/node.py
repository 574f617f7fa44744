"""What runs on a node: Dask's workers call `grade`, and `NodePlugin` makes a node of any worker of Dask's.

One worker process is one node: it opens the sandbox once, and keeps the layers and verdicts of its user's cache.
"""

import asyncio
import os
import platform
import shutil
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from groundup.domain.errors import DiskFullError, GroundupError, InfrastructureError, NoSandboxesError, UsageError
from groundup.domain.records import Record
from groundup.domain.version import __version__
from groundup.environments.layers import NEIGHBOURS
from groundup.episodes.attempt import Grading, full_disk_named
from groundup.episodes.backends import Backends, backends
from groundup.episodes.episode import Playing
from groundup.episodes.loading import grading_of
from groundup.episodes.records import EpisodeSpec
from groundup.sandbox.launcher.disks import FREE_FLOOR_BYTES
from groundup.settings import Settings, load
from groundup.store.verdict_cache import VerdictCache
from groundup.suites.base import Suite
from groundup.suites.opening import open_suite
from groundup.trees.scratch import async_scratch_folder, remove_abandoned_folders, scratch_folder
from groundup.trees.writer import in_thread
from groundup_fleet.agents import DriversModel, LineToDriver, checked_agent
from groundup_fleet.extra import WorkerPlugin, distributed
from groundup_fleet.orders import LayerShelf, NodeAnswer, Order, OtherNodes, Play, failure_of, packed, unpack

MEMORY = "groundup-mb"
"""The resource of Dask's that attempts take: memory in MiB. A node offers none while it rests."""
METRIC = "groundup"
"""What Dask calls the counts of a node that come with its heartbeats, and its plugin."""
_LOOK_S = 2.0
_WATCH_S = 1.0
R = TypeVar("R")
_Done = dict[str, Any]
"""Fields of a `NodeAnswer`."""


class NodeIdentity(Record):
    """What a node is; `groundup fleet doctor` shows it."""

    name: str
    groundup: str = Field(default="", description="version; empty for a node that did not say what it is")
    python: str = ""
    architecture: str = ""
    processors: int = 0
    sandbox: dict[str, str] = {}
    problem: str | None = None


class NodePlugin(WorkerPlugin):
    """Has a worker offer its memory, and its layers to others; while its disk has no room, it offers no memory.

    The driver registers it, so Dask gives it to all workers, also to those that join later.
    """

    name = METRIC
    idempotent = True
    rests = False
    resting_s = 60.0
    """How long a node rests at least whose disk had filled up."""

    async def setup(self, worker: Any) -> None:
        """Begin to watch the disk."""
        limit = worker.memory_manager.memory_limit or distributed.system.MEMORY_LIMIT
        self._memory_mb = int(limit // 2**20)
        self._worker, self._until = worker, 0.0
        self.node = NodeTools(load())
        worker.metrics[METRIC] = lambda _: self.node.counts()
        self.node.shelf.offer(worker)
        # A node that begins again after a killed one would else fill the disk with packed layers. Dask gives up a
        # worker whose plugins take long, and such folders may be large.
        self._cleaning = asyncio.create_task(asyncio.to_thread(remove_abandoned_folders))
        self._watching = asyncio.create_task(self._watch())
        await self._offer(0 if self.node.is_full() else self._memory_mb)

    async def teardown(self, worker: Any) -> None:
        """Close the node's sandboxes; forked processes have no `atexit`."""
        self._watching.cancel()
        await asyncio.to_thread(self.node.close)

    def rest(self) -> None:
        """Get nothing for a while; can be called from the threads that work."""
        self._until = time.monotonic() + self.resting_s
        asyncio.run_coroutine_threadsafe(self._offer(0), self._worker.loop.asyncio_loop).result()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            rests = time.monotonic() < self._until or self.node.is_full()
            if rests != self.rests:
                await self._offer(0 if rests else self._memory_mb)

    async def _offer(self, memory_mb: int) -> None:
        worker = self._worker
        if not memory_mb:
            # The scheduler alone hears it: what waits here already begins, and goes back by `Reschedule`.
            await worker.scheduler.set_resources(resources={MEMORY: 0}, worker=worker.contact_address)
        else:
            await worker.set_resources(**{MEMORY: memory_mb})
            if worker.status is distributed.Status.running:
                # Dask looks for what a worker could do only when its status changes.
                worker.status = distributed.Status.paused
                worker.status = distributed.Status.running
        self.rests = not memory_mb


class DataPlugin(WorkerPlugin):
    """Brings the data of a suite to all nodes; *folder* is its place among the data of a user."""

    idempotent = True

    def __init__(self, folder: str, digest: str, data: bytes) -> None:
        self.name = f"groundup-data-{digest}"
        self._folder, self._digest, self._data = folder, digest, data

    async def setup(self, worker: Any) -> None:
        """Unpack it into a folder of the worker's, which ends with it."""
        place = _data_place(worker, self._digest) / self._folder
        place.parent.mkdir(parents=True)
        await in_thread(unpack, self._data, place, self._digest)


def _data_place(worker: Any, digest: str) -> Path:
    return Path(worker.local_directory) / f"data-{digest.partition(':')[2]}"


class _RefusedError(GroundupError):
    """This node and the run do not have the same groundup, sandbox or data."""


class NodeTools:
    """The sandbox, builder and suites of a worker, used from an event loop in a thread of its own."""

    def __init__(self, settings: Settings) -> None:
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        self._equipment: dict[tuple[str, str], asyncio.Task[Backends]] = {}
        self._suites: dict[tuple[str, str | None], Suite] = {}
        self._settings = settings
        self._ending = ExitStack()
        self._folder = self._ending.enter_context(scratch_folder("layers"))
        self.shelf = LayerShelf(self._folder)
        threading.Thread(target=self._loop.run_forever, name="groundup-node", daemon=True).start()
        self._at_work: list[OtherNodes] = []
        self._ending.callback(self._close)

    def _close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop).result(timeout=20)

    def close(self) -> None:
        """Close the sandboxes and remove the folders; a second time does nothing."""
        self._ending.close()

    def is_full(self) -> bool:
        """Whether a sandbox would refuse to work here, for its disk has too little room."""
        cache = self._settings.cache_dir.absolute()
        places = (self._folder, next(one for one in (cache, *cache.parents) if one.exists()))
        return min(shutil.disk_usage(place).free for place in places) < FREE_FLOOR_BYTES

    def counts(self) -> dict[str, int]:
        """Return what is done here now, as `NodeStanding` has it."""
        at_work = list(self._at_work)
        return {"grading": len(at_work), "arriving": sum(one.arriving for one in at_work)}

    def begin(self, order: Order, archive: bytes, others: OtherNodes, worker: Any) -> "Future[_Done]":
        """Begin to grade, or to play; cancelling the result ends the sandboxes."""

        async def work() -> _Done:
            # In the context of this one order: others run beside it in the same loop.
            NEIGHBOURS.set(others)
            self._at_work.append(others)
            try:
                return await self._work(order, archive, worker)
            finally:
                self._at_work.remove(others)

        return self.run(work())

    def run(self, work: Coroutine[Any, Any, R]) -> "Future[R]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def identity(self, sandbox: str) -> NodeIdentity:
        """Return what this node is; a sandbox that cannot be opened is its problem."""
        opened = asyncio.run_coroutine_threadsafe(self._tools(sandbox, self._settings.builder), self._loop)
        found: dict[str, str] = {}
        problem = None
        try:
            found = dict(opened.result().provider.identity())
        except (GroundupError, OSError) as error:
            problem = str(error)
        return NodeIdentity(
            name="",
            groundup=__version__,
            python=platform.python_version(),
            architecture=platform.machine(),
            processors=len(os.sched_getaffinity(0)),
            sandbox=found,
            problem=problem or (_NO_ROOM if self.is_full() else None),
        )

    async def _tools(self, sandbox: str, builder: str) -> Backends:
        key = (sandbox, builder)
        if key not in self._equipment:
            settings = self._settings.but(builder=builder)
            self._equipment[key] = asyncio.ensure_future(self._open(sandbox, settings))
        try:
            # An attempt that is cancelled must not end the opening on which others wait.
            return await asyncio.shield(self._equipment[key])
        except (GroundupError, OSError):
            self._equipment.pop(key, None)
            raise

    async def _open(self, sandbox: str, settings: Settings) -> Backends:
        return await self._stack.enter_async_context(backends(sandbox, settings))

    def _suite(self, name: str, data: str | None, worker: Any) -> Suite:
        """Return the suite with the data of this digest, which the driver sent; None: the node's own."""
        if (name, data) not in self._suites:
            settings = self._settings
            if data is not None:
                settings = settings.but(data_dir=_data_place(worker, data))
            self._suites[name, data] = open_suite(name, settings)
        return self._suites[name, data]

    async def _work(self, order: Order, archive: bytes, worker: Any) -> _Done:
        if order.groundup != __version__:
            raise _RefusedError(f"it has groundup {__version__}, the run groundup {order.groundup}")
        try:
            tools = await self._tools(order.sandbox, order.builder)
            if tools.images:
                tools = replace(tools, images=replace(tools.images, pins=dict(order.images)))
            suite = self._suite(order.spec.suite, order.data, worker)
            grading = grading_of(order.spec, suite, tools, is_read=order.play is not None)
        except UsageError as error:  # a plugin that is not here, or data of its own
            raise _RefusedError(str(error)) from error
        if (identity := dict(tools.provider.identity())) != order.sandbox_identity:
            raise _RefusedError(
                f"its sandbox is {_shown(identity)}, the run's is {_shown(order.sandbox_identity)}"
            )
        if grading.code() != order.code:
            raise _RefusedError("its code of the grader is not the run's, though the version is the same")
        with full_disk_named():
            if order.play is not None:
                return await _played(grading, order.spec, order.play, worker)
            return await self._settle(grading, order, archive)

    async def _settle(self, grading: Grading, order: Order, archive: bytes) -> _Done:
        async with async_scratch_folder("graded") as scratch:
            tree = scratch / "submission"
            await in_thread(unpack, archive, tree, order.submission)
            folder = scratch / "work"
            folder.mkdir()
            # Silent: a node has no console, and an unusable cache costs time only.
            verdicts = VerdictCache(self._settings.cache_dir / "verdicts", lambda message: None)
            grading = replace(grading, cache=verdicts if order.use_cache else None)
            return {"graded": await grading.settled(order.submission, tree, folder)}


async def _played(grading: Grading, spec: EpisodeSpec, play: Play, worker: Any) -> _Done:
    """Let an agent make the submission here; its model, and the record of what it does, are the driver's."""
    agent = checked_agent(play)
    if agent is None:
        raise _RefusedError(f"its agent {play.agent} is not the run's, though the version is the same")
    async with async_scratch_folder("played") as scratch:
        tree, folder = scratch / "submission", scratch / "work"
        tree.mkdir()
        folder.mkdir()
        line = LineToDriver(worker, play, tree)
        await line.begin()
        model = None if play.model is None else DriversModel(play, line)
        submission = await Playing(spec, grading, line, agent, model).make(tree, folder)
        return {"made": (submission, await asyncio.to_thread(packed, tree))}


def _shown(identity: dict[str, str]) -> str:
    return ", ".join(f"{name} {identity[name]}" for name in sorted(identity))


_NO_ROOM = f"it rests: less than {FREE_FLOOR_BYTES >> 20} MB are free on its disk"


def identify(sandbox: str, dask_worker: Any) -> NodeIdentity:
    """Return what this worker is as a node."""
    plugin: NodePlugin = dask_worker.plugins[NodePlugin.name]
    return plugin.node.identity(sandbox)


def grade(order: Order, archive: bytes) -> NodeAnswer:
    """Grade the submission in *archive* as *order* says, or have it made; return an answer, whatever happens.

    A run that no longer wants the answer ends the work. Raises `Reschedule` on a node that rests or leaves, and
    `DiskFullError` where the disk filled up: Dask gives the order to another node then, the latter so many times
    as the driver's `retries` say.
    """
    worker = distributed.get_worker()
    plugin: NodePlugin = worker.plugins[NodePlugin.name]
    if plugin.rests:
        raise distributed.Reschedule
    others = OtherNodes(worker, order.layers, order.holders)
    begun = plugin.node.begin(order, archive, others, worker)
    answer = partial(NodeAnswer, node=str(worker.name), address=worker.address)
    try:
        done = _awaited(begun, worker)
        return answer(layers=plugin.node.shelf.contents(others.layers), fetched=others.fetched, **done)
    except distributed.Reschedule:
        raise
    except Exception as error:  # noqa: BLE001  # the driver decides whose fault it is
        if isinstance(error, _RefusedError | NoSandboxesError):
            # A machine that can open no sandbox fails at once: it would draw all attempts to itself.
            return answer(refused=str(error))
        if isinstance(error, DiskFullError) or (isinstance(error, InfrastructureError) and plugin.node.is_full()):
            plugin.rest()
            raise DiskFullError(f"{error} (on the node {worker.name})") from None
        return answer(failure=failure_of(error, str(worker.name)))


def carry(work: Callable[[Any], Coroutine[Any, Any, R]], argument: object) -> R:
    """Return what *work* makes of *argument*, and end it when the scheduler has dropped it.

    Raises `Reschedule` on a node that rests or leaves, and what *work* raises.
    """
    worker = distributed.get_worker()
    plugin: NodePlugin = worker.plugins[NodePlugin.name]
    if plugin.rests:
        raise distributed.Reschedule
    return _awaited(plugin.node.run(work(argument)), worker)


def _awaited(begun: "Future[R]", worker: Any) -> R:
    """Return what comes of *begun*; it is ended when the scheduler does not want this thread's task any more.

    What fails on a node that leaves, as one does when there is less work, is done elsewhere (`Reschedule`): its
    sandboxes were closed under it.
    """
    key = worker.get_current_task()
    while True:
        try:
            return begun.result(timeout=_WATCH_S)
        except TimeoutError:
            if begun.done():
                raise
            task = worker.state.tasks.get(key)
            if task is None or task.state in ("cancelled", "released", "forgotten"):
                begun.cancel()
                raise InfrastructureError("the run that asked for it is gone") from None
        except Exception:
            if worker.status in (distributed.Status.running, distributed.Status.paused):
                raise
            raise distributed.Reschedule from None
