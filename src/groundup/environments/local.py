"""The environment builder: layers on this machine's disk, built in this machine's sandboxes."""

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError, MachineError, SubmissionError, TaskError, UsageError
from groundup.domain.limits import Limits
from groundup.environments.build_sandbox import LIMITS, Ask, BuildSandbox, build_sandbox
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.failures import out_of_time, repeated
from groundup.environments.interpreters import Interpreter, interpreter_mounts, known_interpreter
from groundup.environments.java_builder import JavaBuilder
from groundup.environments.java_homes import find_maven
from groundup.environments.layers import Built, layer_store
from groundup.environments.locking import Resolutions, named_requirements, resolution_key
from groundup.environments.program_layers import npm_program, python_program
from groundup.environments.programs import InstalledProgram, ProgramRequest, Workshop
from groundup.environments.python_layers import KIND, fill_environment, layer_key, resolve
from groundup.environments.requests import (
    ENVIRONMENT_TARGET,
    AnySource,
    GitSource,
    Layer,
    PythonEnvironment,
    PythonRequest,
    Resolution,
    ResolvedRequest,
)
from groundup.environments.sources import git_layer, source_key, source_layer
from groundup.environments.toolchains import Toolchain, ToolchainName, find_toolchain
from groundup.environments.work_time import OutOfTimeError, WorkTime
from groundup.registries.cache import FetchCache
from groundup.registries.dates import cutoff_instant
from groundup.registries.lending import (
    LendingRules,
    RegistryKind,
    RegistryLending,
    RegistrySet,
)
from groundup.registries.maven.settings import maven_settings
from groundup.registries.pypi.client import PyPIClient
from groundup.registries.pypi.gateway import PyPIGateway
from groundup.registries.pypi.settings import pypi_settings
from groundup.registries.settings import RegistrySettings
from groundup.registries.shared_work import SharedWork
from groundup.registries.uv import uv_version
from groundup.sandbox.protocol import Mount, SandboxProvider
from groundup.settings import Settings, environment
from groundup.trees.removal import remove_tree

_BUILDS_AT_ONCE = max(2, os.cpu_count() or 1)


def create(settings: Settings, provider: SandboxProvider) -> "LocalBuilder":
    """Return the builder; nothing is looked for before the first request."""
    return LocalBuilder(settings, provider)


