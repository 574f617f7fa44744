"""What strict grading does with one submission: install, start, wait, test, probe. Judges nothing."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from groundup.domain.records import Record
from groundup.environments.requests import JavaToolchain, PythonEnvironment
from groundup.grading.bench import Bench
from groundup.grading.java.installing import JavaInstalled, install_java, service_environment
from groundup.grading.services.deployment import ServicePod, deployed
from groundup.grading.services.install import InstalledService, install_declared
from groundup.grading.services.probing import Probed, ProbedRoute, probe_routes
from groundup.grading.services.records import Lifecycle, Readiness, ServiceTests
from groundup.grading.services.start import StartCommand, find_java_start, find_start
from groundup.grading.services.testing import TestRun, run_tests
from groundup.suites.repogenesis.data import README, ServiceProblem
from groundup.suites.repogenesis.samples import sample_bodies
from groundup.suites.repogenesis.shipped import PLUGINS, test_environment

_LARGEST_README = 1024 * 1024


class Observed(Record):
    """All that was seen of one submission."""

    installed: InstalledService | JavaInstalled
    start: StartCommand | None
    readiness: Readiness
    health: Mapping[str, int | None] = {}
    tests: TestRun | None = None
    probed: tuple[Probed, ...] = ()
    died: bool = False
    """Whether the service answered before the tests and not after them."""
    peak_memory_mb: float | None = None
    service_log: bytes = b""


async def observe(problem: ServiceProblem, submission: Path, lifecycle: Lifecycle, bench: Bench) -> Observed:
    """Deploy *submission*, run the task's HTTP tests against it and ask for its endpoints."""
    port = problem.task.port
    tree, start, installed, environment = await _installed(problem, submission, lifecycle, bench)
    async with deployed(tree, start, port, environment, lifecycle, bench) as deployment:
        readiness = await deployment.until_ready()
        seen = Observed(installed=installed, start=start, readiness=readiness)
        if readiness.answered_s is not None:
            # Waiting for turns and packages is free, so an install that was in time took no more than it might.
            spent_s = min(installed.seconds, lifecycle.install_s) + readiness.answered_s
            left_s = lifecycle.overall_s - spent_s
            seen = await _examined(seen, deployment, problem, submission, lifecycle, bench, left_s)
        update = {"service_log": deployment.log(), "peak_memory_mb": deployment.peak_memory_mb()}
        seen = seen.model_copy(update=update)
    if not seen.died:
        return seen
    again = replace(bench, scratch=bench.scratch / "again")
    again.scratch.mkdir()
    async with deployed(tree, start, port, environment, lifecycle, again) as deployment:
        await deployment.until_ready()
        probed = await probe_routes(deployment.caller, routes_of(problem), lifecycle.probing_s)
        return seen.model_copy(update={"probed": probed})


class _Ready(NamedTuple):
    """A submission that can be started."""

    tree: Path
    start: StartCommand | None
    installed: InstalledService | JavaInstalled
    environment: PythonEnvironment | JavaToolchain


async def _installed(problem: ServiceProblem, submission: Path, lifecycle: Lifecycle, bench: Bench) -> _Ready:
    if problem.task.language == "java":
        start = await asyncio.to_thread(find_java_start, submission)
        java = await install_java(submission, lifecycle, bench)
        return _Ready(java.tree, start, java, service_environment(java, lifecycle))
    start = await asyncio.to_thread(find_start, submission, problem.task.port)
    with_pip = start is not None and start.installs and lifecycle.start_installs
    python = await install_declared(submission, lifecycle, bench, with_pip=with_pip)
    await bench.builder.python(test_environment())  # built before the clock of the start runs
    return _Ready(submission, start, python, python.environment)


def routes_of(problem: ServiceProblem) -> tuple[ProbedRoute, ...]:
    """Return the specified endpoints as routes to ask for, with the bodies that the README shows."""
    samples = sample_bodies(problem.readme or "", problem.task.endpoints)
    bodies = {endpoint: json.dumps(body).encode() for endpoint, body in samples.items()}
    return tuple(
        ProbedRoute(method=one.method, path=one.path, body=bodies.get(one, b"")) for one in problem.task.endpoints
    )


async def _examined(
    seen: Observed,
    deployment: ServicePod,
    problem: ServiceProblem,
    submission: Path,
    lifecycle: Lifecycle,
    bench: Bench,
    left_s: float,
) -> Observed:
    """Ask for health, run the tests, and last ask for the endpoints, which may change or delete things."""
    paths = dict.fromkeys((*filter(None, [problem.task.health]), *lifecycle.health_paths))
    answers = await deployment.health(tuple(paths))
    update: dict[str, object] = {"health": {path: answer and answer.status for path, answer in answers.items()}}
    if speaks_to_service(problem):
        environment = await bench.builder.python(test_environment())
        allowed_s = max(1.0, min(bench.timeout_s or lifecycle.tests_s, left_s))
        tests = await asyncio.to_thread(_service_tests, problem, submission)
        update["tests"] = await run_tests(tests, environment, deployment.pod, lifecycle, bench.scratch, allowed_s)
        update["died"] = not await deployment.answers()
    if not update.get("died"):
        update["probed"] = await probe_routes(deployment.caller, routes_of(problem), lifecycle.probing_s)
    return seen.model_copy(update=update)


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
    path = submission / README
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_README:
        return {}
    return {README: path.read_bytes()}
