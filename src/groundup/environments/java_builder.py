"""The builder for Java: toolchains of this machine, and local Maven repositories as layers.

Local Maven repositories as layers: everything that a project's build files make Maven fetch.

Maven builds a stand-in for the project in a sandbox: its build files, and one class of ours in place of its
sources. The layer is then laid out by the host from what the gateway gave out, verified, and not from what the
build wrote: plugins of a stranger's build files run in there and could put anything into a local repository.
"""

import asyncio
import json
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import cast

from groundup.domain.digests import digest_of
from groundup.domain.errors import GroundupError, InfrastructureError
from groundup.domain.limits import Limits
from groundup.environments.failures import (
    BUILDS_AT_ONCE,
    BuildFailure,
    BuildFailureKind,
    Builds,
    OutOfTimeError,
    WorkTime,
    as_error,
    classify,
    on_one_line,
    out_of_time,
    repeated,
)
from groundup.environments.layers import Built, LayerStore
from groundup.environments.requests import (
    JAVA_TARGET,
    MAVEN_TARGET,
    REPOSITORY_TARGET,
    JavaToolchain,
    Layer,
    MavenRepository,
    MavenRequest,
)
from groundup.environments.toolchains import find_jdk, find_maven, jdks
from groundup.registries.cache import SingleFlight
from groundup.registries.client import FileFound
from groundup.registries.ledger import UnknownPackageError
from groundup.registries.lending import RegistryLending
from groundup.registries.maven import MIRROR, MavenClient, MavenGateway, is_metadata, is_place, maven_settings
from groundup.registries.settings import RegistrySettings
from groundup.sandbox.machine import Fact, FactStatus
from groundup.sandbox.protocol import (
    WORKSPACE,
    Command,
    CommandResult,
    Mount,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
)
from groundup.settings import environment
from groundup.trees.writer import in_thread, lay_tree, share_tree

BUILD_LIMITS = Limits(
    cpus=2.0, memory_mb=2048, processes=512, disk_mb=8 * 1024, wall_clock_s=1800.0, command_s=900.0
)
_ERROR = re.compile(r"^(?:\[ERROR\] )*\[(?:ERROR|FATAL)\] (.+?)(?: -> \[Help \d+\])?$", re.MULTILINE)
_NOISE = (
    "To see the full stack",
    "Re-run Maven",
    "For more information",
    "Some problems were encountered while processing the POMs",
    "The build could not read",
    "[Help",
    "-> [Help",
    "COMPILATION ERROR",
)
_WRAPPING = re.compile(r"Failed to execute goal on project \S+: Could not resolve dependencies for project \S+: ")
"""What Maven says before the artifact that it did not find: the project's own name, three times."""
_SHOWN = 3


class MavenSandbox:
    """An open sandbox around a project, with Java, Maven, a writable local repository and a gateway."""

    def __init__(self, sandbox: Sandbox, gateway: MavenGateway, variables: dict[str, str]) -> None:
        self.sandbox = sandbox
        self.gateway = gateway
        self._variables = variables
        self._log = bytearray()
        self._started = time.monotonic()

    async def maven(self, *arguments: str, timeout_s: float | None = None) -> CommandResult:
        """Run Maven in the project, without colours, questions or progress."""
        argv = ("mvn", "-B", "-ntp", *arguments)
        return await self.run(Command(argv=argv, timeout_s=timeout_s))

    async def run(self, command: Command) -> CommandResult:
        command = command.but(environment={**self._variables, **command.environment})
        result = await self.sandbox.run(command)
        self._log += f"$ {' '.join(command.argv)}\n".encode() + result.stdout + result.stderr
        self._log += f"[{result.ending}, exit code {result.exit_code}, {result.duration_s:.1f} s]\n".encode()
        return result

    def failure(self, result: CommandResult, place: Path) -> BuildFailure:
        """Say why a command failed; *place* is a folder on the disk where the host keeps layers."""
        failure = classify(
            result,
            self.gateway.troubles,
            waiting_s=self.gateway.longest_wait_s(),
            host_free_bytes=shutil.disk_usage(place).free,
        )
        why = complaint(result)
        return failure.but(message=why) if failure.kind is BuildFailureKind.BUILD and why else failure

    def log(self) -> bytes:
        records = [record.model_dump_json() for record in (*self.gateway.fetched, *self.gateway.troubles)]
        return bytes(self._log) + "".join(f"{line}\n" for line in records).encode()

    def figures(self) -> dict[str, str]:
        """Return what is recorded of a build."""
        files = self.gateway.files.values()
        return {
            "seconds": f"{time.monotonic() - self._started:.1f}",
            "files": str(len(files)),
            "files_from_cache": str(sum(file.from_cache for file in files)),
            "files_unverified": str(sum(not file.verified for file in files)),
            "bytes": str(sum(file.size for file in files)),
        }