class LocalBuilder(EnvironmentBuilder):
    """Implements `EnvironmentBuilder`. Belongs to one event loop; holds no connection while nothing is built."""

    def __init__(
        self,
        settings: Settings,
        provider: SandboxProvider,
        configuration: RegistrySettings | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._settings = settings
        self._provider = provider
        self._configuration = configuration
        self._limits = limits
        self._store = layer_store(settings)
        self._registry: PyPIClient | None = None
        self._users = 0
        self._lender: RegistryLending | None = None
        self._toolchains: dict[ToolchainName, Toolchain] = {}
        self._interpreters: dict[str, Interpreter] = {}
        self._missing: dict[str, MachineError] = {}
        """Interpreters that could not be found or fetched: trying again would cost every attempt the same time."""
        self._finding: SharedWork[Interpreter] = SharedWork()
        self._configuring: SharedWork[RegistrySettings] = SharedWork()
        self._layers: SharedWork[Layer] = SharedWork()
        kept_s = settings.resolutions_s if settings.registry_cache else 0.0
        self._resolutions = Resolutions(settings.cache_dir / "resolutions", kept_s)
        self._resolving: SharedWork[Resolution] = SharedWork()
        self._slots = asyncio.Semaphore(_BUILDS_AT_ONCE)
        self._refused: dict[str, TaskError | SubmissionError] = {}
        """Builds that failed by their own fault: the same would happen again."""
        self._java: JavaBuilder | None = None
        self._programs: SharedWork[InstalledProgram] = SharedWork()
        self._unusable: dict[str, UsageError] = {}
        """Programs that cannot be installed, by request."""

    @property
    @override
    def java(self) -> JavaBuilder:
        """The builder for Java."""
        if self._java is None:
            keep = self._settings.registry_cache
            self._java = JavaBuilder(self._provider, self._store, self._fetch_cache(), keep_fetched=keep)
        return self._java

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return the environment of *request*, building its layer when it is not there."""
        return await self._python(request, WorkTime())

    async def _python(self, request: PythonRequest, work: WorkTime) -> PythonEnvironment:
        interpreter = await self.interpreter(request.python)
        key = layer_key(request, interpreter)
        layer = self._store.find(KIND, key)
        if layer is None:
            layer = await self._once(
                f"{key} for a {request.on_behalf_of}", lambda: self._build_python(request, interpreter, key, work)
            )
        mounts = interpreter_mounts(interpreter, self._store.empty_folder())
        return PythonEnvironment(
            layer=layer,
            mounts=(*mounts, Mount(source=layer.path, target=ENVIRONMENT_TARGET)),
            path=(f"{ENVIRONMENT_TARGET}/bin",),
            python_version=interpreter.version,
            environment=json.loads(layer.built.get("environment", "{}")),
        )

    @override
    async def source(self, request: AnySource) -> Layer:
        """Return the source tree of *request*, verified: an unpacked distribution or a commit's tree."""
        key = digest_of(request)

        async def build() -> Layer:
            if isinstance(request, GitSource):
                return await git_layer(request, self._store, self._settings.git_mirror)
            found = self._store.find("source", source_key(request))  # then nobody needs a registry
            if found is not None:
                return found
            async with self._open_registry() as registry:
                return await source_layer(request, registry, self._store)

        return await self._once(key, build)

    @override
    async def submission_environment(self, request: ResolvedRequest) -> PythonEnvironment:
        """Return an environment with requirements that nobody locked, which it names as they were resolved.

        Raises `OutOfTimeError` when the work takes longer than `work_s`; waiting for a turn is no work.
        """
        work = WorkTime(request.work_s, f"installing {', '.join(request.requirements)[:120]}")
        resolution = await self.resolve(request, work)
        environment = await self._python(
            PythonRequest(
                python=request.python,
                requirements=resolution.lines,
                with_pip=request.with_pip,
                exclude_newer=request.exclude_newer,
                refused=request.refused,
                on_behalf_of=request.on_behalf_of,
            ),
            work,
        )
        return environment.model_copy(update={"resolution": resolution})

    async def resolve(self, request: ResolvedRequest, work: WorkTime | None = None) -> Resolution:
        """Return what *request* comes to, or came to lately. Sources may run their code, in a sandbox."""
        try:
            lines = named_requirements(request.requirements)
        except UsageError as error:
            kind = SubmissionError if request.on_behalf_of == "submission" else TaskError
            raise kind(str(error)) from error
        if not lines:
            return self._resolutions.made(())
        interpreter = await self.interpreter(request.python)
        request = request.model_copy(update={"requirements": lines})
        key = resolution_key(request, interpreter, await self._client())
        found = self._resolutions.find(key)
        if found is not None:
            return found
        asked = f"{key} for a {request.on_behalf_of}"
        return await self._resolving.get(
            asked, lambda: self._resolve(request, interpreter, key, work or WorkTime())
        )

    async def _resolve(
        self, request: ResolvedRequest, interpreter: Interpreter, key: str, work: WorkTime
    ) -> Resolution:
        return await repeated(lambda: self._resolve_once(request, interpreter, key, work), work)

    async def _resolve_once(
        self, request: ResolvedRequest, interpreter: Interpreter, key: str, work: WorkTime
    ) -> Resolution:
        ask = Ask(
            what=f"resolving {', '.join(request.requirements)[:120]} for Python {request.python}",
            kind="resolved",
            digest=key,
            asker=request.on_behalf_of,
            refused=request.refused,
            exclude_newer=request.exclude_newer,
        )
        async with (
            self._store.scratch("resolved", key) as room,
            self._building(room, ask, interpreter, work) as build,
        ):
            resolution = self._resolutions.made(await resolve(build, request, interpreter))
            outdated = any(record.stale for record in build.gateway.fetched)
        if not outdated:
            self._resolutions.keep(key, resolution)
        return resolution

    @asynccontextmanager
    @override
    async def gateway(
        self, *, refused: Iterable[str] = (), exclude_newer: str | None = None
    ) -> AsyncIterator[PyPIGateway]:
        """Yield a way to the package index for one sandbox, with these rules."""
        cutoff = cutoff_instant(exclude_newer) if exclude_newer else None
        async with (
            self._open_registry() as registry,
            PyPIGateway(registry, refused=refused, cutoff=cutoff) as gateway,
        ):
            yield gateway

    @asynccontextmanager
    @override
    async def registries(self, wanted: LendingRules) -> AsyncIterator[RegistrySet]:
        """Yield registries of several kinds for one sandbox, with these rules."""
        if self._lender is None:
            known: dict[RegistryKind, RegistrySettings] = {}
            if self._configuration:
                known["pypi"] = self._configuration
            root = self._settings.cache_dir / "registry" if self._settings.registry_cache else None
            self._lender = RegistryLending(environment(), root, known, {"maven": _maven})
        async with self._lender.lend(wanted) as lent:
            yield lent

    @override
    async def toolchain(self, name: ToolchainName) -> Toolchain:
        """Return a toolchain of the host to mount."""
        if name not in self._toolchains:
            staging = self._settings.cache_dir / "toolchains"
            self._toolchains[name] = await find_toolchain(name, environment(), staging)
        return self._toolchains[name]

    @override
    async def program(self, request: ProgramRequest) -> InstalledProgram:
        """Return the program of *request*, building its layer when it is not there. Raises `UsageError`."""
        key = digest_of(request)
        if key in self._unusable:
            raise UsageError(str(self._unusable[key]))
        workshop = Workshop(self._provider, self._store, self.registries)

        async def install() -> InstalledProgram:
            async with self._slots:
                if request.registry == "npm":
                    return await npm_program(request, await self.toolchain("node"), workshop)
                return await python_program(request, await self.interpreter(request.python), workshop)

        try:
            return await self._programs.get(key, lambda: repeated(install))
        except UsageError as error:
            self._unusable[key] = error
            raise

    async def interpreter(self, minor: str) -> Interpreter:
        """Return the host's interpreter of this minor version, found or fetched."""
        if minor in self._missing:
            raise MachineError(str(self._missing[minor]))
        if minor not in self._interpreters:
            cache = self._settings.cache_dir
            try:
                found = await self._finding.get(minor, lambda: known_interpreter(minor, cache))
            except MachineError as error:
                self._missing[minor] = error
                raise
            self._interpreters[minor] = found
        return self._interpreters[minor]

    @override
    def identity(self) -> Mapping[str, str]:
        """Tool versions, for lock files."""
        found = {f"python{minor}": interpreter.version for minor, interpreter in self._interpreters.items()}
        for toolchain in self._toolchains.values():
            found.update(toolchain.versions)
        return {"uv": uv_version(), **found}

    async def _once(self, key: str, build: Callable[[], Awaitable[Layer]]) -> Layer:
        failed = self._refused.get(key)
        if failed is not None:
            raise type(failed)(str(failed))
        try:
            return await self._layers.get(key, build)
        except OutOfTimeError:  # the machine may be quieter next time
            raise
        except (TaskError, SubmissionError) as error:
            self._refused[key] = error
            raise

    async def _build_python(
        self, request: PythonRequest, interpreter: Interpreter, key: str, work: WorkTime
    ) -> Layer:
        ask = Ask(
            what=f"the Python {request.python} environment",
            kind=KIND,
            digest=key,
            asker=request.on_behalf_of,
            refused=request.refused,
            exclude_newer=request.exclude_newer,
        )

        async def fill(room: Path) -> Built:
            async with self._building(room, ask, interpreter, work) as build:
                built = await fill_environment(build, request, interpreter)
            for leftover in (".uv-cache", ".lock"):
                await asyncio.to_thread(remove_tree, room / "tree" / leftover)
            return built

        return await repeated(lambda: self._store.get(KIND, key, fill), work)

    @asynccontextmanager
    async def _building(
        self, room: Path, ask: Ask, interpreter: Interpreter, work: WorkTime
    ) -> AsyncIterator[BuildSandbox]:
        async with (
            self._slots,
            self._open_registry() as registry,
            build_sandbox(
                room,
                ask,
                interpreter,
                provider=self._provider,
                registry=registry,
                store=self._store,
                limits=self._limits,
            ) as build,
        ):
            try:
                async with work.running(build.sandbox):
                    yield build
            except OutOfTimeError as error:
                raise out_of_time(error, build.gateway.troubles, build.gateway.longest_wait_s()) from error

    @asynccontextmanager
    async def _open_registry(self) -> AsyncIterator[PyPIClient]:
        """Yield the registry; its connections are closed when nobody uses it any more."""
        configuration = await self._client()
        if self._registry is None:
            self._registry = PyPIClient(configuration, self._fetch_cache())
        registry = self._registry
        self._users += 1
        try:
            yield registry
        finally:
            self._users -= 1
            if self._users == 0:
                self._registry = None
                await registry.close()
                if not self._settings.registry_cache:
                    await asyncio.to_thread(remove_tree, registry.cache.root)

    async def _client(self) -> RegistrySettings:
        if self._configuration is None:  # asked of the user's own clients, once for all who begin together
            self._configuration = await self._configuring.get("", lambda: pypi_settings(environment()))
        return self._configuration

    def _fetch_cache(self) -> FetchCache:
        if self._settings.registry_cache:
            return FetchCache(self._settings.cache_dir / "registry")
        return FetchCache(Path(tempfile.mkdtemp(prefix="groundup-registry-")))


async def _maven(environment: Mapping[str, str]) -> RegistrySettings:
    """Maven's repositories are told by the user's settings and by the Maven that is installed."""
    try:
        home = find_maven(environment).home
    except InfrastructureError:  # the user's settings may be enough
        home = None
    return maven_settings(environment, home)
