"""Fixtures: a real sandbox, and a builder whose package index is on loopback."""

from pathlib import Path

import pytest

from groundup.environments.local import LocalBuilder
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings
from tests.environments.conftest import index, provider
from tests.registries.fake_index import FakeIndex
from tests.shared import once

__all__ = ["index", "provider"]


@pytest.fixture(scope="session")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for all tests: a program's environment is made once, and what it holds is no test's subject."""
    return once(tmp_path_factory, "layers-programs", Path.mkdir)


@pytest.fixture
def builder(index: FakeIndex, provider: SandboxProvider, layers: Path) -> LocalBuilder:
    """A builder with the local index."""
    return LocalBuilder(Settings(cache_dir=layers), provider, index.configuration())
