"""The legacy grader: the numbers of the scripts before the harness, those of the published tables.

Three scripts in one: is the service alive after some seconds, how many hidden tests pass while it runs, and which
endpoints have a trace in the sources. What is wrong with that is in docs/repogenesis.md.
"""

import asyncio
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_bytes, digest_of
from groundup.domain.errors import reading_submission
from groundup.domain.names import printable
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Reason, Score, Stage, Status, Verdict
from groundup.grading.context import GradingContext
from groundup.grading.last_words import middle_cut
from groundup.grading.services.deployment import lend_index, writable_environment
from groundup.grading.services.install import find_start
from groundup.grading.services.records import Lifecycle
from groundup.sandbox.protocol import Mount, SandboxSpec
from groundup.suites.base import Graded
from groundup.suites.repogenesis.driving import OUTPUT_BYTES, REPOSITORY, TRUSTED, Drive, driven, driver
from groundup.suites.repogenesis.legacy_driving import (
    HANGING_S,
    LEGACY_DRIVER,
    LegacyOutcome,
    read_outcome,
    seen_inside,
)
from groundup.suites.repogenesis.legacy_java import JavaScripts, LegacyInstallation, install
from groundup.suites.repogenesis.legacy_rules import (
    HANGING,
    INSTALL_TIMEOUT,
    NO_SCRIPT,
    NOT_INSTALLED,
    TIMEOUT,
    UNKNOWN,
    CodeMetrics,
    LegacyCounts,
    LegacyCoverage,
    Started,
    code_metrics,
    count_tests,
    files_named,
    find_file,
    legacy_coverage,
    legacy_denominator,
    read_output,
    read_start,
)
from groundup.suites.repogenesis.service_grader import ServiceGrader, is_the_most
from groundup.suites.repogenesis.tasks import README, ServiceProblem
from groundup.trees.writer import copy_tree, in_thread

_WAIT_S: Mapping[str, int] = {"python": 10, "java": 15}
_LARGEST_README = 1024 * 1024
_PORT: Mapping[str, Mapping[str, str]] = {"deployment": {"PORT": "8000"}, "tests": {}}
"""What the scripts tell a service, whatever its task's port."""


