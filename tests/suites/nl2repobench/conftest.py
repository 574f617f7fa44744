"""Trials in real sandboxes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.settings import load
from tests.needs import real_sandboxes
from tests.shared import once
from tests.suites.nl2repobench.images import Laboratory, write_environment
from tests.suites.nl2repobench.trials import Trial


@pytest.fixture
async def trial(tmp_path: Path) -> AsyncIterator[Trial]:
    """Return a place to grade submissions; skips where this machine can open no sandbox."""
    async with real_sandboxes(load(), tmp_path / "probe") as provider:
        yield Trial(provider, tmp_path)


@pytest.fixture(scope="session")
def image_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with pytest and pip, to be copied for each official grading."""
    return once(tmp_path_factory, "image", write_environment)


@pytest.fixture
def laboratory(trial: Trial, image_environment: Path, tmp_path: Path) -> Laboratory:
    """Return a place to grade officially and strictly; skips where this machine can open no sandbox."""
    return Laboratory(trial.provider, image_environment, tmp_path / "laboratory")
