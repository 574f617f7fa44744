"""The official grader: the published harness step by step, faults included, in a rebuilt environment.

One sandbox stands for the container: the service and its tests share it, as published, and everything is read out
of what they print. What is wrong with that is in docs/repogenesis.md.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_bytes, digest_of
from groundup.domain.errors import TaskError, reading_submission
from groundup.domain.names import printable
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Reason, Score, Stage, Status, Verdict
from groundup.grading.context import GradingContext
from groundup.grading.last_words import last_words, middle_cut
from groundup.grading.services.deployment import lend_index, lend_maven, writable_environment
from groundup.grading.services.install import find_start
from groundup.grading.services.records import Lifecycle
from groundup.sandbox.protocol import CommandResult, Mount, SandboxSpec
from groundup.suites.base import Graded
from groundup.suites.repogenesis.driving import OUTPUT_BYTES, REPOSITORY, Drive, driven, driver
from groundup.suites.repogenesis.official_images import (
    RebuiltImage,
    build_image,
    build_java_image,
    java_image_spec,
    published_variables,
)
from groundup.suites.repogenesis.official_rules import (
    Deployed,
    LogCounts,
    OfficialCoverage,
    official_coverage,
    read_counts,
    read_deployment,
    read_surefire_counts,
    service_words,
)
from groundup.suites.repogenesis.service_grader import ServiceGrader, is_the_most
from groundup.suites.repogenesis.tasks import ServiceProblem, test_environment

_DRIVER = "official_driver.py"
_ANSWERED = re.compile(r"^(?:Service ready after|Port \d+ is open after) ", re.MULTILINE)
_BUILD_FAILED, _CONTAINER_TIMEOUT = -3, -1


class RepoGenesisOfficialGrader(ServiceGrader):
    """Does with a submission what the published harness does, and reads its log as it does."""

    name = "official"
    fixed_points = False  # as many as its log shows

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what decides a verdict besides the submission."""
        problem = self._problems.get(task.id)
        return {
            "task": None if problem is None else problem.task.graded_digest,
            "data": None if problem is None else problem.digest,
            "lifecycle": digest_of(list(self._lifecycles.values())),
            "driver": digest_bytes(driver(_DRIVER)),
        }

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Build, run, read the log."""
        problem = self._problem(task)
        began = time.monotonic()
        lifecycle = self._lifecycle_of(problem)
        is_by_maven = problem.task.means.by_maven
        build = build_java_image if is_by_maven else build_image
        image = await build(submission, problem.hidden_tests(), lifecycle, context)
        built = time.monotonic()
        exit_code, log, cut = _BUILD_FAILED, "", False
        if image.refused is None:
            exit_code, log, cut = _container_log(await self._run(problem, image, lifecycle, context), lifecycle)
        with reading_submission("the source code"):
            coverage = await asyncio.to_thread(official_coverage, problem.readme or "", submission)
        read = read_surefire_counts if is_by_maven else read_counts
        verdict = _with_coverage(_verdict(task, image, exit_code, log, read(log)), coverage)
        timings = {"build": round(built - began, 3), "total": round(time.monotonic() - began, 3)}
        facts = {**verdict.facts, **({"output_cut": True} if cut else {})}
        logs = {"container.txt": middle_cut(log.encode(errors="replace"), lifecycle.log_bytes)}
        resolution = image.environment.resolution if image.environment else None
        if resolution is not None:
            facts["resolution"] = resolution.label
            logs["resolved.txt"] = resolution.as_text()
        is_certain = is_the_most(problem, verdict)
        return Graded(verdict=verdict.but(timings_s=timings, facts=facts), logs=logs, is_certain=is_certain)

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return what the harness reports of a repository that it could not build: nothing was counted."""
        return Graded(
            verdict=_verdict_of(task, Deployed(success=False, message=reason.message), LogCounts(), (reason,))
        )

    async def _run(
        self, problem: ServiceProblem, image: RebuiltImage, lifecycle: Lifecycle, context: GradingContext
    ) -> CommandResult:
        settings: dict[str, object] = {
            "language": problem.task.language,
            "port": problem.task.port,
            "ready_s": round(lifecycle.ready_s),
            "tests_s": round(context.timeout_s or lifecycle.tests_s),
        }
        drive = Drive(_DRIVER, settings, cwd=REPOSITORY)
        if problem.task.means.by_maven:
            python = await context.builder.python(test_environment(None))
            spec = java_image_spec(problem.task, python, lifecycle, context)
            return await driven(drive._replace(python=python.executable, lend=lend_maven), spec, context)
        start = find_start(image.repository, problem.task.port)
        installs = start is not None and start.installs and lifecycle.start_installs
        spec = await asyncio.to_thread(self._spec, problem, image, lifecycle, context, installs=installs)
        return await driven(drive._replace(lend=lend_index if installs else None), spec, context)

    def _spec(
        self,
        problem: ServiceProblem,
        image: RebuiltImage,
        lifecycle: Lifecycle,
        context: GradingContext,
        *,
        installs: bool,
    ) -> SandboxSpec:
        if image.environment is None:
            raise TaskError(f"{problem.task.id}: nothing was built")
        environment = image.environment
        mounts = writable_environment(environment, context) if installs else environment.mounts
        return SandboxSpec(
            workspace=context.scratch / "workspace",
            mounts=(*mounts, Mount(source=image.repository, target=REPOSITORY, writable=True)),
            environment={**environment.environment, **published_variables(problem.task, lifecycle)},
            path=environment.path,
            limits=lifecycle.service.for_command(lifecycle.overall_s, output_bytes=OUTPUT_BYTES),
            user="root",
            throw_away_root=True,
            label="published container",
        )


