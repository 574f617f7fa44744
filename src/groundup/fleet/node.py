"""What a Dask worker runs: it takes an order, grades with this machine's own sandbox and caches, and answers.

One worker process is one node: it opens the sandbox once, and keeps the layers and verdicts of its user's cache.
"""

import asyncio
import atexit
import os
import platform
import socket
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import Field

from groundup.domain.errors import (
    DiskFullError,
    GroundupError,
    InfrastructureError,
    NoSandboxesError,
    UsageError,
)
from groundup.domain.records import Record
from groundup.domain.version import __version__
from groundup.environments.layers import NEIGHBOURS
from groundup.episodes.attempt import Grading, full_disk_named
from groundup.episodes.episode import Playing
from groundup.episodes.equipment import Equipment, equipment
from groundup.episodes.loading import grading_of
from groundup.episodes.records import EpisodeSpec
from groundup.fleet.agents import DriversModel, LineToDriver, checked_agent
from groundup.fleet.layers import LayerShelf, OtherNodes
from groundup.fleet.orders import TREE, NodeAnswer, Order, Play, named, pack_answer, pack_tree, unpack_tree
from groundup.grading.deciding import code_digest
from groundup.settings import Settings, load
from groundup.store.verdict_cache import VerdictCache
from groundup.suites.base import Suite, open_suite
from groundup.trees.scratch import async_scratch_folder, scratch_folder

_WATCH_S = 1.0
_Done = tuple[dict[str, object], dict[str, bytes]]
"""Fields of a `NodeAnswer`, and the logs beside it."""
JOINED = "groundup-joined"
"""The topic on which a node tells drivers that it has come."""
METRIC = "groundup"
"""What Dask calls the counts of a node that come with its heartbeats."""


class NodeIdentity(Record):
    """What a node is; `groundup fleet doctor` shows it."""

    name: str
    groundup: str = Field(default="", description="version; empty for a node that did not say what it is")
    python: str = ""
    architecture: str = ""
    processors: int = 0
    sandbox: dict[str, str] = {}
    problem: str | None = None


class _RefusedError(GroundupError):
    """This node and the run do not have the same groundup, sandbox or data."""


