"""The environment builder: layers on this machine's disk, built in this machine's sandboxes."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import GroundupError, MachineError, NetworkError, TaskError
from groundup.domain.languages import ToolchainName
from groundup.domain.limits import Limits
from groundup.environments.failures import Builds
from groundup.environments.layers import layer_store
from groundup.environments.python_builder import PythonBuilder
from groundup.environments.requests import (
    AnySource,
    EditedSource,
    GitSource,
    InstalledProgram,
    Layer,
    ProgramRequest,
    ReleasedFiles,
)
from groundup.environments.sources import (
    commit_key,
    edited_layer,
    git_layer,
    present_source,
    released_layer,
    source_key,
    source_layer,
)
from groundup.registries.uv import uv_version
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings, environment

if TYPE_CHECKING:
    from groundup.environments.java_builder import JavaBuilder
    from groundup.environments.program_layers import Programs
    from groundup.environments.toolchains import Toolchain
    from groundup.registries.lending import LendingRules, RegistryLending, RegistrySet
    from groundup.registries.pypi.gateway import PyPIGateway
    from groundup.registries.settings import RegistrySettings
    from groundup.trees.fingerprints import Fingerprint


def create(settings: Settings, provider: SandboxProvider) -> "LocalBuilder":
    """Return the builder; it looks for nothing before the first request."""
    return LocalBuilder(settings, provider)


class LocalBuilder(PythonBuilder):
    """Implements `EnvironmentBuilder`: Python, and what else there is. Belongs to one event loop.

    Holds no connection while nothing is built.
    """

    def __init__(
        self,
        settings: Settings,
        provider: SandboxProvider,
        index: "RegistrySettings | None" = None,
        limits: Limits | None = None,
    ) -> None:
        """Make a builder. *index* replaces the package index that the user's own clients are configured for."""
        super().__init__(settings, provider, layer_store(settings), limits)
        self._settings = settings
        self._toolchains: dict[ToolchainName, Toolchain] = {}
        self._sources = Builds()
        self._index = index

    @cached_property
    @override
    def _lending(self) -> "RegistryLending":
        """The user's registries, made for who builds or lends: most runs find everything at hand."""
        from groundup.registries.lending import RegistryLending

        return RegistryLending(
            environment(),
            self._settings.cache_dir / "registry" if self._settings.registry_cache else None,
            {"pypi": self._index} if self._index else {},
            {"maven": _maven_settings},
        )

    @cached_property
    @override
    def java(self) -> "JavaBuilder":
        """The builder for Java, imported for who asks."""
        from groundup.environments.java_builder import JavaBuilder

        return JavaBuilder(self._provider, self._store, self._lending)

    @override
    async def source(self, request: AnySource) -> Layer:
        """Return the source tree of *request*, verified: an unpacked distribution or a commit's tree."""

        async def build() -> Layer:
            if isinstance(request, EditedSource):
                return await edited_layer(request, await self.source(request.of), self._store)
            if isinstance(request, GitSource):
                return await self._commit(request)
            found = self._store.find("source", source_key(request))  # needs no registry
            if found is not None:
                return found
            async with self._lending.client("pypi") as registry:
                return await source_layer(request, registry, self._store)

        return await self._sources.get(digest_of(request), build)

    async def _commit(self, request: GitSource) -> Layer:
        """Return a commit's tree, or what the package index has of it: mirrors come first, Git's host last."""
        mirror = self._settings.git_mirror
        found = present_source(request, self._store)
        if request.released is None or (found is not None and found.digest == commit_key(request)):
            return await git_layer(request, self._store, mirror)
        if found is not None:
            return found
        ways = [partial(self._released, request.released), partial(git_layer, request, self._store, mirror)]
        refused: list[GroundupError] = []
        for way in ways if mirror is None else ways[::-1]:
            try:
                return await way()
            except (TaskError, NetworkError, MachineError) as error:
                refused.append(error)
        kind = NetworkError if any(isinstance(error, NetworkError) for error in refused) else TaskError
        raise kind("; and ".join(map(str, refused)))

    async def _released(self, released: ReleasedFiles) -> Layer:
        async with self._lending.client("pypi") as registry:
            return await released_layer(released, registry, self._store)

    @asynccontextmanager
    @override
    async def gateway(
        self,
        *,
        refused: Iterable[str] = (),
        original: "Fingerprint | None" = None,
        exclude_newer: str | None = None,
    ) -> "AsyncIterator[PyPIGateway]":
        """Yield a way to the package index for one sandbox, with these rules."""
        from groundup.registries.lending import LendingRules
        from groundup.registries.pypi.gateway import PyPIGateway

        names = {"pypi": tuple(refused)}
        rules = LendingRules(kinds=("pypi",), refused=names, original=original, exclude_newer=exclude_newer)
        async with self._lending.lend(rules) as lent:
            gateway = lent.gateways["pypi"]
            assert isinstance(gateway, PyPIGateway)  # the gateway of that kind
            yield gateway

    @override
    def registries(self, wanted: "LendingRules") -> "AbstractAsyncContextManager[RegistrySet]":
        """Yield registries of several kinds for one sandbox, with these rules."""
        return self._lending.lend(wanted)

    @override
    async def toolchain(self, name: ToolchainName) -> "Toolchain":
        """Return a toolchain of the host to mount."""
        from groundup.environments.toolchains import find_toolchain

        if name not in self._toolchains:
            staging = self._settings.cache_dir / "toolchains"
            self._toolchains[name] = await find_toolchain(name, environment(), staging)
        return self._toolchains[name]

    @cached_property
    def _programs(self) -> "Programs":
        """What is or was installed, imported for who asks."""
        from groundup.environments.program_layers import Programs

        return Programs()

    @override
    async def program(self, request: ProgramRequest) -> InstalledProgram:
        """Return the program of *request*, building its layer when it is not there. Raises `UsageError`."""
        return await self._programs.get(request, partial(self._install, request))

    async def _install(self, request: ProgramRequest) -> InstalledProgram:
        from groundup.environments.program_layers import ProgramTools, npm_program, python_program

        tools = ProgramTools(self._provider, self._store, self._lending.lend)
        async with self._places.place():
            if request.registry == "npm":
                return await npm_program(request, await self.toolchain("node"), tools)
            return await python_program(request, await self.interpreter(request.python), tools)

    @override
    def identity(self) -> Mapping[str, str]:
        """Tool versions, for lock files."""
        found = {f"python{minor}": found.version for minor, found in self._interpreters.items()}
        for toolchain in self._toolchains.values():
            found.update(toolchain.versions)
        return {"uv": uv_version(), **found}


async def _maven_settings(environment: Mapping[str, str]) -> "RegistrySettings":
    from groundup.environments.java_builder import installed_maven_settings

    return await installed_maven_settings(environment)