def _container_log(result: CommandResult, lifecycle: Lifecycle) -> tuple[int, str, bool]:
    """Return exit code and log as the harness gets them: standard output, then standard error."""
    if result.ending.is_out_of_time:
        return _CONTAINER_TIMEOUT, f"Container timed out after {lifecycle.overall_s:.0f}s", False
    log = result.stdout.decode(errors="replace") + "\n" + result.stderr.decode(errors="replace")
    return 137 if result.exit_code is None else result.exit_code, log, result.truncated


def _verdict(task: Task, image: RebuiltImage, exit_code: int, log: str, counts: LogCounts) -> Verdict:
    deployed = read_deployment(log)
    reasons = []
    if image.refused is not None:
        reasons.append(Reason(stage=Stage.INSTALL, message=f"the image cannot be built: {image.refused}"[:400]))
    elif exit_code == _CONTAINER_TIMEOUT:
        reasons.append(Reason(stage=Stage.TIMEOUT, message=log[:400]))
    if not deployed.success:
        said = last_words(service_words(log).encode())
        sentence = printable(deployed.message)[:200] or "Unknown"
        reasons.append(Reason(stage=Stage.START, message=sentence + (f"; last words: {said}" if said else "")))
    if counts.passed < counts.total or not counts.total:
        sentence = f"{counts.passed} passed, {counts.failed} failed, {counts.errors} errors"
        reasons.append(Reason(stage=Stage.TEST, message=sentence))
    verdict = _verdict_of(task, deployed, counts, tuple(reasons))
    facts = {**verdict.facts, "exit_code": exit_code, "installed": image.installed}
    # Tests of a service that merely lived when the wait was over began before it answered.
    merely_lived = deployed.success and not _ANSWERED.search(log)
    by_time = exit_code == _CONTAINER_TIMEOUT or image.late or (merely_lived and counts.rate < 1)
    return verdict.but(facts=facts, cacheable=not by_time, by_time=by_time)


def _with_coverage(verdict: Verdict, coverage: OfficialCoverage) -> Verdict:
    """Return *verdict* with the published API coverage, which does not depend on the container."""
    found, extracted = len(coverage.found), len(coverage.extracted)
    score = Score(numerator=found, denominator=extracted)
    facts = {**verdict.facts, "total_apis": extracted, "implemented_apis": found, "coverage": coverage.score}
    return verdict.but(scores={**verdict.scores, "api_coverage": score}, facts=facts)


def _verdict_of(task: Task, deployed: Deployed, counts: LogCounts, reasons: tuple[Reason, ...]) -> Verdict:
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=counts.passed, denominator=counts.total),
        scores={"deployed": Score(numerator=int(deployed.success), denominator=1)},
        facts={
            "dsr_success": deployed.success,
            "dsr_message": printable(deployed.message)[:200],
            "passed": counts.passed,
            "failed": counts.failed,
            "errors": counts.errors,
            "total": counts.total,
            "pass_at_1": counts.rate,
        },
        reasons=reasons,
        grader=RepoGenesisOfficialGrader.signature(task),
    )
