"""Installing a Java submission: fetching what its pom.xml names, and compiling its sources with Maven.

Plugins of its build files are its code, so all of this happens in a sandbox with no way out but the Maven gateway.
A failed install is a fact and no end.
"""

import asyncio
import time
from pathlib import Path

from pydantic import Field

from groundup.domain.errors import SubmissionError, UsageError, reading_submission
from groundup.domain.limits import Limits
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.environments.failures import (
    INFRASTRUCTURE,
    BuildFailure,
    OutOfTimeError,
    WorkTime,
    as_error,
    failure_repeated,
    out_of_time,
)
from groundup.environments.java_builder import JavaBuilder, MavenSandbox
from groundup.environments.requests import JavaToolchain, MavenRepository, MavenRequest, is_project_file
from groundup.grading.context import GradingContext
from groundup.grading.services.records import InstallOutcome, Lifecycle
from groundup.trees.walking import remove_tree
from groundup.trees.writer import copy_tree, in_thread

JAVA = 17
"""Major version of the published images' JDK."""
POM = "pom.xml"
TESTS = "src/test"
_MAX_FILES = 200
_MAX_BYTES = 1024 * 1024


class JavaInstalled(Record):
    """How the install ended."""

    outcome: InstallOutcome
    message: str = ""
    seconds: float = 0.0
    tree: Path = Field(description="the submission after the install, its classes in target/classes")
    toolchain: JavaToolchain
    repository: MavenRepository | None = Field(default=None, description="None: nothing could be resolved")
    log: bytes = b""


async def install_java(submission: Path, lifecycle: Lifecycle, context: GradingContext) -> JavaInstalled:
    """Resolve and compile a copy of *submission*, in a slot of the machine. Raises `InfrastructureError`."""
    async with context.slots.taken():
        return await _installed(submission, lifecycle, context)


async def _installed(submission: Path, lifecycle: Lifecycle, context: GradingContext) -> JavaInstalled:
    began = time.monotonic()
    builder = java_builder(context)
    tree = context.scratch / "installed"
    await in_thread(copy_tree, submission, tree)
    files = await asyncio.to_thread(project_files, tree)
    installed = JavaInstalled(
        outcome=InstallOutcome.UNDECLARED, tree=tree, toolchain=builder.toolchain(JAVA), message=f"no {POM}"
    )
    if POM in files:
        try:
            installed = await _install(installed, MavenRequest(files=files, java=JAVA), lifecycle, context)
        except OutOfTimeError:
            update = {
                "outcome": InstallOutcome.TIMEOUT,
                "message": f"not installed in {lifecycle.install_s:.0f} s",
            }
            installed = installed.but(**update)
    return installed.but(seconds=time.monotonic() - began)


async def _install(
    installed: JavaInstalled, request: MavenRequest, lifecycle: Lifecycle, context: GradingContext
) -> JavaInstalled:
    builder = java_builder(context)
    work = WorkTime(lifecycle.install_s, "installing")
    try:
        repository = await builder.repository(request, work)
    except OutOfTimeError:
        raise
    except SubmissionError as error:
        update = {"outcome": InstallOutcome.FAILED, "message": printable(str(error))[:300]}
        return installed.but(**update)
    await asyncio.to_thread(_without_tests, installed.tree)
    room = context.scratch / "install-repository"
    limits = build_limits(lifecycle.service, lifecycle.install_s + 10)  # the clock of the work ends it before
    try:
        async with builder.maven(installed.tree, room, installed.toolchain, repository, limits) as build:
            failure = await failure_repeated(lambda: _compile(build, work, context), work)
            repository = await builder.extended(repository, build.gateway.files)
            log = build.log()
    finally:
        await in_thread(remove_tree, room)
    if failure is not None and failure.kind in INFRASTRUCTURE:
        raise as_error(failure, "submission", "compiling the submission", context.scratch)
    complaint = "" if failure is None else f"it does not compile: {printable(failure.message)}"
    return installed.but(
        outcome=InstallOutcome.SUCCEEDED if failure is None else InstallOutcome.FAILED,
        message=complaint[:300],
        repository=repository,
        log=log,
    )


async def _compile(build: MavenSandbox, work: WorkTime, context: GradingContext) -> BuildFailure | None:
    """Return why the project does not compile."""
    try:
        async with work.running(build.sandbox):
            result = await build.maven("-DskipTests", "compile")
    except OutOfTimeError as error:
        raise out_of_time(error, build.gateway.troubles, build.gateway.longest_wait_s()) from error
    return None if result.ok else build.failure(result, context.scratch)


def build_limits(limits: Limits, seconds: float) -> Limits:
    """Return *limits* for a build of at most so long; it writes a local repository besides the project."""
    return limits.but(command_s=seconds, wall_clock_s=seconds + 30, disk_mb=max(limits.disk_mb, 8192))


def java_builder(context: GradingContext) -> JavaBuilder:
    """Return the run's builder as one that does Java. Raises `UsageError`."""
    if context.builder.java is None:
        raise UsageError("this environment builder does no Java; use the builder 'local'")
    return context.builder.java


def java_tools(context: GradingContext) -> dict[str, str]:
    """Return the versions of what builds and runs Java here. Raises `InfrastructureError`."""
    toolchain = java_builder(context).toolchain(JAVA)
    return {"jdk": toolchain.java, "maven": toolchain.maven}


@reading_submission("the project")
def project_files(tree: Path) -> dict[str, bytes]:
    """Return the files of a project that decide what Maven resolves; links are not followed.

    Names that are not UTF-8 are left out. Raises `SubmissionError` for what cannot be read.
    """
    found: dict[str, bytes] = {}
    for path in sorted(tree.rglob("*"), key=lambda item: len(item.parts)):
        place = path.relative_to(tree)
        if (
            not _is_utf8(str(place))
            or not is_project_file(str(place))
            or {"src", "target", ".git"} & set(place.parts)
        ):
            continue
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MAX_BYTES:
            found[str(place)] = path.read_bytes()
        if len(found) >= _MAX_FILES:
            break
    return found


def _is_utf8(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _without_tests(tree: Path) -> None:
    """Remove the submission's own tests, which are not run, and what it compiled before."""
    for name in (TESTS, "target"):
        place = tree / name
        if place.is_symlink():
            place.unlink()
        elif place.exists():
            remove_tree(place)


def service_environment(installed: JavaInstalled, lifecycle: Lifecycle) -> JavaToolchain:
    """Return what the sandbox of the service needs: the toolchain, and the local repository if there is one."""
    toolchain = installed.toolchain
    repository = () if installed.repository is None else (installed.repository.mount,)
    variables = toolchain.environment_within(lifecycle.service.memory_mb)
    return toolchain.but(mounts=(*toolchain.mounts, *repository), environment=variables)