class LegacyGrader(ServiceGrader):
    """Does with a submission what the scripts before the harness did, and reads their output as they do."""

    name = "legacy"
    fixed_points = False  # as many as its output shows

    def __init__(
        self,
        problems: Mapping[str, ServiceProblem],
        lifecycle: Lifecycle,
        java: Lifecycle | None = None,
        wait_s: int | None = None,
    ) -> None:
        super().__init__(problems, lifecycle, java)
        self._lifecycle = lifecycle
        self._waits = _WAIT_S if wait_s is None else dict.fromkeys(_WAIT_S, wait_s)

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what decides a verdict besides the submission."""
        problem = self._problems.get(task.id)
        language = "python" if problem is None else problem.task.language
        return {
            "task": None if problem is None else problem.task.graded_digest,
            "data": None if problem is None else problem.digest,
            "lifecycle": digest_of(self._lifecycles[language]),
            "wait_s": self._waits[language],
            "driver": digest_bytes(driver(LEGACY_DRIVER)),
        }

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Deploy, test, and read the sources."""
        problem = self._problem(task)
        if problem.task.means.by_maven:
            return await self._grade_java(task, problem, submission, context)
        began = time.monotonic()
        repository, counted = context.scratch / "repo", context.scratch / "counted"
        await in_thread(copy_tree, submission, repository)
        installed = await install(repository, problem.hidden_tests(), self._lifecycle, context)
        built = time.monotonic()
        started = await self._deploy(repository, installed, problem, context)
        deployed = time.monotonic()
        outcome = await self._test(repository, installed, problem, context)
        tests = read_output(outcome.output)
        tested = time.monotonic()
        with reading_submission("the source code"):
            metrics = await asyncio.to_thread(_metrics, submission, problem, counted)
            coverage = await asyncio.to_thread(_coverage, submission, problem)
        parsed = count_tests(problem.hidden_tests(), "python")
        verdict = _verdict(task, started, tests, parsed, coverage, metrics)
        timings = {"build": built - began, "deployment": deployed - built, "tests": tested - deployed}
        timings["total"] = time.monotonic() - began
        update = _timed(timings)
        by_time = outcome.output == TIMEOUT or installed.outcome == "timeout"
        update |= {"cacheable": not by_time and outcome.is_readable, "by_time": by_time}
        resolution = installed.environment.resolution
        logs = {"pytest.txt": middle_cut(outcome.output.encode(errors="replace"), self._lifecycle.log_bytes)}
        if resolution is not None:
            update["facts"] = {**verdict.facts, "resolution": resolution.label}
            logs["resolved.txt"] = resolution.as_text()
        return Graded(verdict=verdict.but(**update), logs=logs, is_certain=is_the_most(problem, verdict))

    async def _grade_java(
        self, task: Task, problem: ServiceProblem, submission: Path, context: GradingContext
    ) -> Graded:
        began = time.monotonic()
        lifecycle = self._lifecycle_of(problem)
        scripts = JavaScripts(submission, problem, lifecycle, context)
        started, printed = await scripts.deploy(_PORT["deployment"])
        deployed = time.monotonic()
        tests, output, ended = await scripts.test(self._waits["java"])
        tested = time.monotonic()
        with reading_submission("the source code"):
            parsed, metrics = await asyncio.to_thread(scripts.count, context.scratch / "counted")
            coverage = await asyncio.to_thread(_coverage, submission, problem)
        verdict = _verdict(task, started, tests, parsed, coverage, metrics)
        timings = {"deployment": deployed - began, "tests": tested - deployed, "total": time.monotonic() - began}
        texts = {"deployment.txt": printed, "maven.txt": output}
        cut = {
            name: middle_cut(text.encode(errors="replace"), lifecycle.log_bytes) for name, text in texts.items()
        }
        update = {**_timed(timings), "cacheable": ended, "by_time": not ended}
        return Graded(verdict=verdict.but(**update), logs=cut)

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return what the scripts say of a repository of which nothing runs."""
        problem = self._problem(task)
        nothing = Started(success=False, message=reason.message)
        tests = LegacyCounts(coverage=None if problem.task.means.by_maven else 0.0)
        parsed = count_tests(problem.hidden_tests(), problem.task.language)
        verdict = _verdict(task, nothing, tests, parsed, _no_coverage(problem), CodeMetrics())
        return Graded(verdict=verdict.but(reasons=(reason,)))

    async def _deploy(
        self, repository: Path, installed: LegacyInstallation, problem: ServiceProblem, context: GradingContext
    ) -> Started:
        """Look whether the service is alive after a while; without a declaration that installs it is not asked."""
        if installed.outcome in ("undeclared", "failed", "timeout"):
            messages = {"undeclared": UNKNOWN, "failed": NOT_INSTALLED}
            late = INSTALL_TIMEOUT.format(self._lifecycle.install_s)
            return Started(success=False, message=messages.get(installed.outcome, late))
        script = find_file(repository, "start.sh")
        if script is None:
            return Started(success=False, message=NO_SCRIPT)
        settings: dict[str, object] = {
            "phase": "deployment",
            "script": seen_inside(repository, script),
            "alive_s": round(self._lifecycle.ready_s),
            "install": None,
            "install_s": self._lifecycle.install_s,
            "hanging_s": HANGING_S,
        }
        if installed.outcome == "package" and installed.configuration is not None:
            settings["install"] = seen_inside(repository, installed.configuration.parent)
        outcome = await self._drive("deployment", repository, installed, problem, settings, context)
        if outcome.install is not None:
            late = INSTALL_TIMEOUT.format(self._lifecycle.install_s)
            return Started(success=False, message=late if outcome.install == "timeout" else NOT_INSTALLED)
        if outcome.hanging or not outcome.is_readable:
            return Started(success=False, message=HANGING)
        return read_start(outcome.exit_code, outcome.output)

    async def _test(
        self, repository: Path, installed: LegacyInstallation, problem: ServiceProblem, context: GradingContext
    ) -> LegacyOutcome:
        scripts = files_named(repository, "start.sh")
        settings: dict[str, object] = {
            "phase": "tests",
            "script": seen_inside(repository, scripts[0]) if scripts else None,
            "wait_s": self._waits["python"],
            "repository": REPOSITORY,
            "tests": f"{TRUSTED}/tests",
            "tests_s": round(context.timeout_s or self._lifecycle.tests_s),
        }
        return await self._drive("tests", repository, installed, problem, settings, context)

    async def _drive(
        self,
        phase: str,
        repository: Path,
        installed: LegacyInstallation,
        problem: ServiceProblem,
        settings: Mapping[str, object],
        context: GradingContext,
    ) -> LegacyOutcome:
        """Run the driver on a fresh copy of *repository* and return what it printed last."""
        place = context.scratch / phase
        await in_thread(copy_tree, repository, place / "repo")
        environment, lifecycle = installed.environment, self._lifecycle
        installs = bool(settings.get("install")) or await asyncio.to_thread(_speaks_of_installers, repository)
        mounts = environment.mounts
        if installs:
            own = replace(context, scratch=place)
            mounts = await asyncio.to_thread(writable_environment, environment, own)
        spec = SandboxSpec(
            workspace=place / "workspace",
            mounts=(*mounts, Mount(source=place / "repo", target=REPOSITORY, writable=True)),
            environment=environment.environment,
            path=environment.path,
            limits=lifecycle.service.for_command(lifecycle.overall_s, output_bytes=OUTPUT_BYTES),
            label=f"older scripts, {phase}",
        )
        drive = Drive(
            LEGACY_DRIVER,
            settings,
            variables=_PORT[phase],
            tests=problem.hidden_tests(),
            lend=lend_index if installs else None,
        )
        return read_outcome(await driven(drive, spec, context))


def _speaks_of_installers(repository: Path) -> bool:
    """Whether a script may want the package index, which the older scripts' services could reach."""
    start = find_start(repository, 0)
    return start is not None and start.installs


