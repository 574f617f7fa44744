"""The published images and their containers, rebuilt: /repo and its packages, and Maven for Java.

Unlike the published container, nothing but the user's Maven repositories can be reached. What a project's build
files name is at hand from the start, resolved once; that saves time and changes nothing else.
"""

import asyncio
import fnmatch
import shutil
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from groundup.domain.errors import SubmissionError
from groundup.domain.limits import Limits
from groundup.domain.records import Record
from groundup.environments.requests import REPOSITORY_TARGET, MavenRequest, PythonEnvironment, ResolvedRequest
from groundup.grading.context import GradingContext
from groundup.grading.java.installing import JAVA, POM, java_builder, project_files
from groundup.grading.services.deployment import lend_maven
from groundup.grading.services.install import importing, read_declared, words_of
from groundup.grading.services.records import Lifecycle
from groundup.sandbox.protocol import Command, CommandResult, Ending, Mount, SandboxSpec
from groundup.suites.repogenesis.driving import OUTPUT_BYTES, REPOSITORY, TRUSTED
from groundup.suites.repogenesis.tasks import ServiceTask
from groundup.trees.writer import copy_tree, in_thread, lay_tree

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
    refused = await in_thread(_lay_out, submission, hidden_tests, repository)
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


_GOLDEN = f"{TRUSTED}/golden"


_BUILD_S = 600.0
"""The published limit for building an image."""


_FETCH = "mvn dependency:go-offline -q 2>/dev/null || true"
_BUILD = f"""
set -e
if [ -f pom.xml ]; then
    {{fetch}}
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
    await in_thread(copy_tree, submission, repository)
    await in_thread(left_out, repository)
    is_fetched = await seed_repository(repository, packages, context, offline=True)
    limits = lifecycle.service.for_command(_BUILD_S)
    (context.scratch / "building").mkdir()
    golden = Mount(source=hidden_tests, target=_GOLDEN)
    spec = _spec(context.scratch / "building", (golden,), {}, limits, context)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(await context.provider.open(spec))
        variables = await lend_maven(stack, sandbox, context)
        script = _BUILD.format(fetch=":" if is_fetched else _FETCH)
        command = Command(argv=("bash", "-c", script), cwd=REPOSITORY, environment=variables)
        result = await sandbox.run(command)
    late = result.ending.is_out_of_time
    return RebuiltImage(repository=repository, installed="maven", refused=_refused(result), late=late)


def java_image_spec(
    task: ServiceTask, python: PythonEnvironment, lifecycle: Lifecycle, context: GradingContext
) -> SandboxSpec:
    """Return the sandbox that stands for the container, with the Python that runs the driver."""
    limits = lifecycle.service.for_command(lifecycle.overall_s, output_bytes=OUTPUT_BYTES)
    variables = {**python.environment, **published_variables(task, lifecycle)}
    return _spec(context.scratch / "workspace", python.mounts, variables, limits, context)


def published_variables(task: ServiceTask, lifecycle: Lifecycle) -> dict[str, str]:
    """Return the variables that the published harness gives its container."""
    return {
        "LANG": task.language,  # the published entry point overwrites the locale with the language
        "REPO_LANG": task.language,
        "SERVICE_PORT": str(task.port),
        "STARTUP_TIMEOUT": str(round(lifecycle.ready_s)),
        "TEST_TIMEOUT": str(round(lifecycle.tests_s)),
    }


async def seed_repository(
    repository: Path, packages: Path, context: GradingContext, *, offline: bool = False
) -> bool:
    """Fill the local repository with what the build files name, where that can be resolved.

    Return whether `mvn dependency:go-offline` would fetch nothing more; it was asked for by *offline*.
    """
    files = await asyncio.to_thread(project_files, repository)
    if POM in files:
        try:
            request = MavenRequest(files=files, java=JAVA, offline=offline)
            found = await java_builder(context).repository(request)
        except SubmissionError:
            pass
        else:
            shared = context.provider.guests_are_others
            await in_thread(lay_tree, found.layer.path, packages, shared=shared)
            return found.goes_offline
    packages.mkdir()
    return False


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
