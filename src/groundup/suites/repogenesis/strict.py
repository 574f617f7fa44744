"""The strict grader: deployment, pass rate and API coverage as they should have been. See docs/services.md.

Joins what was observed of a submission into a verdict. Tests run only against a service that answers, and nothing
is read from what it prints.
"""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_bytes, digest_of
from groundup.domain.errors import TaskError
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason
from groundup.grading.bench import Bench
from groundup.grading.java.installing import JavaInstalled, install_java, java_tools, service_environment
from groundup.grading.java.running import runner_source as java_runner_source
from groundup.grading.java.testing import run_java_tests
from groundup.grading.library import runner_source
from groundup.grading.services.deployment import service_spec
from groundup.grading.services.install import install_declared
from groundup.grading.services.records import Lifecycle
from groundup.grading.services.start import StartCommand, find_java_start, find_start
from groundup.grading.services.testing import TestRun, middle_cut
from groundup.sandbox.protocol import SandboxSpec
from groundup.suites.base import Graded, Grader
from groundup.suites.repogenesis.coverage import Coverage, covered
from groundup.suites.repogenesis.data import ServiceProblem, expected_seconds
from groundup.suites.repogenesis.in_process import run_in_process
from groundup.suites.repogenesis.observing import Observed, observe, speaks_to_service
from groundup.suites.repogenesis.shipped import test_environment
from groundup.suites.repogenesis.strict_verdict import strict_verdict, zero_verdict

VERSION = "1"
_RESERVATION_MB = 768
_JAVA_RESERVATION_MB = 1024


class RepoGenesisStrictGrader(Grader):
    """Deploys a submission, tests it from another sandbox, and asks for its endpoints."""

    name = "strict"
    version = VERSION

    def __init__(
        self, problems: Mapping[str, ServiceProblem], lifecycle: Lifecycle, java: Lifecycle | None = None
    ) -> None:
        self._problems = problems
        self._lifecycles = {"python": lifecycle, "java": java or lifecycle}

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return what a service and its tests use as a rule; their limits are higher."""
        problem = self._problems.get(task.id)
        is_java = problem is not None and problem.task.language == "java"
        return min(task.limits.memory_mb, _JAVA_RESERVATION_MB if is_java else _RESERVATION_MB)

    @override
    def expected_s(self, task: Task) -> float:
        """Return what its language and its tests take as a rule."""
        return expected_seconds(self._problems.get(task.id))

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what decides a verdict besides the submission."""
        problem = self._problems.get(task.id)
        return {
            "task": None if problem is None else digest_of(problem.task),
            "data": None if problem is None else problem.digest,
            "lifecycle": digest_of(list(self._lifecycles.values())),
            "tests": digest_of(test_environment()),
            "runner": digest_bytes(runner_source()),
            "java": digest_bytes(java_runner_source()),
        }

    @override
    async def layers(self, task: Task, bench: Bench) -> Mapping[str, str]:
        """Return the layer of the tests' environment; for Java the tools, whose layers submissions decide."""
        problem = self._problems.get(task.id)
        if problem is not None and problem.task.language == "java":
            return java_tools(bench)
        environment = await bench.builder.python(test_environment())
        return {environment.layer.kind: environment.layer.digest}

    @override
    async def grade(self, task: Task, submission: Path, bench: Bench) -> Graded:
        """Install, start, wait, test, probe."""
        problem = self._gradable(task)
        began = time.monotonic()
        lifecycle = self._lifecycles[problem.task.language]
        observed = await observe(problem, submission, lifecycle, bench)
        if not speaks_to_service(problem):
            tests = await _in_process(problem, submission, observed, lifecycle, bench)
            observed = observed.model_copy(update={"tests": tests})
        coverage = await asyncio.to_thread(covered, problem, submission, observed.probed)
        timings = {
            "install": round(observed.installed.seconds, 3),
            "ready": observed.readiness.answered_s or 0.0,
            "tests": round(observed.tests.seconds, 3) if observed.tests else 0.0,
            "total": round(time.monotonic() - began, 3),
        }
        verdict = strict_verdict(problem, observed, coverage, _identity(task))
        return Graded(
            verdict=verdict.model_copy(update={"timings_s": timings}),
            tests=observed.tests.as_records() if observed.tests else (),
            logs=_logs(observed, coverage, lifecycle.log_bytes),
        )

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return 0 over the frozen counts, for a submission that could not be taken in."""
        return Graded(verdict=zero_verdict(self._gradable(task), reason, _identity(task)))

    @override
    async def sandbox_spec(self, task: Task, workspace: Path, bench: Bench) -> SandboxSpec:
        """Return the service's sandbox around *workspace*, for looking around; nothing is started."""
        problem = self._gradable(task)
        port, lifecycle = problem.task.port, self._lifecycles[problem.task.language]
        if problem.task.language == "java":
            java = await install_java(workspace, lifecycle, bench)
            start = find_java_start(workspace) or StartCommand(found="nothing", argv=("true",))
            environment = service_environment(java, lifecycle)
            return _for_looking(service_spec(java.tree, start, port, environment, lifecycle, bench))
        start = find_start(workspace, port) or StartCommand(found="nothing", argv=("true",))
        installed = await install_declared(workspace, lifecycle, bench, with_pip=start.installs)
        return _for_looking(service_spec(workspace, start, port, installed.environment, lifecycle, bench))

    def _gradable(self, task: Task) -> ServiceProblem:
        problem = self._problems.get(task.id)
        if problem is None:
            raise TaskError(
                f"{task.id} is not in this suite's data; fetch it with `groundup data pull repogenesis`"
            )
        problem.hidden_tests()
        return problem


async def _in_process(
    problem: ServiceProblem, submission: Path, observed: Observed, lifecycle: Lifecycle, bench: Bench
) -> TestRun:
    if isinstance(observed.installed, JavaInstalled):
        count = problem.task.tests.count
        return await run_java_tests(problem.hidden_tests(), count, observed.installed, lifecycle, bench)
    return await run_in_process(problem, submission, lifecycle, bench)


def _for_looking(spec: SandboxSpec) -> SandboxSpec:
    limits = spec.limits.model_copy(update={"command_s": 24 * 3600.0, "wall_clock_s": 24 * 3600.0})
    return spec.model_copy(update={"limits": limits})


def _identity(task: Task) -> GraderIdentity:
    return GraderIdentity(name=RepoGenesisStrictGrader.name, version=VERSION, data_version=task.data_version)


def _logs(observed: Observed, coverage: Coverage, limit: int) -> dict[str, bytes]:
    """Return what people may want to read; nothing was decided from it."""
    logs = {"service.txt": middle_cut(observed.service_log, limit), "endpoints.txt": coverage.as_text()}
    if observed.tests is not None:
        logs["tests.txt"] = observed.tests.log
    if isinstance(observed.installed, JavaInstalled):
        logs["install.txt"] = middle_cut(observed.installed.log, limit)
        return logs
    resolution = observed.installed.environment.resolution
    if resolution is not None:
        logs["resolved.txt"] = resolution.as_text()
    if observed.installed.message or observed.installed.notes:
        told = [observed.installed.message, *(f"not heeded: {note}" for note in observed.installed.notes)]
        logs["install.txt"] = "".join(f"{line}\n" for line in told if line).encode()
    return logs