def _metrics(submission: Path, problem: ServiceProblem, place: Path) -> CodeMetrics:
    """Count the repository as the scripts leave it: with the hidden tests in the place of its own."""
    copy_tree(submission, place)
    tests = place / "tests"
    if tests.is_symlink() or tests.is_file():
        tests.unlink()
    elif tests.exists():
        shutil.rmtree(tests)
    shutil.copytree(problem.hidden_tests(), tests, symlinks=True)
    return code_metrics(place, "python")


def _coverage(submission: Path, problem: ServiceProblem) -> LegacyCoverage:
    """Look for the endpoints of the submission's own README, or of the task's where it has none."""
    own = submission / README
    if own.is_file() and not own.is_symlink() and own.stat().st_size <= _LARGEST_README:
        return legacy_coverage(own.read_text(encoding="utf-8", errors="ignore"), submission)
    return legacy_coverage(problem.readme or "", submission)


def _no_coverage(problem: ServiceProblem) -> LegacyCoverage:
    return legacy_coverage(problem.readme or "", Path("/nonexistent"))


def _timed(timings: Mapping[str, float]) -> dict[str, object]:
    return {"timings_s": {name: round(value, 3) for name, value in timings.items()}}


def _verdict(
    task: Task, started: Started, tests: LegacyCounts, parsed: int, coverage: LegacyCoverage, metrics: CodeMetrics
) -> Verdict:
    total = legacy_denominator(parsed, tests.reported)
    reasons = []
    if not started.success:
        said = f"; last words: {started.said}" if started.said else ""
        reasons.append(Reason(stage=Stage.START, message=printable(started.message)[:200] + said))
    if tests.passed < total or not total:
        sentence = f"{tests.passed} of {total} tests passed; {parsed} found by reading, {tests.reported} reported"
        reasons.append(Reason(stage=Stage.TEST, message=sentence))
    scores = {
        "deployed": Score(numerator=int(started.success), denominator=1),
        "api_coverage": Score(numerator=coverage.implemented, denominator=coverage.total),
    }
    if tests.coverage is not None:
        scores["test_coverage"] = Score(numerator=tests.coverage, denominator=100)
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=tests.passed, denominator=total),
        scores=scores,
        facts={
            "dsr_success": started.success,
            "dsr_message": printable(started.message)[:200],
            "passed": tests.passed,
            "failed": total - tests.passed - tests.skipped,
            **({} if tests.coverage is not None else {"skipped": tests.skipped}),
            "parsed": parsed,
            "reported": tests.reported,
            **metrics.model_dump(),
        },
        reasons=tuple(reasons),
        grader=LegacyGrader.signature(task),
    )
