"""One sandbox provider and one environment for all dishonest libraries of a process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.settings import load
from tests.cheats.trials import LibraryTrial
from tests.needs import real_sandboxes
from tests.suites.nl2repobench.images import Laboratory, write_environment


@pytest.fixture(scope="session")
def cheats_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with pytest, written once."""
    return write_environment(tmp_path_factory.mktemp("cheats") / "environment")


@pytest.fixture
async def trial(cheats_environment: Path, tmp_path: Path) -> AsyncIterator[LibraryTrial]:
    """Return a place to grade dishonest libraries; skips where this machine can open no sandbox."""
    async with real_sandboxes(load(), tmp_path / "probe") as provider:
        yield LibraryTrial(Laboratory(provider, cheats_environment, tmp_path / "laboratory"))
