"""A server from its start to its end: backends, run folder, protocols, and a shutdown that loses nothing."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from groundup.domain.errors import GroundupError
from groundup.episodes.backends import Backends, backends
from groundup.runs.execution import fleet_wanted, image_pins, open_writer, started
from groundup.runs.fleets import Fleet, fleet_for
from groundup.runs.plan import RunPlan
from groundup.runs.reporting import write_report
from groundup.runs.scheduler import WorkStage, machine_memory_mb
from groundup.runs.settling import RunContext
from groundup.serving.http import Direct, Gate, ServedTasks, configured, refused
from groundup.serving.metrics import Log, Metrics, Watching
from groundup.serving.offers import Offer, prompt_of, splits_of
from groundup.serving.offers import tools as tools_of
from groundup.serving.ors import Ors
from groundup.serving.protocols import spoken
from groundup.serving.session import Rules
from groundup.serving.sessions import Room, Sessions
from groundup.serving.staging import Episodes
from groundup.settings import Settings
from groundup.store.folder import RunWriter
from groundup.suites.base import ForAgents


@dataclass(frozen=True)
class ServeJob:
    """What is served, and where."""

    plan: RunPlan
    path: Path
    """The run's folder."""
    settings: Settings
    rules: Rules
    room: Room
    splits: tuple[str, ...] = ("test",)
    seed: int | None = None
    """Shuffles the tasks; None: by name."""
    tokens: tuple[str, ...] = ()
    drain_s: float = 60.0
    """How long open episodes may go on when the server is stopped."""
    workers: str | None = None
    """Address of a fleet that grades, or the file that has it."""
    resumed: bool = False
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Tasks of the plan that are not offered, for this machine cannot grade them; what each lacks."""
    log: Log = field(default_factory=Log)

    def offer(self) -> Offer:
        """Return the tasks by their splits."""
        names = tuple(name for name in self.plan.planned.tasks if name not in self.lacking)
        suite = self.plan.suite
        splits = splits_of(names, self.splits, self.seed)
        told_of_grading = ForAgents.of(suite).told_of_grading
        return Offer(suite.name, suite.version, self.plan.tasks, splits, told_of_grading)


@asynccontextmanager
async def service(job: ServeJob) -> AsyncIterator[ServedTasks]:
    """Open backends and run folder, and yield what protocols need; afterwards all sessions are ended."""
    plan = job.plan
    async with (
        backends(
            plan.configuration.sandbox,
            job.settings,
            image_pins(plan.configuration, job.path, resumed=job.resumed),
        ) as tools,
        fleet_for(
            fleet_wanted(plan, job.workers, job.settings), lambda message: job.log.event("fleet", message=message)
        ) as fleet,
    ):
        with open_writer(plan, job.path, tools, resumed=job.resumed) as writer:
            start = writer.began(started(job.room.model_dump(), tools), tools.inventory())
            try:
                async with _open(job, (tools, fleet), writer, start) as opened:
                    yield opened
            finally:
                writer.ended(start, datetime.now(UTC), tools.identity())
                write_report(writer.folder.path, job.settings)


@asynccontextmanager
async def _open(
    job: ServeJob, means: tuple[Backends, Fleet | None], writer: RunWriter, start: int
) -> AsyncIterator[ServedTasks]:
    (tools, fleet), settings, metrics = means, job.settings, Metrics()
    here = WorkStage(settings.jobs, int(machine_memory_mb() * settings.memory_share))
    admitted = fleet.admitted if fleet else here.entered
    run = RunContext(
        plan=job.plan,
        writer=writer,
        backends=tools,
        start=start,
        warn=lambda message: job.log.event("warning", message=message),
        admitted=admitted,
        fleet=fleet,
        builder=settings.builder,
    )
    episodes = Episodes(
        run, lambda episode: prompt_of(episode.task, job.rules, episode.tools), tools_of(job.rules)
    )
    watch = Watching(metrics, job.log)
    sessions = Sessions(job.room, job.rules, episodes.opened, watch, clients=max(1, len(job.tokens)))
    metrics.gauge("slots", lambda: job.room.slots)
    metrics.gauge("sessions_open", lambda: sessions.open)
    metrics.gauge("sessions_waiting", lambda: sessions.waiting)
    reaper = asyncio.create_task(sessions.reap())
    try:
        yield ServedTasks(job.offer(), job.rules, sessions, metrics)
    finally:
        reaper.cancel()
        await sessions.close()


@asynccontextmanager
async def application(service: ServedTasks, tokens: Sequence[str] = ()) -> AsyncIterator[ASGIApp]:
    """Yield ORS, and the protocols that extensions bring, as one application."""

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(service.metrics.text(), media_type="text/plain; version=0.0.4")

    routes: list[BaseRoute] = [Route("/metrics", metrics), *Ors(service).routes()]
    handlers: dict[Any, Any] = {GroundupError: refused, HTTPException: refused}
    async with AsyncExitStack() as stack:
        for protocol in spoken():
            routes += await stack.enter_async_context(protocol.routes(service))
        yield Gate(Direct(routes, Starlette(routes=routes, exception_handlers=handlers)), tokens)


class _Uvicorn(uvicorn.Server):
    """Leaves signals to us."""

    @contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def] # as uvicorn has it
        yield


async def serve(job: ServeJob, listener: socket.socket, ready: Callable[[ServedTasks], object]) -> None:
    """Serve on *listener* until a signal: the first lets open episodes go on for a while, the second does not."""
    loop, stopping, hurry = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def stop() -> None:
        (hurry if stopping.is_set() else stopping).set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    async with service(job) as opened, application(opened, job.tokens) as answering:
        server = _Uvicorn(configured(answering))
        serving = asyncio.create_task(server.serve([listener]))
        ready(opened)
        await asyncio.wait({serving, asyncio.create_task(stopping.wait())}, return_when=asyncio.FIRST_COMPLETED)
        job.log.event("stopping", open=opened.sessions.open, waiting=opened.sessions.waiting)
        await _drained(opened.sessions, job.drain_s, hurry)
        await opened.sessions.close()
        server.should_exit = True
        await serving
    job.log.event("stopped")


async def _drained(sessions: Sessions, drain_s: float, hurry: asyncio.Event) -> None:
    """Begin no more sessions, and wait a while for those that there are."""
    sessions.drain()
    waits = {asyncio.create_task(sessions.drained()), asyncio.create_task(hurry.wait())}
    await asyncio.wait(waits, timeout=drain_s, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
