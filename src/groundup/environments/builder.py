"""The protocol of the environment builder."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from groundup.environments.requests import AnySource, Layer, PythonEnvironment, PythonRequest, ResolvedRequest

if TYPE_CHECKING:
    from groundup.environments.programs import InstalledProgram, ProgramRequest
    from groundup.environments.toolchains import Toolchain, ToolchainName
    from groundup.registries.lending import LendingRules, RegistrySet
    from groundup.registries.pypi.gateway import PyPIGateway


class EnvironmentBuilder(Protocol):
    """Builds layers once and hands them out, however many ask at once.

    Errors separate who is to blame: `TaskError` (a recipe that cannot be built), `SubmissionError` (its own
    requirements), `InfrastructureError` (network, disk); each text names the kept log.
    """

    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return the environment of *request*, building its layer when it is not there."""
        ...

    async def source(self, request: AnySource) -> Layer:
        """Return the source tree of *request*, verified: an unpacked distribution or a commit's tree."""
        ...

    def identity(self) -> Mapping[str, str]:
        """Tool versions, for lock files."""
        ...


@runtime_checkable
class RegistryLender(Protocol):
    """A builder that lends its package index to a sandbox, for graders that run installers there. Optional."""

    def gateway(
        self, *, refused: Iterable[str] = (), exclude_newer: str | None = None
    ) -> AbstractAsyncContextManager["PyPIGateway"]:
        """Yield a gateway that refuses these names and hides what is newer; attach it to one sandbox."""
        ...


@runtime_checkable
class WorkbenchLender(Protocol):
    """A builder that lends registries of several kinds and the host's toolchains. Optional."""

    def registries(self, wanted: "LendingRules") -> AbstractAsyncContextManager["RegistrySet"]:
        """Yield registries for one sandbox: `attach` returns the variables that its commands need."""
        ...

    async def toolchain(self, name: "ToolchainName") -> "Toolchain":
        """Return a toolchain of the host to mount; raises `InfrastructureError` when it is not installed."""
        ...


@runtime_checkable
class ProgramInstaller(Protocol):
    """A builder that installs programs of package registries, such as agents. Optional."""

    async def program(self, request: "ProgramRequest") -> "InstalledProgram":
        """Return the program of *request*, building its layer when it is not there.

        Raises `UsageError` when there is no such program or it cannot be installed, else `InfrastructureError`.
        """
        ...


@runtime_checkable
class SubmissionInstaller(Protocol):
    """A builder that installs what a submission declares and nobody locked. Optional."""

    async def submission_environment(self, request: ResolvedRequest) -> PythonEnvironment:
        """Return an environment with *request*'s requirements, resolved lately, as its `resolution` says.

        Raises `OutOfTimeError`, a `SubmissionError`, when the work takes longer than `work_s`.
        """
        ...
