"""Working on a run: from a plan and a held folder until nothing is pending or somebody stops it."""

import asyncio
import importlib.metadata
import os
import platform
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from groundup.domain.errors import DiskFullError, UsageError
from groundup.domain.steps import heard_by
from groundup.domain.subjects import AttemptKey
from groundup.episodes.backends import Backends, backends
from groundup.models.protocol import BudgetSpentError, UnusableModelError
from groundup.runs.fleets import Fleet, FleetRequest, fleet_for, refuse_unknown_fleet
from groundup.runs.generation import model_of_run
from groundup.runs.interrupts import Interrupted, StopSignal, interruptible
from groundup.runs.plan import RunOptions, RunPlan, changed
from groundup.runs.progress import FleetStanding, Progress, Standing, Tally, Warned
from groundup.runs.reporting import write_report
from groundup.runs.scheduler import Admission, WorkStage, machine_memory_mb, work_off
from groundup.runs.settling import RunContext
from groundup.runs.submissions import AgentSource
from groundup.settings import Settings
from groundup.store.checking import RunRecords
from groundup.store.folder import RunFolder, RunWriter
from groundup.store.records import ConfigFile, EarlierRun, Generated, RunConfiguration, Served, Start
from groundup.store.verdict_cache import VerdictCache

_SHOWN_S = 2.0
_WAITING = 2000
"""Attempts that wait for a fleet's nodes at most; each is a task of the event loop, and no work."""
Plain = str | int | float | bool | None


def execute(
    plan: RunPlan,
    path: Path,
    options: RunOptions,
    settings: Settings,
    progress: Progress,
    *,
    resumed: bool,
    stop: StopSignal | None = None,
) -> tuple[Standing, bool]:
    """Work on *plan* in the folder *path* until nothing is pending; *stop* is how another thread stops it.

    Return how the run stands and whether it was interrupted.
    """

    def warn(message: str) -> None:
        progress(Warned(message=message))

    async def work(interrupted: Interrupted) -> tuple[Standing, bool]:
        wanted = fleet_wanted(plan, options.workers, settings, agents=options.agents_on_nodes)
        earlier, keys = RunFolder(path) if resumed else None, plan.planned.keys
        pins = image_pins(plan.configuration, path, resumed=resumed)
        async with (
            backends(plan.configuration.sandbox, settings, pins) as tools,
            model_of_run(plan.source, options, settings, earlier, keys) as model,
            fleet_for(wanted, warn) as fleet,
        ):
            with open_writer(plan, path, tools, resumed=resumed) as writer:
                found = tools.inventory() if _generates(plan) and not options.agents_on_nodes else None
                start = writer.began(started(options.model_dump(), tools), found)
                making, grading = _stages(plan, options)
                tally = Tally(len(plan.planned), progress, lambda: _standing(fleet))
                cache = VerdictCache(settings.cache_dir / "verdicts", warn)
                run = RunContext(
                    plan=plan,
                    writer=writer,
                    backends=tools,
                    start=start,
                    warn=warn,
                    admitted=grading.entered if grading else None,
                    fleet=fleet,
                    builder=settings.builder,
                    cache=cache if options.use_cache else None,
                    model=model,
                    making=making.entered if making else None,
                    makes_only=options.generate_only and _generates(plan),
                    keeps=options.keep,
                    says=tally.says,
                )
                pending = _PendingAttempts(run, options, tally)
                nothing_for = sum(not plan.source.holds(key) for key in keys)
                tally.run_began(writer.config.run_id, path, nothing_for=nothing_for)
                try:
                    async with _shown(fleet, writer), asyncio.timeout(options.time_s) as limit:
                        await pending.work_off()
                except DiskFullError as error:
                    raise DiskFullError(f"{error}, then `groundup resume {path}`") from error
                except asyncio.CancelledError:
                    if not interrupted():
                        raise
                except TimeoutError:
                    if not limit.expired():
                        raise
                    warn("the time of --time is over: what was not finished is pending")
                # Interpreters are found when they are needed, so the builder knows more of itself now.
                writer.ended(start, datetime.now(UTC), tools.identity())
                write_report(path, settings)
                was_interrupted = interrupted()
                return tally.run_ended(interrupted=was_interrupted), was_interrupted

    return interruptible(work, lambda: warn("stopping cleanly; press ^C again to stop faster"), stop)


def _generates(plan: RunPlan) -> bool:
    return isinstance(plan.source, AgentSource)