def complaint(result: CommandResult) -> str:
    """Return Maven's own first errors in one line of at most 300 characters, for people; may be empty."""
    text = (result.stdout + result.stderr).decode(errors="replace")
    lines = [line.strip() for line in _ERROR.findall(text) if line.strip()]
    shown = list(dict.fromkeys(line for line in lines if not line.startswith(_NOISE)))[:_SHOWN]
    line = on_one_line("; ".join(_WRAPPING.sub("", one) for one in shown).replace("/workspace/", ""))
    return line if len(line) <= 300 else f"{line[:297]}..."


@asynccontextmanager
async def maven_sandbox(
    project: Path,
    repository: Path,
    toolchain: JavaToolchain,
    *,
    provider: SandboxProvider,
    registry: MavenClient,
    limits: Limits = BUILD_LIMITS,
) -> AsyncIterator[MavenSandbox]:
    """Yield a sandbox around *project*, its local repository being the writable folder *repository*."""
    spec = SandboxSpec(
        workspace=project,
        mounts=(*toolchain.mounts, Mount(source=repository, target=REPOSITORY_TARGET, writable=True)),
        environment=toolchain.environment_within(limits.memory_mb),
        path=toolchain.path,
        limits=limits,
        system="host",
        label="Maven build",
    )
    async with MavenGateway(registry) as gateway, await provider.open(spec) as opened:
        supplies = gateway.supplies(await gateway.attach(opened))
        for place, text in supplies.files.items():
            await opened.write_file(place, text.encode())
        yield MavenSandbox(opened, gateway, supplies.environment)


KIND = "maven"
_FORMAT = 1
"""Counts up when the same request is built differently."""
STAND_IN = "src/main/java/groundup/StandIn.java"
_STAND_IN_TEXT = "package groundup;\n\npublic class StandIn {\n    public static void main(String[] words) {}\n}\n"
_DEPENDENCY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
_CLASSPATH = "target/groundup-classpath"
_CLASSPATH_GOAL = (f"{_DEPENDENCY}:build-classpath", f"-Dmdep.outputFile={_CLASSPATH}", "-DincludeScope=test")
_OFFLINE_GOAL = "dependency:go-offline"
"""Of the project's own version of the plugin, as in the published image."""
_MAX_ENTRIES = 3000
_JUNIT = "org/junit"


def layer_key(request: MavenRequest, toolchain: JavaToolchain) -> str:
    """Return the digest of everything that decides the layer."""
    more = {"offline": True} if request.offline else {}
    tools = {"java": toolchain.java, "maven": toolchain.maven}
    return digest_of({"format": _FORMAT, "files": request.files, **tools, **more})


def write_stand_in(request: MavenRequest, project: Path) -> None:
    """Write the build files, and one class, into the empty folder *project*."""
    for place, content in {**request.files, STAND_IN: _STAND_IN_TEXT.encode()}.items():
        path = project / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


async def resolve(build: MavenSandbox, *, offline: bool = False) -> tuple[CommandResult, bool]:
    """Build the stand-in and write its classpath down, and with *offline* fetch all that may be needed later.

    Return the result of the command that decides, and whether that was fetched.
    """
    if offline and (result := await build.maven("-DskipTests", "package", *_CLASSPATH_GOAL, _OFFLINE_GOAL)).ok:
        return result, True
    result = await build.maven("-DskipTests", "package", *_CLASSPATH_GOAL)
    if not result.ok:  # such as a plugin that misses sources: the classpath can still be had
        result = await build.maven(*_CLASSPATH_GOAL)
    return result, False


async def classpath_of(build: MavenSandbox) -> tuple[list[str], list[str]]:
    """Return the test classpath that a build wrote: places in the repository, and in the project."""
    try:
        text = (await build.sandbox.read_file(f"{WORKSPACE}/{_CLASSPATH}", 1024 * 1024)).decode("utf-8", "replace")
    except (FileNotFoundError, ValueError):
        return [], []
    entries = dict.fromkeys(entry for entry in text.strip().split(":")[:_MAX_ENTRIES] if entry)
    return _below(entries, REPOSITORY_TARGET), _below(entries, WORKSPACE)


def _below(entries: Iterable[str], folder: str) -> list[str]:
    inside = (entry.removeprefix(f"{folder}/") for entry in entries if entry.startswith(f"{folder}/"))
    return [place for place in inside if is_place(place)]