class _Node:
    """The sandbox, builder and suites of this process, used from an event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stack = AsyncExitStack()
        self._equipment: dict[tuple[str, str], asyncio.Task[Equipment]] = {}
        self._suites: dict[str, Suite] = {}
        self._settings = load()
        self._ending = ExitStack()
        self.shelf = LayerShelf(self._ending.enter_context(scratch_folder("layers")))
        threading.Thread(target=self._loop.run_forever, name="groundup-node", daemon=True).start()
        self._at_work: list[OtherNodes] = []
        self._ending.callback(self._close)
        atexit.register(self._ending.close)  # of a worker that is not ours

    def _close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop).result(timeout=20)

    def close(self) -> None:
        """Close the sandboxes and remove the folders; a second time does nothing."""
        self._ending.close()

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

        return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def offer(self, worker: Any) -> None:
        """Let other workers ask for layers, and tell the scheduler with every heartbeat what is done here."""
        self.shelf.offer(worker)
        worker.metrics[METRIC] = lambda _: {
            "grading": len(self._at_work),
            "arriving": sum(one.arriving for one in list(self._at_work)),
        }

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
            name=node_name(),
            groundup=__version__,
            python=platform.python_version(),
            architecture=platform.machine(),
            processors=len(os.sched_getaffinity(0)),
            sandbox=found,
            problem=problem,
        )

    async def _tools(self, sandbox: str, builder: str) -> Equipment:
        key = (sandbox, builder)
        if key not in self._equipment:
            settings = self._settings.model_copy(update={"builder": builder})
            self._equipment[key] = asyncio.ensure_future(self._open(sandbox, settings))
        try:
            # An attempt that is cancelled must not end the opening on which others wait.
            return await asyncio.shield(self._equipment[key])
        except (GroundupError, OSError):
            self._equipment.pop(key, None)
            raise

    async def _open(self, sandbox: str, settings: Settings) -> Equipment:
        return await self._stack.enter_async_context(equipment(sandbox, settings))

    async def _work(self, order: Order, archive: bytes, worker: Any) -> _Done:
        if order.groundup != __version__:
            raise _RefusedError(f"it has groundup {__version__}, the run groundup {order.groundup}")
        try:
            tools = await self._tools(order.sandbox, order.builder)
            if tools.images:
                tools = replace(tools, images=replace(tools.images, pins=dict(order.images)))
            if order.spec.suite not in self._suites:
                self._suites[order.spec.suite] = open_suite(order.spec.suite, self._settings)
            suite = self._suites[order.spec.suite]
            grading = grading_of(order.spec, suite, tools, is_read=order.play is not None)
        except UsageError as error:  # a plugin or data that are not here
            raise _RefusedError(str(error)) from error
        if (identity := dict(tools.provider.identity())) != order.sandbox_identity:
            raise _RefusedError(
                f"its sandbox is {_shown(identity)}, the run's is {_shown(order.sandbox_identity)}"
            )
        if code_digest(type(grading.grader).__module__) != order.code:
            raise _RefusedError("its code of the grader is not the run's, though the version is the same")
        with full_disk_named():
            if order.play is not None:
                return await _played(grading, order.spec, order.play, worker)
            return await self._settle(grading, order, archive)

    async def _settle(self, grading: Grading, order: Order, archive: bytes) -> _Done:
        async with async_scratch_folder("graded") as scratch:
            tree = scratch / "submission"
            await asyncio.to_thread(unpack_tree, archive, tree, order.submission)
            folder = scratch / "work"
            folder.mkdir()
            # Silent: a node has no console, and an unusable cache costs time only.
            verdicts = VerdictCache(self._settings.cache_dir / "verdicts", lambda message: None)
            cached = verdicts if order.use_cache else None
            found, known = await grading.settled(order.submission, tree, order.spec.index, folder, cached)
            return {"verdict": found.verdict, "tests": found.tests, "cached": known}, dict(found.logs)


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
        return {"submission": submission}, {TREE: await asyncio.to_thread(pack_tree, tree)}


def _shown(identity: dict[str, str]) -> str:
    return ", ".join(f"{name} {identity[name]}" for name in sorted(identity))


@cache
def _node() -> _Node:
    return _Node()


def close() -> None:
    """Close what this process opened as a node."""
    if _node.cache_info().currsize:
        _node().close()


# Dask calls from several threads at once; one process is one node.
_OPENING = threading.Lock()


def node_name() -> str:
    """Return what people call this process: its machine, and its number there."""
    return f"{socket.gethostname()}:{os.getpid()}"


def identify(sandbox: str) -> str:
    """Return the `NodeIdentity` of this worker as JSON."""
    with _OPENING:
        node = _node()
    return node.identity(sandbox).model_dump_json()


def grade(order: bytes, archive: bytes) -> bytes:
    """Grade the submission in *archive* as *order* says, or have it made; return an answer, whatever happens.

    A run that no longer wants the answer ends the work.
    """
    with _OPENING:
        node = _node()
    worker, is_wanted = _worker()
    wanted = Order.model_validate_json(order)
    others = OtherNodes(worker, wanted.layers, wanted.holders)
    if worker is not None:
        node.offer(worker)
    begun = node.begin(wanted, archive, others, worker)
    answer = NodeAnswer(node=node_name(), address="" if worker is None else worker.address)
    logs: dict[str, bytes] = {}
    try:
        done, logs = _awaited(begun, is_wanted)
        layers = node.shelf.contents(others.layers)
        answer = answer.model_copy(update={**done, "layers": layers, "fetched": others.fetched})
    except (_RefusedError, NoSandboxesError) as error:
        # A machine that can open no sandbox fails at once: it would draw all attempts to itself.
        answer = answer.model_copy(update={"refused": str(error)})
    except DiskFullError as error:  # of one node: the others go on
        failed = {"error": InfrastructureError.__name__, "message": str(error), "full": True}
        answer = answer.model_copy(update=failed)
    except Exception as error:  # noqa: BLE001  # the driver decides whose fault it is
        trace = "".join(traceback.format_exception(error))[-20_000:]
        answer = answer.model_copy(update={"error": named(error), "message": str(error), "trace": trace})
    return pack_answer(answer, logs)


def _awaited(begun: "Future[_Done]", is_wanted: Callable[[], bool]) -> _Done:
    while True:
        try:
            return begun.result(timeout=_WATCH_S)
        except TimeoutError:
            if begun.done():
                raise
            if not is_wanted():
                begun.cancel()
                raise InfrastructureError("the run that asked for it is gone") from None


def _worker() -> tuple[Any, Callable[[], bool]]:
    """Return this Dask worker, and how to find out whether the scheduler still wants this task."""
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:  # called outside a worker
        return None, lambda: True
    key = worker.get_current_task()

    def wanted() -> bool:
        state = worker.state.tasks.get(key)
        return state is not None and state.state not in ("cancelled", "released", "forgotten")

    return worker, wanted