def _stages(plan: RunPlan, options: RunOptions) -> tuple[WorkStage, WorkStage] | tuple[None, None]:
    """Return where agents wait, and gradings: these get what all of them can need at once, at most half.

    A `submit` is graded while its attempt holds its place among the agents, so neither waits for the other. None
    where submissions are brought: then whole attempts wait.
    """
    if not _generates(plan):
        return None, None
    budget_mb, jobs = _budget_mb(options), options.jobs
    largest_mb = max((plan.grader.reservation_mb(task) for task in plan.tasks.values()), default=0)
    grading_mb = min(jobs * largest_mb, budget_mb // 2)
    return WorkStage(options.agent_jobs or jobs, budget_mb - grading_mb), WorkStage(jobs, grading_mb)


def _budget_mb(options: RunOptions) -> int:
    return int(machine_memory_mb() * options.memory_share)


def fleet_wanted(
    plan: RunPlan, workers: str | None, settings: Settings, *, agents: bool = False
) -> FleetRequest | None:
    """Return which fleet works on *plan*; None: it is worked on here. Raises `UsageError`."""
    if workers is None:
        return None
    made = plan.configuration.submissions
    if agents and settings.has_image_for_agents:
        raise UsageError("nodes have no base of another machine; leave --agents-on-nodes or --agent-base out")
    if agents and isinstance(made, Generated) and made.rounds > 1:
        raise UsageError("nodes keep no rounds; leave --agents-on-nodes out, and they still grade")
    request = FleetRequest(workers, plan.configuration.suite, plan.suite.name, settings, agents)
    refuse_unknown_fleet(request)
    return request


def _standing(fleet: Fleet | None) -> FleetStanding | None:
    if fleet is None:
        return None
    now = fleet.standing()
    return FleetStanding(
        nodes=len(now.nodes),
        slots=sum(one.slots for one in now.nodes),
        grading=sum(one.grading for one in now.nodes),
        waiting=now.waiting,
        layers=now.layers,
        arriving=sum(one.arriving for one in now.nodes),
    )


@asynccontextmanager
async def _shown(fleet: Fleet | None, writer: RunWriter) -> AsyncIterator[None]:
    """Keep the nodes of *fleet* in the run's folder for others to see; in the end they are taken out."""

    async def show(fleet: Fleet) -> None:
        while True:
            with suppress(DiskFullError):  # verdicts will say so
                writer.fleet(fleet.standing())
            await asyncio.sleep(_SHOWN_S)

    showing = asyncio.create_task(show(fleet)) if fleet else None
    try:
        yield
    finally:
        if showing:
            showing.cancel()
            writer.fleet(None)


def open_writer(plan: RunPlan, path: Path, tools: Backends, *, resumed: bool) -> RunWriter:
    """Hold the run's folder at *path*: a new one, or with *resumed* one that has the same configuration."""
    identity = tools.provider.identity()
    pinned = {**plan.pinned, "sandbox": " ".join(f"{name} {identity[name]}" for name in sorted(identity))}
    if isinstance(plan.configuration.submissions, Generated | Served):
        pinned |= tools.pinned_base
    if resumed:
        folder = RunFolder(path)
        refuse_changes(folder.config(), plan, pinned)
        folder.records()  # what cannot be read at all is refused before anything is done
        return _keeping_images(RunWriter.open(path), tools)
    config = ConfigFile(
        run_id=path.name,
        created_at=datetime.now(UTC),
        suite_name=plan.suite.name,
        grader=plan.grader.name,
        configuration=plan.configuration,
        planned=plan.planned,
        pinned=pinned,
        left_out=plan.left_out,
        digest=ConfigFile.digest_for(plan.configuration, plan.planned, pinned, plan.left_out),
    )
    return _keeping_images(RunWriter.create(path, config), tools)


def _keeping_images(writer: RunWriter, tools: Backends) -> RunWriter:
    if tools.base_image:
        writer.pin_image(*tools.base_image)
    if tools.images:
        tools.images.keep = writer.pin_image
        if not tools.images.differ:
            tools.images.pin(tools.images.pattern, tools.provider)
    return writer


def image_pins(configuration: RunConfiguration, path: Path, *, resumed: bool) -> Mapping[str, str]:
    """Return which images the run at *path* began with, or the one whose submissions it grades again."""
    if resumed:
        return RunFolder(path).lock().images
    earlier = configuration.submissions
    return RunFolder(Path(earlier.path)).lock().images if isinstance(earlier, EarlierRun) else {}


def refuse_changes(earlier: ConfigFile, plan: RunPlan, pinned: Mapping[str, str]) -> None:
    """Raise `UsageError` naming what differs from the run that *earlier* describes."""
    if keys := changed(earlier, plan, pinned):
        refuse(earlier.run_id, keys)


def refuse(run_id: str, keys: list[str]) -> None:
    """Raise the `UsageError` for a resume under another configuration."""
    named = ", ".join(keys[:10]) + (f" and {len(keys) - 10} more" if len(keys) > 10 else "")
    raise UsageError(
        f"the run {run_id!r} cannot be resumed, for its configuration changed: {named}; start a new run "
        "(verdicts that still hold come from the cache)"
    )


def started(options: Mapping[str, Plain], tools: Backends) -> Start:
    """Return the record of this process as it begins to work on a run."""
    return Start(
        at=datetime.now(UTC),
        pid=os.getpid(),
        groundup=importlib.metadata.version("groundup"),
        machine={
            "architecture": platform.machine(),
            "system": f"{platform.system()}-{platform.release()}",  # `platform()` starts a program
            "python": platform.python_version(),
            "processors": str(os.cpu_count() or 0),
            "memory_mb": str(machine_memory_mb()),
        },
        tools=tools.identity(),
        options=dict(options),
    )


class _PendingAttempts:
    """The attempts without a verdict, and what happens to each."""

    def __init__(self, run: RunContext, options: RunOptions, tally: Tally) -> None:
        self._run = run
        self._options = options
        self._tally = tally
        self._generates = _generates(run.plan)
        self._tasks = run.plan.tasks
        self._grader = run.plan.grader
        writer = run.writer
        self._stopped = False
        """Whether no submission can be made any more: the money is spent, or the model or agent cannot be used."""
        self._tries = {line.attempt: line.try_number for line in writer.folder.lines()}
        earlier = writer.earlier
        for line in earlier.lines.values():
            tally.earlier(line)
        lost = self._lost(earlier)
        self._keys = [key for key in run.plan.planned.pending(earlier.lines) if key not in lost]
        if self._run.makes_only:
            self._keys = [key for key in self._keys if not self._is_made(key)]
        # What begins last is waited for alone, so what takes long begins first. Nothing handed in takes no time.
        # On a fleet all tasks come in turn: while every node wants the same layers, none has them for the others.
        in_turn = run.fleet is not None
        holds = run.plan.source.holds
        self._keys.sort(
            key=lambda key: (holds(key), in_turn and key.index, -self._grader.expected_s(self._tasks[key.task]))
        )
        self._tries_before = dict(self._tries)

    def _lost(self, earlier: RunRecords) -> set[AttemptKey]:
        """Return the attempts that only money would bring back, and name what in the run's folder does not fit."""
        if not earlier.faults:
            return set()
        lost = {key for key in earlier.bad if self._generates and self._run.made(key) is None}
        self._run.warn(earlier.told_on_resuming(len(lost)))
        return lost

    async def work_off(self) -> None:
        """Settle them all, or try as often as the options allow."""
        jobs = self._options.jobs
        if self._generates:  # those that wait to be graded must not keep others from being made
            jobs += self._options.agent_jobs or jobs
        fleet = None if self._generates else self._run.fleet
        await work_off(
            self._keys,
            self._attempt,
            jobs=_WAITING if fleet else jobs,
            admission=fleet or Admission(_budget_mb(self._options)),
            reservation_mb=self._reservation_mb,
        )

    def _reservation_mb(self, key: AttemptKey) -> int:
        return 0 if self._generates else self._grader.reservation_mb(self._tasks[key.task])

    def _is_made(self, key: AttemptKey) -> bool:
        made = self._run.made(key) is not None
        if made:
            self._tally.made_earlier(key)
        return made

    async def _attempt(self, key: AttemptKey) -> float | None:
        if self._stopped and self._run.made(key) is None:
            return None
        number = self._tries.get(key, 0) + 1
        self._tally.began(key)
        try:
            with heard_by(partial(self._tally.at, key)):
                line, repeatable = await self._run.settle(key, number)
        except (BudgetSpentError, UnusableModelError, UsageError) as error:
            self._tally.abandoned()
            if not self._stopped:
                self._stopped = True
                self._run.warn(f"no further attempt begins: {error}")
            return None
        except BaseException:
            self._tally.abandoned()
            raise
        self._tries[key] = number
        if line is None:
            made = self._run.made(key)
            assert made is not None
            self._tally.made(key, made)
            return None
        tries_now = number - self._tries_before.get(key, 0)
        again = not line.settles and repeatable and tries_now <= self._options.retries
        self._tally.ended(line, again=again)
        return self._options.retry_delay_s if again else None
