"""Fixtures for environments: a local index, a real sandbox provider, and builders that use both."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from groundup.domain.limits import Limits
from groundup.environments.build_sandbox import LIMITS
from groundup.environments.local import LocalBuilder
from groundup.environments.requests import PythonEnvironment
from groundup.registries.settings import RegistrySettings
from groundup.sandbox.protocol import Command, SandboxProvider, SandboxSpec
from groundup.settings import Settings
from tests.needs import real_sandboxes
from tests.registries.fake_index import FakeIndex, serving

MINOR = f"3.{sys.version_info.minor}"
"""The Python that runs the tests is there for sure."""

MakeBuilder = Callable[..., LocalBuilder]


@pytest.fixture
def index() -> Iterator[FakeIndex]:
    """An empty package index on loopback."""
    with serving() as found:
        yield found


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[SandboxProvider]:
    """The default sandbox provider; skips where this machine cannot open sandboxes."""
    async with real_sandboxes(Settings(cache_dir=tmp_path / "cache"), tmp_path / "try") as found:
        yield found


@pytest.fixture
def make_builder(index: FakeIndex, provider: SandboxProvider, tmp_path: Path) -> MakeBuilder:
    """Make builders on one cache, which use the local index unless a test says otherwise."""

    def make(configuration: RegistrySettings | None = None, limits: Limits = LIMITS) -> LocalBuilder:
        settings = Settings(cache_dir=tmp_path / "cache")
        return LocalBuilder(settings, provider, configuration or index.configuration(), limits)

    return make


@pytest.fixture
def builder(make_builder: MakeBuilder) -> LocalBuilder:
    """A builder with an empty cache and the local index."""
    return make_builder()


async def inside(provider: SandboxProvider, environment: PythonEnvironment, code: str, folder: Path) -> str:
    """Run Python *code* in a sandbox that has *environment*; return what it printed."""
    folder.mkdir(exist_ok=True)
    spec = SandboxSpec(
        workspace=folder, mounts=environment.mounts, path=environment.path, environment=environment.environment
    )
    async with await provider.open(spec) as sandbox:
        result = await sandbox.run(Command(argv=(environment.executable, "-c", code)))
    assert result.ok, result.stderr.decode()
    return result.stdout.decode().strip()
