"""The builder for Java: toolchains of this machine, and local Maven repositories as layers."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import cast

from groundup.domain.digests import digest_of
from groundup.domain.errors import GroundupError, InfrastructureError
from groundup.domain.limits import Limits
from groundup.environments.failures import (
    BUILDS_AT_ONCE,
    Builds,
    OutOfTimeError,
    WorkTime,
    as_error,
    out_of_time,
    repeated,
)
from groundup.environments.layers import Built, LayerStore
from groundup.environments.maven_layers import (
    BUILD_LIMITS,
    KIND,
    MavenSandbox,
    as_built,
    as_repository,
    classpath_of,
    lay_out,
    layer_key,
    local_place,
    maven_sandbox,
    resolve,
    runner_jars,
    write_stand_in,
)
from groundup.environments.requests import (
    JAVA_TARGET,
    MAVEN_TARGET,
    JavaToolchain,
    Layer,
    MavenRepository,
    MavenRequest,
)
from groundup.environments.toolchains import find_jdk, find_maven, jdks
from groundup.registries.cache import SharedWork
from groundup.registries.client import FileFound
from groundup.registries.lending import RegistryLending
from groundup.registries.maven import MavenClient, MavenGateway, is_metadata, maven_settings
from groundup.registries.settings import RegistrySettings
from groundup.sandbox.machine import Fact, FactStatus
from groundup.sandbox.protocol import Mount, SandboxProvider
from groundup.settings import environment
from groundup.trees.writer import copy_tree

_MAVEN_OPTIONS = "-XX:TieredStopAtLevel=1 -Djansi.mode=strip -Djansi.strip=true"
"""Quick starts, and no colours: Debian's Maven prints them even where there is no terminal."""
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
        self._extending: SharedWork[Layer] = SharedWork()
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
            await asyncio.to_thread(shutil.copytree, old.path, room / "more", symlinks=True)
            await asyncio.to_thread(lay_out, {**new}, room / "tree")
            await asyncio.to_thread(shutil.copytree, room / "more", room / "tree", dirs_exist_ok=True)
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
        *,
        user_is_root: bool = False,
    ) -> AsyncIterator[MavenSandbox]:
        """Yield a sandbox with Maven around *project*; its repository, a copy of another, lies in *room*."""
        if start_from is None:
            room.mkdir()
        else:
            await asyncio.to_thread(copy_tree, start_from.layer.path, room)
        async with (
            self._registry() as registry,
            maven_sandbox(
                project,
                room,
                toolchain,
                provider=self._provider,
                registry=registry,
                limits=limits,
                user_is_root=user_is_root,
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
            await asyncio.to_thread(write_stand_in, request, project)
            async with (
                self._slots,
                self._registry() as registry,
                self.maven(project, room / "repository", toolchain, None) as build,
            ):
                try:
                    async with work.running(build.sandbox):
                        result = await resolve(build)
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
                await asyncio.to_thread(lay_out, files, room / "tree")  # while the fetched files are surely there
            known = [place for place in classpath if place in files]
            return as_built(figures, known, runner, own)

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
