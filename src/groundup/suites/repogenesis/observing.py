"""What strict grading does with one submission: install, start, wait, test, probe. Judges nothing."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import InfrastructureError, TaskError
from groundup.domain.records import Record
from groundup.domain.verdicts import Verdict
from groundup.environments.requests import PythonEnvironment
from groundup.grading.context import GradingContext
from groundup.grading.guesses import LOST_BY, SecondTests, guesser
from groundup.grading.java.installing import JavaInstalled, install_java, service_environment
from groundup.grading.last_words import middle_cut, speaks_of_time
from groundup.grading.places import followed
from groundup.grading.services.building import BuiltService, find_built_start, install_built, no_built_start
from groundup.grading.services.deployment import ServicePod, ServiceTools, deployed
from groundup.grading.services.install import (
    NO_JAVA_START,
    NO_PYTHON_START,
    InstalledService,
    StartCommand,
    find_java_start,
    find_start,
    install_declared,
)
from groundup.grading.services.probing import Presence, Probed, ProbedRoute, probe_routes
from groundup.grading.services.records import InstallOutcome, Lifecycle, Readiness, ServiceTests
from groundup.grading.services.testing import ServiceTesting, TestRun
from groundup.grading.submitted_sources import Sources
from groundup.suites.repogenesis.sample_bodies import sample_bodies
from groundup.suites.repogenesis.tasks import PLUGINS, README, TASK_FILE, ServiceProblem, test_environment
from groundup.trees.walking import read_own

NOT_READY = Readiness(answered_s=None, in_time=False)
_LARGEST_README = 1024 * 1024


Installed = InstalledService | JavaInstalled | BuiltService


class Observed(Record):
    """All that was seen of one submission."""

    installed: Installed
    start: StartCommand | None
    readiness: Readiness
    health: Mapping[str, int | None] = {}
    tests: TestRun | None = None
    probed: tuple[Probed, ...] = ()
    left_when_asked: int | None = None
    """What the start command left with, where the service ended when it was asked for endpoints."""
    restarted: Readiness | None = None
    """Of the start for the tests; None: there was none."""
    died: bool = False
    """Whether the service answered before the tests and not after them."""
    exit_code: int | None = None
    """What the start command of a service that died left with."""
    peak_memory_mb: float | None = None
    service_log: bytes = b""
    """What it printed in the tests, or where there were none, when it was asked."""
    asked_log: bytes | None = None
    """What it printed when it was asked, where there were tests, too."""

    @property
    def is_certain(self) -> bool:
        """Whether more time mends nothing: it does not compile, ended by itself, or listens elsewhere."""
        if isinstance(self.installed, JavaInstalled) and self.installed.outcome is InstallOutcome.FAILED:
            return True  # neither its tests nor its service run without its classes
        ready = self.readiness
        ended = ready.answered_s is None and ready.died and not speaks_of_time(ready.message)
        return self.tests is None and (self.start is None or ended)

    def tools(self) -> dict[str, str]:
        """Return the versions of what ran the submission."""
        if isinstance(self.installed, JavaInstalled):
            return {"java": self.installed.toolchain.java, "maven": self.installed.toolchain.maven}
        if isinstance(self.installed, BuiltService):
            return self.installed.toolchain.versions
        resolution = self.installed.environment.resolution
        versions = {"python": self.installed.environment.python_version}
        return versions if resolution is None else {**versions, "resolution": resolution.label}

    def install_logs(self, limit: int) -> dict[str, bytes]:
        """Return what a person may want to read of the install, at most *limit* bytes of what tools printed."""
        if isinstance(self.installed, JavaInstalled | BuiltService):
            return {"install.txt": middle_cut(self.installed.log, limit)}
        logs = {}
        resolution = self.installed.environment.resolution
        if resolution is not None:
            logs["resolved.txt"] = resolution.as_text()
        if self.installed.message or self.installed.notes:
            noted = [self.installed.message, *(f"not heeded: {note}" for note in self.installed.notes)]
            logs["install.txt"] = "".join(f"{line}\n" for line in noted if line).encode()
        return logs


async def observe(
    problem: ServiceProblem, submission: Path, lifecycle: Lifecycle, context: GradingContext
) -> Observed:
    """Deploy *submission*, ask for its endpoints, and start it afresh for HTTP tests, which find no trace."""
    ready = await installed(problem, submission, lifecycle, context)
    seen = Observed(installed=ready.installed, start=ready.start, readiness=NOT_READY)
    if ready.start is None:
        return seen.but(readiness=NOT_READY.but(message=_nothing_to_start(problem)))
    async with _deployed(ready, ready.start, problem, lifecycle, context) as asked:
        readiness = await asked.until_ready(readiness_routes(problem))
        seen = seen.but(readiness=readiness)
        if readiness.answered_s is not None:
            seen = await _asked(seen, asked, problem, lifecycle)
        seen = seen.but(service_log=asked.log(), peak_memory_mb=asked.peak_memory_mb())
    if readiness.answered_s is None or not speaks_to_service(problem):
        return seen
    again = replace(context, scratch=context.scratch / "tested")
    again.scratch.mkdir()
    async with AsyncExitStack() as stack:
        tested = await stack.enter_async_context(_deployed(ready, ready.start, problem, lifecycle, again))
        testing = await stack.enter_async_context(await _testing(problem, submission, tested, lifecycle, again))
        restarted = await tested.until_ready_again(readiness, readiness_routes(problem), testing.prepare)
        seen = seen.but(restarted=restarted)
        if restarted.answered_s is not None:
            # Waiting for turns and packages is free, so an install that was in time took no more than it might.
            spent_s = min(ready.installed.seconds, lifecycle.install_s) + restarted.answered_s
            tests_s = min(context.timeout_s or lifecycle.tests_s, lifecycle.overall_s - spent_s)
            seen = seen.but(tests=await testing.run(max(1.0, tests_s)))
            if not await tested.answers(readiness.question):
                seen = seen.but(died=True, exit_code=await tested.ended())
        seen = seen.but(
            service_log=tested.log(),
            asked_log=seen.service_log,
            peak_memory_mb=tested.peak_memory_mb(),
        )
    if seen.tests is None or seen.tests.count(*LOST_BY) == 0:
        return seen
    tests = await _placed(seen.tests, ready, problem, submission, readiness, lifecycle, context)
    results = await asyncio.to_thread(lambda: followed(tests.results, seen.service_log, Sources.of(submission)))
    return seen.but(tests=tests.but(results=results))


async def _placed(
    tests: TestRun,
    ready: "ReadyService",
    problem: ServiceProblem,
    submission: Path,
    readiness: Readiness,
    lifecycle: Lifecycle,
    context: GradingContext,
) -> TestRun:
    """Return *tests*, lost ones with the line of a service in Python that lost them, where that can be told."""
    if ready.start is None or not isinstance(ready.environment, PythonEnvironment) or tests.stopped is not None:
        return tests
    once_more = replace(context, scratch=context.scratch / "again")
    once_more.scratch.mkdir()
    unpassable = problem.task.tests.unpassable
    again = await asyncio.to_thread(
        guesser().second_tests,
        {test: one for test, one in tests.results.items() if str(test) not in unpassable},
        ready.environment,
        ready.tree,
        readiness.answered_s or 0.0,
        once_more.scratch / "carried",
    )
    if again is None:
        return tests
    carrying = ready._replace(environment=again.environment)
    try:
        async with AsyncExitStack() as stack:
            pod = await stack.enter_async_context(_deployed(carrying, ready.start, problem, lifecycle, once_more))
            testing = await _testing(problem, submission, pod, lifecycle, once_more, again)
            await stack.enter_async_context(testing)
            restarted = await pod.until_ready_again(readiness, readiness_routes(problem), testing.prepare)
            places = {} if restarted.answered_s is None else await testing.places(again.limit_s)
    except InfrastructureError:  # a guess for people is worth no second try
        return tests
    results = {
        test: one.but(probably=places[test]) if test in places and one.outcome in LOST_BY else one
        for test, one in tests.results.items()
    }
    return tests.but(results=results)


async def with_lines(verdict: Verdict, submission: Path) -> Verdict:
    """Return *verdict* with the lines of *submission* that kept it from being installed or from its port."""
    return await asyncio.to_thread(guesser().of_reasons, verdict, submission)


def _nothing_to_start(problem: ServiceProblem) -> str:
    if problem.task.means.by_maven:
        return NO_JAVA_START
    return NO_PYTHON_START if problem.toolchain is None else no_built_start(problem.toolchain)


def _deployed(
    ready: "ReadyService",
    start: StartCommand,
    problem: ServiceProblem,
    lifecycle: Lifecycle,
    context: GradingContext,
) -> AbstractAsyncContextManager[ServicePod]:
    return deployed(ready.tree, start, problem.task.port, ready.environment, lifecycle, context)


class ReadyService(NamedTuple):
    """A submission that can be started."""

    tree: Path
    start: StartCommand | None
    installed: Installed
    environment: ServiceTools


async def installed(
    problem: ServiceProblem, submission: Path, lifecycle: Lifecycle, context: GradingContext
) -> ReadyService:
    """Install what *submission* declares, or build it, and find what starts it."""
    if problem.task.means.by_maven:
        start = await asyncio.to_thread(find_java_start, submission)
        java = await install_java(submission, lifecycle, context)
        return ReadyService(java.tree, start, java, service_environment(java, lifecycle))
    if problem.toolchain is not None:
        built = await install_built(problem.toolchain, submission, lifecycle, context)
        start = await asyncio.to_thread(find_built_start, problem.toolchain, built.tree)
        await context.builder.python(test_environment(problem))  # built before the clock of the start runs
        return ReadyService(built.tree, start, built, built.toolchain)
    start = await asyncio.to_thread(find_start, submission, problem.task.port)
    with_pip = start is not None and start.installs and lifecycle.start_installs
    python = await install_declared(submission, lifecycle, context, with_pip=with_pip)
    await context.builder.python(test_environment(problem))  # built before the clock of the start runs
    return ReadyService(submission, start, python, python.environment)


def routes_of(problem: ServiceProblem) -> tuple[ProbedRoute, ...]:
    """Return the specified endpoints as routes to ask for, with the bodies that the README shows."""
    samples = sample_bodies(problem.readme or "", problem.task.endpoints)
    bodies = {endpoint: json.dumps(body).encode() for endpoint, body in samples.items()}
    return tuple(
        ProbedRoute(method=one.method, path=one.path, body=bodies.get(one, b"")) for one in problem.task.endpoints
    )


def readiness_routes(problem: ServiceProblem) -> tuple[ProbedRoute, ...]:
    """Return what a service that is ready must answer one of: its health path, then what needs no parameter."""
    named = () if problem.task.health is None else (ProbedRoute(method="GET", path=problem.task.health),)
    plain = [route for route in routes_of(problem) if not route.has_parameters and route.method in ("GET", "POST")]
    return tuple(dict.fromkeys((*named, *sorted(plain, key=lambda route: route.method))))


async def _asked(seen: Observed, asked: ServicePod, problem: ServiceProblem, lifecycle: Lifecycle) -> Observed:
    """Ask for health, where that is not known, and for the endpoints, which may change or delete things."""
    health, path, ready = seen.health, problem.task.health, seen.readiness
    if path is not None:
        by_health = ready.question == f"GET {path}"
        health = {path: ready.status if by_health else await asked.status(path)}
    probed = await probe_routes(asked.caller, routes_of(problem), lifecycle.probing_s)
    is_gone = any(one.presence is Presence.SILENT for one in probed) and not await asked.caller.is_open()
    return seen.but(health=health, probed=probed, left_when_asked=await asked.ended() if is_gone else None)


async def _testing(
    problem: ServiceProblem,
    submission: Path,
    deployment: ServicePod,
    lifecycle: Lifecycle,
    context: GradingContext,
    again: SecondTests | None = None,
) -> ServiceTesting:
    environment = await context.builder.python(test_environment(problem))
    tests = await asyncio.to_thread(_service_tests, problem, submission)
    return ServiceTesting(tests, environment, deployment.pod, lifecycle, context.scratch, again)


def speaks_to_service(problem: ServiceProblem) -> bool:
    """Whether hidden tests run beside the service: those that ask it, and those that use no submission."""
    untouched = any(flag.kind == "untouched" for flag in problem.task.flags)
    return problem.task.kind == "http" or untouched


def _service_tests(problem: ServiceProblem, submission: Path) -> ServiceTests:
    task = problem.task
    address = {} if task.base_url is None else {task.base_url.variable: task.base_url.value(task.port)}
    return ServiceTests(
        folder=problem.hidden_tests(),
        expected=task.tests.count,
        python_path=task.tests.python_path,
        plugins=PLUGINS,
        variables=address,
        beside=_readme_of(submission),
    )


def _readme_of(submission: Path) -> dict[str, bytes]:
    """Return the submission's README, which some hidden tests read beside them."""
    content = read_own(submission / README, _LARGEST_README)
    return {} if content is None else {README: content}


def check_count(problem: ServiceProblem, tests: TestRun | None) -> None:
    """Compare the record of a task of one's own with the tests that ran. Raises `TaskError`."""
    if not problem.is_own or tests is None or tests.stopped is not None or tests.collection_errors:
        return
    if problem.task.means.by_maven and tests.count("passed") < tests.collected:
        return  # how often a test runs may be up to the submission; who passes all of them is no suspect
    if tests.collected != problem.task.tests.count:
        ran = "ran" if problem.task.means.by_maven else "were found"
        raise TaskError(
            f"its record counts {problem.task.tests.count} hidden tests, and {tests.collected} {ran}; "
            f"mend {problem.task.id}/{TASK_FILE} and pull the data again"
        )
