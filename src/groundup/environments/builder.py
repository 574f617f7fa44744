"""The protocol of the environment builder."""

from collections.abc import Mapping
from typing import Protocol

from groundup.environments.requests import Layer, PythonEnvironment, PythonRequest, SourceRequest


class EnvironmentBuilder(Protocol):
    """Builds layers once and hands them out, however many ask at once.

    Errors separate who is to blame: `TaskError` (a recipe that cannot be built), `SubmissionError` (its own
    requirements), `InfrastructureError` (network, disk); each text names the kept log.
    """

    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return the environment of *request*, building its layer when it is not there."""
        ...

    async def source(self, request: SourceRequest) -> Layer:
        """Return the unpacked source tree of *request* (one top folder stripped), verified by hash."""
        ...

    def identity(self) -> Mapping[str, str]:
        """Tool versions, for lock files."""
        ...