async def runner_jars(classpath: Iterable[str], registry: MavenClient) -> dict[str, FileFound]:
    """Return what *classpath* misses to start its JUnit 5 tests, as Surefire adds it; nothing without JUnit 5."""
    versions = {
        parts[-3]: parts[-2]
        for parts in (place.split("/") for place in classpath)
        if len(parts) > 4 and "/".join(parts[:2]) == _JUNIT
    }
    platform = versions.get("junit-platform-engine") or versions.get("junit-platform-commons")
    jupiter = versions.get("junit-jupiter-api")
    if platform is None or jupiter is None:
        return {}
    wanted = {
        ("platform", "junit-platform-launcher"): platform,
        ("platform", "junit-platform-engine"): platform,
        ("jupiter", "junit-jupiter-engine"): jupiter,
    }
    found = {}
    for (group, name), version in wanted.items():
        if name not in versions:
            place = f"{_JUNIT}/{group}/{name}/{version}/{name}-{version}.jar"
            try:
                found[place] = await registry.file(place)
            except UnknownPackageError:
                return {}
    return found


def lay_out(files: Mapping[str, FileFound], tree: Path) -> None:
    """Write a local repository of *files* to the folder *tree*, or add them to what it holds."""
    tree.mkdir(exist_ok=True)
    for place, file in files.items():
        target = tree / local_place(place)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            _link(file.path, target)


def local_place(place: str) -> str:
    """Return where a local repository keeps what a repository has at *place*."""
    if not is_metadata(place):
        return place
    path = PurePosixPath(place)
    return str(path.with_name(path.name.replace("maven-metadata", f"maven-metadata-{MIRROR}", 1)))


def _link(source: Path, target: Path) -> None:
    """Link, or copy where that cannot be: layers are seen read-only, and the cache's files never change."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def as_built(
    figures: Mapping[str, str], classpath: Iterable[str], runner: Iterable[str], own: Iterable[str]
) -> Built:
    """Return what a layer's record says."""
    lists = {"classpath": list(classpath), "runner": list(runner), "own": list(own)}
    return Built(built={**figures, **{name: json.dumps(value) for name, value in lists.items()}})


def as_repository(layer: Layer, toolchain: JavaToolchain) -> MavenRepository:
    """Return what the record of *layer* means."""
    return MavenRepository(
        layer=layer,
        toolchain=toolchain,
        test_classpath=tuple(json.loads(layer.built["classpath"])),
        runner=tuple(json.loads(layer.built["runner"])),
        own_classpath=tuple(json.loads(layer.built["own"])),
        goes_offline="offline" in layer.built,
    )


_MAVEN_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djansi.mode=strip -Djansi.strip=true"
"""Quick starts, no threads for garbage, and no colours: Debian's Maven prints them even without a terminal."""
_WHAT = "fetching what the project's pom.xml names"


