"""Environments and originals that an image holds already, for a grader inside it: nothing is built there."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.failures import WorkTime
from groundup.environments.interpreters import Interpreter, probed
from groundup.environments.local import LocalBuilder
from groundup.environments.python_builder import Names
from groundup.environments.requests import (
    PYTHON_TARGET,
    AnySource,
    Layer,
    PythonEnvironment,
    PythonRequest,
)
from groundup.sandbox.protocol import Mount, SandboxProvider
from groundup.settings import Settings

T = TypeVar("T")


class BakedLayers(Record):
    """What an image holds, by the digests of the requests that it answers."""

    environments: dict[str, PythonEnvironment] = {}
    sources: dict[str, Layer] = {}

    def with_environment(self, request: PythonRequest, found: PythonEnvironment) -> "BakedLayers":
        """Return it with an environment whose mounts lie at their targets."""
        mounts = tuple(Mount(source=Path(mount.target), target=mount.target) for mount in found.mounts)
        placed = found.but(mounts=mounts)
        return self.but(environments={**self.environments, digest_of(request): placed})

    def with_source(self, request: AnySource, found: Layer, path: Path) -> "BakedLayers":
        """Return it with an original that lies at *path*."""
        placed = found.but(path=path)
        return self.but(sources={**self.sources, digest_of(request): placed})


class ContainerBuilder(LocalBuilder):
    """Hands out what the image holds, and builds what submissions ask for with the image's own interpreter."""

    def __init__(self, settings: Settings, provider: SandboxProvider, held: BakedLayers) -> None:
        super().__init__(settings, provider)
        self._held = held

    @override
    async def python(
        self, request: PythonRequest, work: WorkTime | None = None, names: Names = None
    ) -> PythonEnvironment:
        """Return the environment of *request*, building it when the image does not hold it."""
        found = self._held.environments.get(digest_of(request))
        return found or await super().python(request, work, names)

    @override
    async def interpreter(self, minor: str) -> Interpreter:
        """Return the image's interpreter. Raises `TaskError` for another version."""
        if minor not in self._interpreters:
            found = await probed(Path(PYTHON_TARGET, "bin", f"python{minor}"), minor, {})
            if found is None:
                raise TaskError(f"this image holds no Python {minor}; export the task again")
            self._interpreters[minor] = found
        return self._interpreters[minor]


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
