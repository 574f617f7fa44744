"""What builds environments: the base class of builders, with defaults for what only some can do."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.records import Extension
from groundup.environments.requests import AnySource, Layer, PythonEnvironment, PythonRequest, ResolvedRequest

if TYPE_CHECKING:
    from groundup.domain.languages import ToolchainName
    from groundup.environments.java_builder import JavaBuilder
    from groundup.environments.requests import InstalledProgram, ProgramRequest
    from groundup.environments.toolchains import Toolchain
    from groundup.registries.lending import LendingRules, RegistrySet
    from groundup.registries.pypi.gateway import PyPIGateway
    from groundup.trees.fingerprints import Fingerprint


class EnvironmentBuilder(Extension):
    """Builds layers once and hands them out, however many ask at once.

    Errors separate who is to blame: `TaskError` (a recipe that cannot be built), `SubmissionError` (its own
    requirements), `InfrastructureError` (network, disk); each text names the kept log.
    """

    @abstractmethod
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return the environment of *request*, building its layer when it is not there."""

    @abstractmethod
    async def source(self, request: AnySource) -> Layer:
        """Return the source tree of *request*, verified: an unpacked distribution or a commit's tree."""

    @abstractmethod
    def identity(self) -> Mapping[str, str]:
        """Tool versions, for lock files."""

    @property
    def java(self) -> "JavaBuilder | None":
        """The builder for Java; None: this one does no Java."""
        return None

    async def submission_environment(self, request: ResolvedRequest) -> PythonEnvironment:
        """Return an environment with *request*'s requirements, which have no lock; its `resolution` says which.

        Raises `OutOfTimeError`, a `SubmissionError`, when the work takes longer than `work_s`, and `UsageError`
        where this builder installs none.
        """
        raise UsageError("this environment builder installs no submissions' requirements; use the builder 'local'")

    def gateway(
        self,
        *,
        refused: Iterable[str] = (),
        original: "Fingerprint | None" = None,
        exclude_newer: str | None = None,
    ) -> "AbstractAsyncContextManager[PyPIGateway | None]":
        """Yield a package index to attach to one sandbox; it refuses these names and hides what is newer.

        It also refuses what brings a copy of *original* along. None: this builder lends no package index.
        """
        return nullcontext()

    def registries(self, wanted: "LendingRules") -> "AbstractAsyncContextManager[RegistrySet]":
        """Yield registries for one sandbox: `attach` returns the variables that its commands need."""
        from groundup.registries.lending import RegistrySet

        return nullcontext(RegistrySet({}))

    async def toolchain(self, name: "ToolchainName") -> "Toolchain":
        """Return a toolchain of the host to mount; raises `InfrastructureError` when it is not installed."""
        raise InfrastructureError("the environment builder lends no toolchains")

    async def program(self, request: "ProgramRequest") -> "InstalledProgram":
        """Return a program of a package registry, such as an agent, building its layer when it is not there.

        Raises `UsageError` when there is no such program or it cannot be installed, else `InfrastructureError`.
        """
        raise UsageError("this environment builder installs no programs; set builder = local")