class JavaBuilder:
    """Toolchains and local repositories. Belongs to one event loop; holds no connection while nothing is built."""

    def __init__(
        self,
        provider: SandboxProvider,
        store: LayerStore,
        lending: RegistryLending,
    ) -> None:
        self._provider = provider
        self._store = store
        self._lending = lending
        self._toolchains: dict[int, JavaToolchain] = {}
        self._builds = Builds()
        self._extending: SingleFlight[Layer] = SingleFlight()
        self._slots = asyncio.Semaphore(BUILDS_AT_ONCE)

    def toolchain(self, java: int) -> JavaToolchain:
        """Return this machine's JDK of that major version, with its Maven. Raises `InfrastructureError`."""
        if java not in self._toolchains:
            self._toolchains[java] = _toolchain(java)
        return self._toolchains[java]

    async def repository(self, request: MavenRequest, work: WorkTime | None = None) -> MavenRepository:
        """Return the local repository of *request*, resolved when its layer is not there.

        Raises `SubmissionError` when the build files cannot be resolved, `OutOfTimeError` when that takes longer
        than *work* allows (waiting for a turn is no work), and `InfrastructureError`.
        """
        work = work or WorkTime()
        toolchain = self.toolchain(request.java)
        key = layer_key(request, toolchain)
        layer = self._store.find(KIND, key)
        if layer is None:
            layer = await self._builds.get(key, partial(self._build, request, toolchain, key, work))
        return as_repository(layer, toolchain)

    async def extended(self, repository: MavenRepository, files: Mapping[str, FileFound]) -> MavenRepository:
        """Return *repository* with further *files* that a gateway gave out; itself when all of them are there."""
        old = repository.layer
        new = {
            place: file
            for place, file in files.items()
            if not is_metadata(place) and not (old.path / local_place(place)).exists()
        }
        if not new:
            return repository
        key = digest_of({"base": old.digest, "files": {place: file.sha256 for place, file in new.items()}})

        async def fill(room: Path) -> Built:
            await asyncio.to_thread(share_tree, old.path, room / "tree")
            await in_thread(lay_out, new, room / "tree")
            return Built(built=old.built)

        layer = await self._extending.get(key, lambda: self._store.get(KIND, key, fill))
        return as_repository(layer, repository.toolchain)

    @asynccontextmanager
    async def maven(
        self,
        project: Path,
        room: Path,
        toolchain: JavaToolchain,
        start_from: MavenRepository | None,
        limits: Limits = BUILD_LIMITS,
    ) -> AsyncIterator[MavenSandbox]:
        """Yield a sandbox with Maven around *project*; its repository, a copy of another, lies in *room*."""
        if start_from is None:
            room.mkdir()
        else:
            shared = self._provider.guests_are_others
            await in_thread(lay_tree, start_from.layer.path, room, shared=shared)
        async with (
            self._registry() as registry,
            maven_sandbox(
                project,
                room,
                toolchain,
                provider=self._provider,
                registry=registry,
                limits=limits,
            ) as opened,
        ):
            yield opened

    def _registry(self) -> AbstractAsyncContextManager[MavenClient]:
        return cast("AbstractAsyncContextManager[MavenClient]", self._lending.client("maven"))

    def gateway(self) -> AbstractAsyncContextManager[MavenGateway]:
        """Yield a way to the Maven repositories for one sandbox."""
        return self._gateway()

    @asynccontextmanager
    async def _gateway(self) -> AsyncIterator[MavenGateway]:
        async with self._registry() as registry, MavenGateway(registry) as gateway:
            yield gateway

    async def _build(self, request: MavenRequest, toolchain: JavaToolchain, key: str, work: WorkTime) -> Layer:
        async def fill(room: Path) -> Built:
            project = room / "project"
            await in_thread(write_stand_in, request, project)
            async with (
                self._slots,
                self._registry() as registry,
                self.maven(project, room / "repository", toolchain, None) as build,
            ):
                try:
                    async with work.running(build.sandbox):
                        result, goes_offline = await resolve(build, offline=request.offline)
                except OutOfTimeError as error:
                    raise out_of_time(error, build.gateway.troubles, build.gateway.longest_wait_s()) from error
                log = self._store.keep_log(KIND, key, build.log())
                if not result.ok:
                    failure = build.failure(result, self._store.root)
                    raise as_error(failure, "submission", _WHAT, log)
                classpath, own = await classpath_of(build)
                files = {**build.gateway.files}
                runner = await runner_jars(classpath, registry)
                figures = build.figures()
                files.update(runner)
                await in_thread(lay_out, files, room / "tree")  # while the fetched files are surely there
            known = [place for place in classpath if place in files]
            return as_built(figures | ({"offline": "yes"} if goes_offline else {}), known, runner, own)

        return await repeated(lambda: self._store.get(KIND, key, fill), work)


async def installed_maven_settings(environment: Mapping[str, str]) -> RegistrySettings:
    """Return Maven's repositories, which the user's settings name, and the Maven that is installed."""
    try:
        home = find_maven(environment).home
    except InfrastructureError:  # the user's settings may be enough
        home = None
    return maven_settings(environment, home)


def _toolchain(java: int) -> JavaToolchain:
    jdk, maven = find_jdk(java, environment()), find_maven(environment())
    mounts = [Mount(source=jdk.home, target=JAVA_TARGET)]
    inside = str(maven.home)
    if not inside.startswith("/usr/") or inside.startswith("/usr/local/"):  # /usr is seen as it is, but for that
        mounts.append(Mount(source=maven.home, target=MAVEN_TARGET))
        inside = MAVEN_TARGET
    return JavaToolchain(
        java=jdk.version,
        maven=maven.version,
        mounts=tuple(mounts),
        path=(f"{JAVA_TARGET}/bin", f"{inside}/bin"),
        environment={"JAVA_HOME": JAVA_TARGET, "MAVEN_OPTS": _MAVEN_OPTIONS},
    )


def java_facts() -> list[Fact]:
    """Look for what tasks in Java need; tasks in other languages can be graded without it."""
    advice = "only tasks in Java need it"
    found = ", ".join(f"{jdk.version} in {jdk.home}" for jdk in jdks(environment()))
    how = "install one, such as Debian's openjdk-17-jdk, or name its folder in JAVA_HOME"
    facts = [Fact(name="JDK", status=FactStatus.GOOD, value=found)]
    if not found:
        facts = [Fact(name="JDK", status=FactStatus.LIMITED, value="missing", advice=f"{how}; {advice}")]
    try:
        maven = find_maven(environment())
        addresses = ", ".join(index.url for index in maven_settings(environment(), maven.home).indexes)
    except GroundupError as error:
        return [*facts, Fact(name="Maven", status=FactStatus.LIMITED, value=str(error), advice=advice)]
    value = f"{maven.version} in {maven.home}, from {addresses}"
    return [*facts, Fact(name="Maven", status=FactStatus.GOOD, value=value)]
