"""What the scripts before the harness install, and what they do with a repository in Java.

The scripts install into the interpreter that runs them: always pytest with coverage and common frameworks, then
all requirements.txt of the repository and of the hidden tests, each failing one skipped. Whether a repository is
deployed depends on the first declaration alone, which must be installable.

Each phase begins with the submission as it was handed in, beside a local repository that holds what its build
files name. Nothing but the user's Maven repositories can be reached.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from groundup.domain.errors import SubmissionError
from groundup.domain.records import Record
from groundup.environments.failures import OutOfTimeError
from groundup.environments.requests import REPOSITORY_TARGET, PythonEnvironment, ResolvedRequest
from groundup.grading.context import GradingContext
from groundup.grading.java.installing import JAVA, POM, java_builder
from groundup.grading.services.deployment import lend_maven
from groundup.grading.services.install import read_declared
from groundup.grading.services.records import Lifecycle
from groundup.inside.legacy_driver import lay_java_tests
from groundup.sandbox.protocol import Mount, SandboxSpec
from groundup.suites.repogenesis.driving import OUTPUT_BYTES, REPOSITORY, TRUSTED, Drive, driven
from groundup.suites.repogenesis.legacy_driving import (
    HANGING_S,
    LEGACY_DRIVER,
    LegacyOutcome,
    read_outcome,
    seen_inside,
)
from groundup.suites.repogenesis.legacy_rules import (
    BUILD_TIMEOUT,
    CONFIGURATIONS,
    HANGING,
    NO_SCRIPT,
    NOT_BUILT,
    UNKNOWN,
    CodeMetrics,
    LegacyCounts,
    Started,
    code_metrics,
    count_tests,
    files_named,
    find_file,
    read_java_tests,
    read_start,
)
from groundup.suites.repogenesis.official_images import seed_repository
from groundup.suites.repogenesis.tasks import ServiceProblem, test_environment
from groundup.trees.writer import copy_tree, in_thread

GLOBAL = ("pytest", "pytest-cov", "uvicorn", "requests", "fastapi", "flask", "django")
_REQUIREMENTS = CONFIGURATIONS[0]


class LegacyInstallation(Record):
    """An environment, and how installing the declaration went on which deployment depends."""

    environment: PythonEnvironment
    configuration: Path | None = None
    outcome: Literal["installed", "failed", "timeout", "package", "undeclared"]
    """`package`: to be installed by pip in the sandbox."""


async def install(
    repository: Path, hidden_tests: Path, lifecycle: Lifecycle, context: GradingContext
) -> LegacyInstallation:
    """Return what the scripts would have in the end. Raises `SubmissionError` and `InfrastructureError`."""
    configuration = await asyncio.to_thread(_configuration, repository)
    own = await asyncio.to_thread(_required, repository)
    tests = await asyncio.to_thread(_required, hidden_tests)
    installed: tuple[str, ...] = ()
    for installed in dict.fromkeys(((*own, *tests), own, tests, ())):
        environment = await _try((*installed, *GLOBAL), lifecycle, context)
        if not isinstance(environment, str):
            break
    else:
        raise SubmissionError("not even pytest can be installed for the older scripts; see the log of the build")
    outcome = await _outcome(repository, configuration, lifecycle, context, is_whole=set(own) <= set(installed))
    return LegacyInstallation(environment=environment, configuration=configuration, outcome=outcome)


async def _outcome(
    repository: Path, configuration: Path | None, lifecycle: Lifecycle, context: GradingContext, *, is_whole: bool
) -> Literal["installed", "failed", "timeout", "package", "undeclared"]:
    """Return what `pip install` of the first declaration alone would have come to."""
    if configuration is None:
        return "undeclared"
    if configuration.name != _REQUIREMENTS:
        return "package"
    declared = await asyncio.to_thread(read_declared, repository, str(configuration.relative_to(repository)))
    if declared is None or declared.problem is not None:
        return "failed"
    if is_whole:
        return "installed"
    tried = await _try(declared.requirements, lifecycle, context)
    return tried if isinstance(tried, str) else "installed"


async def _try(
    requirements: tuple[str, ...], lifecycle: Lifecycle, context: GradingContext
) -> PythonEnvironment | Literal["failed", "timeout"]:
    request = ResolvedRequest(
        python=lifecycle.python, requirements=requirements, with_pip=True, work_s=lifecycle.install_s
    )
    try:
        return await context.builder.submission_environment(request)
    except OutOfTimeError:
        return "timeout"
    except SubmissionError:
        return "failed"


def _configuration(repository: Path) -> Path | None:
    found = (find_file(repository, name) for name in CONFIGURATIONS)
    return next((path for path in found if path is not None), None)


def _required(tree: Path) -> tuple[str, ...]:
    """Return all requirements by name that files below *tree* declare; a file that cannot be read is skipped."""
    lines: dict[str, None] = {}
    for path in files_named(tree, _REQUIREMENTS):
        declared = read_declared(tree, str(path.relative_to(tree)))
        if declared is not None and declared.problem is None:
            lines |= dict.fromkeys(declared.requirements)
    return tuple(lines)


_BUILD = ("mvn", "clean", "install", "-DskipTests", "-q")


class JavaScripts:
    """The older scripts' two programs for Java, over one submission."""

    def __init__(
        self,
        submission: Path,
        problem: ServiceProblem,
        lifecycle: Lifecycle,
        context: GradingContext,
    ) -> None:
        self._submission = submission
        self._tests = problem.hidden_tests()
        self._lifecycle = lifecycle
        self._context = context

    async def deploy(self, variables: Mapping[str, str]) -> tuple[Started, str]:
        """Build, start, look whether the service lives; return that, and what was printed when it failed."""
        configuration = find_file(self._submission, POM)
        if configuration is None:
            return Started(success=False, message=UNKNOWN), ""
        script = find_file(self._submission, "start.sh")
        settings: dict[str, object] = {
            "phase": "deployment",
            "installer": _BUILD,
            "install": seen_inside(self._submission, configuration.parent),
            "install_s": self._lifecycle.install_s,
            "script": seen_inside(self._submission, script) if script is not None else None,
            "alive_s": round(self._lifecycle.ready_s),
            "hanging_s": HANGING_S,
        }
        outcome = await self._drive("deployment", settings, variables)
        if outcome.install is not None:
            late = BUILD_TIMEOUT.format(self._lifecycle.install_s)
            message = late if outcome.install == "timeout" else NOT_BUILT
            return Started(success=False, message=message), outcome.output
        if script is None:
            return Started(success=False, message=NO_SCRIPT), ""
        if outcome.hanging or not outcome.is_readable:
            return Started(success=False, message=HANGING), outcome.output
        return read_start(outcome.exit_code, outcome.output, "java"), outcome.output

    async def test(self, wait_s: float) -> tuple[LegacyCounts, str, bool]:
        """Run the tests beside the service; return counts, output, and whether they came to an end."""
        scripts = files_named(self._submission, "start.sh")
        settings: dict[str, object] = {
            "phase": "java tests",
            "script": seen_inside(self._submission, scripts[0]) if scripts else None,
            "wait_s": wait_s,
            "repository": REPOSITORY,
            "tests": f"{TRUSTED}/tests",
            "tests_s": round(self._context.timeout_s or self._lifecycle.tests_s),
        }
        outcome = await self._drive("tests", settings, {})
        ended = outcome.is_readable and not outcome.late
        return read_java_tests(outcome.reports, outcome.output), outcome.output, ended

    def count(self, place: Path) -> tuple[int, CodeMetrics]:
        """Return the tests found by reading, and sizes, with the hidden tests laid over the submission."""
        copy_tree(self._submission, place)
        lay_java_tests(place, self._tests)
        tests = place / "src/test"
        return count_tests(tests if tests.exists() else place, "java"), code_metrics(place, "java")

    async def _drive(
        self, phase: str, settings: Mapping[str, object], variables: Mapping[str, str]
    ) -> LegacyOutcome:
        place, context = self._context.scratch / phase, self._context
        await in_thread(copy_tree, self._submission, place / "repo")
        configuration = find_file(self._submission, POM)
        project = self._submission if configuration is None else configuration.parent
        await seed_repository(project, place / "packages", context)
        python = await context.builder.python(test_environment(None))
        spec = self._spec(phase, place, python.mounts, python.environment)
        drive = Drive(
            LEGACY_DRIVER,
            settings,
            python=python.executable,
            variables=variables,
            tests=self._tests,
            lend=lend_maven,
        )
        return read_outcome(await driven(drive, spec, context))

    def _spec(
        self, phase: str, place: Path, mounts: tuple[Mount, ...], environment: Mapping[str, str]
    ) -> SandboxSpec:
        toolchain, lifecycle = java_builder(self._context).toolchain(JAVA), self._lifecycle
        limits = lifecycle.service.for_command(lifecycle.overall_s, output_bytes=OUTPUT_BYTES)
        return SandboxSpec(
            workspace=place / "workspace",
            mounts=(
                *toolchain.mounts,
                *mounts,
                Mount(source=place / "repo", target=REPOSITORY, writable=True),
                Mount(source=place / "packages", target=REPOSITORY_TARGET, writable=True),
            ),
            environment={**toolchain.environment_within(limits.memory_mb), **environment},
            path=toolchain.path,
            limits=limits,
            system="host",
            label=f"older scripts, {phase}",
        )
