"""Environments and originals that an image holds already, for a grader inside it: nothing is built there."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import AnySource, Layer, PythonEnvironment, PythonRequest
from groundup.sandbox.protocol import Mount

T = TypeVar("T")


class BakedLayers(Record):
    """What an image holds, by the digests of the requests that it answers."""

    environments: dict[str, PythonEnvironment] = {}
    sources: dict[str, Layer] = {}

    def with_environment(self, request: PythonRequest, found: PythonEnvironment) -> "BakedLayers":
        """Return it with an environment whose mounts lie at their targets."""
        mounts = tuple(Mount(source=Path(mount.target), target=mount.target) for mount in found.mounts)
        placed = found.model_copy(update={"mounts": mounts})
        return self.model_copy(update={"environments": {**self.environments, digest_of(request): placed}})

    def with_source(self, request: AnySource, found: Layer, path: Path) -> "BakedLayers":
        """Return it with an original that lies at *path*."""
        placed = found.model_copy(update={"path": path})
        return self.model_copy(update={"sources": {**self.sources, digest_of(request): placed}})


class BakedBuilder(EnvironmentBuilder):
    """Hands out what the image holds."""

    def __init__(self, held: BakedLayers) -> None:
        self._held = held

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return the environment of *request*. Raises `TaskError`."""
        return _found(self._held.environments, digest_of(request))

    @override
    async def source(self, request: AnySource) -> Layer:
        """Return the original of *request*. Raises `TaskError`."""
        return _found(self._held.sources, digest_of(request))

    @override
    def identity(self) -> Mapping[str, str]:
        """Return nothing: the verdict names the layers."""
        return {}


def _found(held: Mapping[str, T], digest: str) -> T:
    if digest not in held:
        raise TaskError("this image holds another task's environment; export the task again")
    return held[digest]
