"""Trials in real sandboxes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.domain.limits import Limits
from groundup.sandbox.bubblewrap import create
from groundup.sandbox.protocol import Command, SandboxSpec
from groundup.settings import load
from tests.needs import lack
from tests.suites.nl2repobench.images import Laboratory, write_environment
from tests.suites.nl2repobench.trials import Trial


@pytest.fixture
async def trial(tmp_path: Path) -> AsyncIterator[Trial]:
    """Return a place to grade submissions; skips where this machine can open no sandbox."""
    async with create(load()) as provider:
        workspace = tmp_path / "probe"
        workspace.mkdir()
        try:
            async with await provider.open(SandboxSpec(workspace=workspace, limits=Limits())) as sandbox:
                await sandbox.run(Command(argv=("true",)))
        except SandboxError as error:
            lack("sandbox", error)
        yield Trial(provider, tmp_path)


@pytest.fixture(scope="session")
def image_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with pytest and pip, to be copied for each official grading."""
    return write_environment(tmp_path_factory.mktemp("image") / "environment")


@pytest.fixture
def laboratory(trial: Trial, image_environment: Path, tmp_path: Path) -> Laboratory:
    """Return a place to grade officially and strictly; skips where this machine can open no sandbox."""
    return Laboratory(trial.provider, image_environment, tmp_path / "laboratory")
