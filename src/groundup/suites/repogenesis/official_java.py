"""The published image for Java and its container, rebuilt: Maven fetches, compiles and tests at /repo.

Unlike the published container, nothing but the user's Maven repositories can be reached. What a project's build
files name is at hand from the start, resolved once; that saves time and changes nothing else.
"""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

from groundup.domain.errors import SubmissionError
from groundup.domain.limits import Limits
from groundup.environments.maven_layers import memory_options
from groundup.environments.requests import REPOSITORY_TARGET, MavenRequest
from groundup.grading.bench import Bench
from groundup.grading.java.installing import JAVA, POM, java_builder, project_files
from groundup.grading.services.deployment import lend_maven
from groundup.grading.services.records import Lifecycle
from groundup.sandbox.protocol import Command, CommandResult, Ending, Mount, SandboxSpec
from groundup.suites.repogenesis.official_workspace import Image, left_out
from groundup.suites.repogenesis.shipped import test_environment
from groundup.suites.repogenesis.tasks import ServiceTask
from groundup.trees.copy import copy_tree

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


async def build_java_image(submission: Path, hidden_tests: Path, lifecycle: Lifecycle, bench: Bench) -> Image:
    """Copy, fetch, raise Java 11 to 17, lay the hidden tests over, compile. Raises `InfrastructureError`."""
    repository, packages = bench.scratch / "repo", _packages(bench)
    await asyncio.to_thread(copy_tree, submission, repository)
    await asyncio.to_thread(left_out, repository)
    await seed_repository(repository, packages, bench)
    limits = lifecycle.service.model_copy(update={"command_s": _BUILD_S, "wall_clock_s": _BUILD_S + 30})
    (bench.scratch / "building").mkdir()
    golden = Mount(source=hidden_tests, target=_GOLDEN)
    spec = _spec(bench.scratch / "building", (golden,), {}, limits, bench)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(await bench.provider.open(spec))
        variables = await lend_maven(stack, sandbox, bench)
        command = Command(argv=("bash", "-c", _BUILD), cwd=REPOSITORY, environment=variables)
        result = await sandbox.run(command)
    late = result.ending in (Ending.TIMEOUT, Ending.WALL_CLOCK)
    return Image(repository=repository, installed="maven", refused=_refused(result), late=late)


async def run_java_image(
    task: ServiceTask,
    driver: bytes,
    settings: dict[str, object],
    lifecycle: Lifecycle,
    output_bytes: int,
    bench: Bench,
) -> CommandResult:
    """Start the service and the tests in one sandbox that stands for the container."""
    workspace, trusted = bench.scratch / "workspace", bench.scratch / "driver"
    workspace.mkdir()
    trusted.mkdir()
    (trusted / "official_driver.py").write_bytes(driver)
    python = await bench.builder.python(test_environment())
    limits = lifecycle.service.model_copy(
        update={
            "command_s": lifecycle.overall_s,
            "wall_clock_s": lifecycle.overall_s + 30,
            "output_bytes": output_bytes,
        }
    )
    variables = {
        "LANG": task.language,  # the published entry point overwrites the locale with the language
        "REPO_LANG": task.language,
        "SERVICE_PORT": str(task.port),
        "STARTUP_TIMEOUT": str(round(lifecycle.ready_s)),
        "TEST_TIMEOUT": str(round(lifecycle.tests_s)),
    }
    mounts = (*python.mounts, Mount(source=trusted, target=_TRUSTED))
    spec = _spec(workspace, mounts, {**python.environment, **variables}, limits, bench)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(await bench.provider.open(spec))
        lent = await lend_maven(stack, sandbox, bench)
        return await sandbox.run(
            Command(
                argv=(python.executable, "-I", f"{_TRUSTED}/official_driver.py"),
                cwd=REPOSITORY,
                environment=lent,
                stdin=json.dumps(settings).encode(),
            )
        )


async def seed_repository(repository: Path, packages: Path, bench: Bench) -> None:
    """Fill the local repository with what the build files name, where that can be resolved."""
    files = await asyncio.to_thread(project_files, repository)
    if POM in files:
        try:
            found = await java_builder(bench).repository(MavenRequest(files=files, java=JAVA))
        except SubmissionError:
            pass
        else:
            await asyncio.to_thread(copy_tree, found.layer.path, packages)
            return
    packages.mkdir()


def _spec(
    workspace: Path, mounts: tuple[Mount, ...], variables: dict[str, str], limits: Limits, bench: Bench
) -> SandboxSpec:
    toolchain = java_builder(bench).toolchain(JAVA)
    return SandboxSpec(
        workspace=workspace,
        mounts=(
            *toolchain.mounts,
            *mounts,
            Mount(source=bench.scratch / "repo", target=REPOSITORY, writable=True),
            Mount(source=_packages(bench), target=REPOSITORY_TARGET, writable=True),
        ),
        environment={**toolchain.environment, **memory_options(limits.memory_mb), **variables},
        path=toolchain.path,
        limits=limits,
        user="root",
        system="host",
        throw_away_root=True,
        label="published container",
    )


def _packages(bench: Bench) -> Path:
    return bench.scratch / "maven-repository"


def _refused(result: CommandResult) -> str | None:
    if result.ok:
        return None
    if result.ending is not Ending.EXITED:
        return f"the image was not built: {result.ending}"
    return (result.stderr or result.stdout).decode(errors="replace").strip()[-_SAID:] or "a step failed"
