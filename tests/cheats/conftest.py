"""One sandbox provider and one environment for all dishonest libraries of a process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.sandbox.bubblewrap import create
from groundup.sandbox.protocol import Command, SandboxSpec
from groundup.settings import load
from tests.cheats.trials import LibraryTrial
from tests.needs import lack
from tests.suites.nl2repobench.images import Laboratory, write_environment


@pytest.fixture(scope="session")
def cheats_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with pytest, written once."""
    return write_environment(tmp_path_factory.mktemp("cheats") / "environment")


@pytest.fixture
async def trial(cheats_environment: Path, tmp_path: Path) -> AsyncIterator[LibraryTrial]:
    """Return a place to grade dishonest libraries; skips where this machine can open no sandbox."""
    async with create(load()) as provider:
        workspace = tmp_path / "probe"
        workspace.mkdir()
        try:
            async with await provider.open(SandboxSpec(workspace=workspace)) as sandbox:
                await sandbox.run(Command(argv=("true",)))
        except SandboxError as error:
            lack("sandbox", error)
        yield LibraryTrial(Laboratory(provider, cheats_environment, tmp_path / "laboratory"))
