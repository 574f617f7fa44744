"""`groundup serve`: a suite's tasks as environments over HTTP."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Unpack

from groundup.api.flags import ServeFlags, names
from groundup.api.requests import checked, settings_for
from groundup.cli.console import say
from groundup.cli.listening import TOKEN, listening
from groundup.cli.options import DryRun, Examples, Suite
from groundup.configuration import environment
from groundup.domain.errors import MissingExtraError, UsageError
from groundup.domain.limits import EpisodeLimits
from groundup.domain.names import checked_name, count
from groundup.extensions import lacking as lacking_packages
from groundup.runs.execution import fleet_wanted
from groundup.runs.gradable import lacking
from groundup.runs.plan import left_out_notice, make_plan
from groundup.settings import Settings
from groundup.store.records import RunConfiguration, Served

if TYPE_CHECKING:
    from groundup.serving.server import ServeJob

EXAMPLES: dict[str, Examples] = {
    "serve": (
        ("Tasks for a trainer on this machine", "groundup serve nl2repobench --slots 16"),
        (
            "Some tasks, as the split `train`",
            "groundup serve nl2repobench --tasks sqlparse,tenacity --split train",
        ),
        ("For other machines, with a token", "groundup serve dibench --host 0.0.0.0 --token $TOKEN"),
        ("Several submits, each with a reward", "groundup serve nl2repobench --submits 3"),
        ("Grade on other machines", "groundup serve nl2repobench --slots 64 --workers fleet.json"),
        ("Go on with the folder of an earlier server", "groundup serve nl2repobench --run-id monday"),
    ),
}


def serve(suite: Suite, flags: ServeFlags, dry_run: DryRun = False) -> int:
    """Serve the tasks of SUITE as environments for reinforcement learning, until ^C.

    One session is one episode in one sandbox, with the tools `bash` and `submit` (docs/serving.md). Each episode
    is an attempt of a run: `groundup report` and `groundup show` work on its folder.
    """
    job = preflight(serve_job(suite, **flags))
    for notice in notices(job):
        say(f"groundup: {notice}")
    offered = len(job.offer().every)
    if dry_run:
        say(f"groundup: {count(offered, 'task')} as {', '.join(job.splits)}; the run would be in {job.path}")
        return 0
    listener = listening(flags.get("host"), flags.get("port"), has_token=bool(job.tokens))
    say(f"groundup: the run is in {job.path}")
    with listener:
        about = f"serving {job.plan.configuration.suite} at"
        told = f"{count(offered, 'task')} by {doors()}"
        _serve(job, listener, lambda address: say(f"groundup: {about} {address}: {told}"))
    say(f"groundup: stopped; `groundup report {job.path}` shows what came of it")
    return 0


def serve_job(suite: str, *, settings: Settings | None = None, **flags: Unpack[ServeFlags]) -> "ServeJob":
    """Return what `serve` would do. Raises `UsageError`, also where the extra is not installed."""
    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "httptools")):
        raise MissingExtraError(
            "serving needs Starlette, uvicorn and httptools; install them with pip install 'groundup[serve]'"
        )
    from groundup.serving.server import ServeJob
    from groundup.serving.session import Rules
    from groundup.serving.sessions import Room

    given: ServeFlags = checked(ServeFlags, flags)
    found = settings_for(given, settings)
    served = _served(given)
    plan = make_plan(_configuration(suite, served, given, found), found)
    fleet_wanted(plan, given.get("workers"), found)
    name = checked_name(given.get("run_id") or f"{plan.suite.name}-served-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    path = found.output / name
    room = {
        "slots": given.get("slots"),
        "waiting": given.get("waiting"),
        "client_slots": given.get("client_slots"),
        "idle_s": given.get("idle"),
    }
    return ServeJob(
        plan=plan,
        path=path,
        settings=found,
        rules=Rules(
            submits=served.submits,
            reward=served.reward,
            shows_scores=served.shows_scores,
            limits=served.limits,
        ),
        room=Room.model_validate({key: value for key, value in room.items() if value is not None}),
        splits=names(given.get("split"), "--split") or ("test",),
        seed=given.get("seed"),
        tokens=_tokens(given),
        drain_s=float(given.get("drain", 60.0) or 0.0),
        workers=given.get("workers"),
        resumed=(path / "config.json").exists(),
    )


def preflight(job: "ServeJob") -> "ServeJob":
    """Return *job* without the tasks that cannot be graded here; not for a running event loop.

    Raises `UsageError` for one that the user named, and when no task is left. On a fleet, nodes grade.
    """
    if job.workers is not None or job.settings.builder != "local":
        return job
    lacks = asyncio.run(lacking(job.plan.suite, list(job.plan.tasks.values()), job.settings))
    named = [name for name in lacks if name in (job.plan.configuration.tasks or ())]
    if lacks and (named or len(lacks) == len(job.plan.tasks)):
        name = named[0] if named else next(iter(lacks))
        raise UsageError(f"{name} cannot be graded, for this machine lacks {lacks[name]}")
    return replace(job, lacking=lacks)


def notices(job: "ServeJob") -> list[str]:
    """Return sentences about tasks that are left out and why, and about doors that are closed."""
    from groundup.serving.protocols import PROTOCOLS, spoken

    said = [left_out_notice(job.plan)] if job.plan.left_out else []
    by_lack: dict[str, list[str]] = {}
    for name, lack in job.lacking.items():
        by_lack.setdefault(lack, []).append(name)
    for lack, left_out in by_lack.items():
        some = ", ".join(left_out[:3]) + (", ..." if len(left_out) > 3 else "")
        tasks = f"{len(left_out)} tasks are" if len(left_out) > 1 else "1 task is"
        said.append(f"{tasks} not offered ({some}), for this machine lacks {lack}")
    closed = [f"{one.name} is not offered: this installation {one.lacks}" for one in spoken() if one.lacks]
    return [*said, *closed, *lacking_packages(PROTOCOLS.kind)]


def doors() -> str:
    """Return the protocols that a server speaks, and where."""
    from groundup.serving.protocols import spoken

    more = [f"{one.name} {one.place}".strip() for one in spoken() if not one.lacks]
    return " and ".join(filter(None, (", ".join(["ORS", *more[:-1]]), *more[-1:])))


def _serve(job: "ServeJob", listener: socket.socket, ready: Callable[[str], object]) -> None:
    """Serve until a signal; *ready* gets the server's address once it answers."""
    from groundup.serving.server import serve as serve_job

    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    asyncio.run(serve_job(job, listener, lambda service: ready(f"http://{shown}:{port}")))


def _tokens(given: ServeFlags) -> tuple[str, ...]:
    """Return the tokens of the command line and of the environment."""
    given_here = names(given.get("token"), "--token") or ()
    return tuple(dict.fromkeys((*given_here, *(names(environment().get(TOKEN), TOKEN) or ()))))


def _served(given: ServeFlags) -> Served:
    submits = given.get("submits", 1)
    return Served(
        agent=given.get("agent_name") or "client",
        model=given.get("model_name"),
        limits=EpisodeLimits(turns=given.get("max_turns"), wall_clock_s=given.get("max_seconds")),
        submits=submits or None,
        reward="end" if given.get("reward_at_end") else "submit",
        shows_scores=not given.get("hide_scores"),
    )


def _configuration(suite: str, served: Served, given: ServeFlags, settings: Settings) -> RunConfiguration:
    language = given.get("lang")
    return RunConfiguration(
        suite=suite,
        submissions=served,
        grader=given.get("grader"),
        tasks=names(given.get("tasks"), "--tasks"),
        exclude=(*(names(given.get("exclude"), "--exclude") or ()), *((f"!{language}",) if language else ())),
        timeout_s=given.get("timeout"),
        sandbox=settings.sandbox,
    )
