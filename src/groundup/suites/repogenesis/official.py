"""The official grader: the published harness step by step, faults included, in a rebuilt environment.

One sandbox stands for the container: the service and its tests share it, as published, and everything is read out
of what they print. What is wrong with that is in docs/repogenesis.md.

The published images and their containers, rebuilt: /repo and its packages, and Maven for Java.

Unlike the published container, nothing but the user's Maven repositories can be reached. What a project's build
files name is at hand from the start, resolved once; that saves time and changes nothing else.
"""

import asyncio
import fnmatch
import json
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typing_extensions import override

from groundup.domain.digests import digest_bytes, digest_of
from groundup.domain.errors import SubmissionError, TaskError, reading_submission
from groundup.domain.limits import Limits
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Reason, Score, Stage, Status, Verdict
from groundup.environments.requests import REPOSITORY_TARGET, MavenRequest, PythonEnvironment, ResolvedRequest
from groundup.grading.context import GradingContext
from groundup.grading.java.installing import JAVA, POM, java_builder, project_files
from groundup.grading.last_words import last_words, middle_cut
from groundup.grading.services.deployment import lend_index, lend_maven, writable_environment
from groundup.grading.services.install import Lifecycle, find_start, importing, read_declared, words_of
from groundup.sandbox.protocol import Command, CommandResult, Ending, Mount, SandboxSpec
from groundup.suites.base import Graded
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
from groundup.suites.repogenesis.service_grader import ServiceGrader
from groundup.suites.repogenesis.tasks import ServiceProblem, ServiceTask, driver, test_environment
from groundup.trees.writer import copy_tree

_LEFT_OUT = (".git", "__pycache__", "*.pyc", ".DS_Store", "node_modules", ".venv", "venv")
_LEFT_OUT_TESTS = ("__pycache__", "*.pyc", ".DS_Store")
_CORE = ("pytest", "pytest-json-report", "requests", "httpx")
_TESTS = "tests"


class RebuiltImage(Record):
    """A folder that stands for /repo, and the environment; or why the published build fails."""

    repository: Path
    environment: PythonEnvironment | None = None
    installed: str = "declared"
    refused: str | None = None
    late: bool = False
    """Whether it was refused for taking too long."""


async def build_image(
    submission: Path, hidden_tests: Path, lifecycle: Lifecycle, context: GradingContext
) -> RebuiltImage:
    """Copy, lay the hidden tests over, install. Raises `InfrastructureError`."""
    repository = context.scratch / "repo"
    refused = await asyncio.to_thread(_lay_out, submission, hidden_tests, repository)
    if refused is not None:
        return RebuiltImage(repository=repository, refused=refused)
    # Of the submission alone: what builds its requirements sees them.
    names = await asyncio.to_thread(words_of, submission)
    environment, installed = await _install(repository, names, lifecycle, context)
    return RebuiltImage(repository=repository, environment=environment, installed=installed)


def _lay_out(submission: Path, hidden_tests: Path, repository: Path) -> str | None:
    copy_tree(submission, repository)
    left_out(repository)
    tests = repository / _TESTS
    if tests.is_symlink() or (tests.exists() and not tests.is_dir()):
        return "tests is no folder, so the hidden tests cannot be copied there"
    shutil.copytree(
        hidden_tests, tests, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_LEFT_OUT_TESTS), symlinks=True
    )
    return None


def left_out(repository: Path) -> None:
    """Remove what the published copy leaves out."""
    _remove(repository, _LEFT_OUT)


def _remove(root: Path, patterns: Iterable[str]) -> None:
    patterns = tuple(patterns)
    for path in sorted(root.rglob("*"), key=lambda item: len(item.parts)):
        if any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.is_symlink() or path.exists():
                path.unlink()


