"""Fixtures for gateways: a local index, and a registry that uses it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from groundup.registries.cache import FetchCache
from groundup.registries.pypi.client import PyPIClient
from tests.registries.fake_index import FakeIndex, serving


@pytest.fixture
def index() -> Iterator[FakeIndex]:
    """An empty package index on loopback."""
    with serving() as found:
        yield found


@pytest.fixture
async def registry(index: FakeIndex, tmp_path: Path) -> AsyncIterator[PyPIClient]:
    """The host's view of that index, with an empty cache."""
    found = PyPIClient(index.configuration(), FetchCache(tmp_path / "cache"))
    yield found
    await found.close()