async def _install(
    repository: Path, names: tuple[str, ...], lifecycle: Lifecycle, context: GradingContext
) -> tuple[PythonEnvironment, str]:
    """Install what pip would have in the end: every failing step is skipped, as published."""
    declared = await asyncio.to_thread(read_declared, repository)
    tests = await asyncio.to_thread(read_declared, repository, f"{_TESTS}/requirements.txt")
    testing = (*(() if tests is None or tests.problem else tests.requirements), *_CORE)
    pins = tuple(line.partition(" ")[0] for line in lifecycle.fallback)
    if declared is None:
        tries = [(pins, testing, "fallback"), (pins, _CORE, "fallback")]
    elif declared.problem is not None:
        tries = []
    else:
        own = declared.requirements
        tries = [
            (own, testing, "declared"),
            (_without(own, testing), testing, "declared"),
            (own, _CORE, "declared"),
        ]
    for first, second, tried in (*tries, ((), testing, "nothing"), ((), _CORE, "nothing")):
        request = ResolvedRequest(
            python=lifecycle.python,
            requirements=(*first, *second),
            with_pip=True,
            begins_with=_CORE,
            names=names,
        )
        try:
            environment = await context.builder.submission_environment(request)
            return importing(environment, declared, REPOSITORY), tried
        except SubmissionError:
            continue
    raise SubmissionError("not even pytest can be installed for the published tests; see the log of the build")


def _without(own: Iterable[str], testing: Iterable[str]) -> tuple[str, ...]:
    """Return the requirements of *own* that those of the tests, installed later, do not replace."""
    replaced = {canonicalize_name(Requirement(line).name) for line in testing}
    return tuple(line for line in own if canonicalize_name(Requirement(line).name) not in replaced)


REPOSITORY = "/repo"
_TRUSTED = "/opt/groundup"
_GOLDEN = f"{_TRUSTED}/golden"
_BUILD_S = 600.0
"""The published limit for building an image."""
_BUILD = f"""
set -e
if [ -f pom.xml ]; then
    mvn dependency:go-offline -q 2>/dev/null || true
    for name in maven.compiler.source maven.compiler.target source target; do
        sed -i "s|<$name>11</$name>|<$name>17</$name>|g" pom.xml
    done
fi
rm -rf src/test
mkdir -p src
cp -r {_GOLDEN} src/test
if [ -f pom.xml ]; then mvn clean compile -DskipTests -q 2>/dev/null || true; fi
"""
_SAID = 200


async def build_java_image(
    submission: Path, hidden_tests: Path, lifecycle: Lifecycle, context: GradingContext
) -> RebuiltImage:
    """Copy, fetch, raise Java 11 to 17, lay the hidden tests over, compile. Raises `InfrastructureError`."""
    repository, packages = context.scratch / "repo", _packages(context)
    await asyncio.to_thread(copy_tree, submission, repository)
    await asyncio.to_thread(left_out, repository)
    await seed_repository(repository, packages, context)
    limits = lifecycle.service.for_command(_BUILD_S)
    (context.scratch / "building").mkdir()
    golden = Mount(source=hidden_tests, target=_GOLDEN)
    spec = _spec(context.scratch / "building", (golden,), {}, limits, context)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(await context.provider.open(spec))
        variables = await lend_maven(stack, sandbox, context)
        command = Command(argv=("bash", "-c", _BUILD), cwd=REPOSITORY, environment=variables)
        result = await sandbox.run(command)
    late = result.ending.is_out_of_time
    return RebuiltImage(repository=repository, installed="maven", refused=_refused(result), late=late)


async def run_java_image(
    task: ServiceTask,
    driver: bytes,
    settings: dict[str, object],
    lifecycle: Lifecycle,
    output_bytes: int,
    context: GradingContext,
) -> CommandResult:
    """Start the service and the tests in one sandbox that stands for the container."""
    workspace, trusted = context.scratch / "workspace", context.scratch / "driver"
    workspace.mkdir()
    trusted.mkdir()
    (trusted / "official_driver.py").write_bytes(driver)
    python = await context.builder.python(test_environment(None))
    limits = lifecycle.service.for_command(lifecycle.overall_s, output_bytes=output_bytes)
    variables = {**python.environment, **published_variables(task, lifecycle)}
    mounts = (*python.mounts, Mount(source=trusted, target=_TRUSTED))
    spec = _spec(workspace, mounts, variables, limits, context)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(await context.provider.open(spec))
        lent = await lend_maven(stack, sandbox, context)
        settings["owed_at"] = context.lent[-1].owed_at if context.lent else ""
        return await sandbox.run(
            Command(
                argv=(python.executable, "-I", f"{_TRUSTED}/official_driver.py"),
                cwd=REPOSITORY,
                environment=lent,
                stdin=json.dumps(settings).encode(),
            )
        )


def published_variables(task: ServiceTask, lifecycle: Lifecycle) -> dict[str, str]:
    """Return the variables that the published harness gives its container."""
    return {
        "LANG": task.language,  # the published entry point overwrites the locale with the language
        "REPO_LANG": task.language,
        "SERVICE_PORT": str(task.port),
        "STARTUP_TIMEOUT": str(round(lifecycle.ready_s)),
        "TEST_TIMEOUT": str(round(lifecycle.tests_s)),
    }


async def seed_repository(repository: Path, packages: Path, context: GradingContext) -> None:
    """Fill the local repository with what the build files name, where that can be resolved."""
    files = await asyncio.to_thread(project_files, repository)
    if POM in files:
        try:
            found = await java_builder(context).repository(MavenRequest(files=files, java=JAVA))
        except SubmissionError:
            pass
        else:
            await asyncio.to_thread(copy_tree, found.layer.path, packages)
            return
    packages.mkdir()


def _spec(
    workspace: Path, mounts: tuple[Mount, ...], variables: dict[str, str], limits: Limits, context: GradingContext
) -> SandboxSpec:
    toolchain = java_builder(context).toolchain(JAVA)
    return SandboxSpec(
        workspace=workspace,
        mounts=(
            *toolchain.mounts,
            *mounts,
            Mount(source=context.scratch / "repo", target=REPOSITORY, writable=True),
            Mount(source=_packages(context), target=REPOSITORY_TARGET, writable=True),
        ),
        environment={**toolchain.environment_within(limits.memory_mb), **variables},
        path=toolchain.path,
        limits=limits,
        user="root",
        system="host",
        throw_away_root=True,
        label="published container",
    )


def _packages(context: GradingContext) -> Path:
    return context.scratch / "maven-repository"


def _refused(result: CommandResult) -> str | None:
    if result.ok:
        return None
    if result.ending is not Ending.EXITED:
        return f"the image was not built: {result.ending}"
    return (result.stderr or result.stdout).decode(errors="replace").strip()[-_SAID:] or "a step failed"


_REPOSITORY = "/repo"
_DRIVER = "/opt/groundup/official_driver.py"
_OUTPUT_BYTES = 32 * 1024 * 1024
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
            "task": None if problem is None else digest_of(problem.task),
            "data": None if problem is None else problem.digest,
            "lifecycle": digest_of(list(self._lifecycles.values())),
            "driver": digest_bytes(_driver()),
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
        return Graded(verdict=verdict.but(timings_s=timings, facts=facts), logs=logs)

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
        if problem.task.means.by_maven:
            return await run_java_image(problem.task, _driver(), settings, lifecycle, _OUTPUT_BYTES, context)
        start = find_start(image.repository, problem.task.port)
        installs = start is not None and start.installs and lifecycle.start_installs
        spec = await asyncio.to_thread(self._spec, problem, image, lifecycle, context, installs=installs)
        async with AsyncExitStack() as stack:
            sandbox = await stack.enter_async_context(await context.provider.open(spec))
            variables = await lend_index(stack, sandbox, context) if installs else {}
            settings["owed_at"] = context.lent[-1].owed_at if context.lent else ""
            return await sandbox.run(
                Command(
                    argv=("python", "-I", _DRIVER),
                    cwd=_REPOSITORY,
                    environment=variables,
                    stdin=json.dumps(settings).encode(),
                )
            )

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
        workspace, trusted = context.scratch / "workspace", context.scratch / "driver"
        workspace.mkdir()
        trusted.mkdir()
        (trusted / "official_driver.py").write_bytes(_driver())
        environment = image.environment
        mounts = writable_environment(environment, context) if installs else environment.mounts
        return SandboxSpec(
            workspace=workspace,
            mounts=(
                *mounts,
                Mount(source=trusted, target="/opt/groundup"),
                Mount(source=image.repository, target=_REPOSITORY, writable=True),
            ),
            environment={**environment.environment, **published_variables(problem.task, lifecycle)},
            path=environment.path,
            limits=lifecycle.service.for_command(lifecycle.overall_s, output_bytes=_OUTPUT_BYTES),
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


def _driver() -> bytes:
    return driver("official_driver.py")
