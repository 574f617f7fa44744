"""A sandbox provider for each dishonest library, and one environment for all."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.settings import load
from tests.cheats.trials import LibraryTrial
from tests.needs import real_sandboxes
from tests.suites.nl2repobench.conftest import image_environment
from tests.suites.nl2repobench.images import Laboratory

__all__ = ["image_environment"]


@pytest.fixture
async def trial(image_environment: Path, tmp_path: Path) -> AsyncIterator[LibraryTrial]:
    """Return a place to grade dishonest libraries; skips where this machine can open no sandbox."""
    async with real_sandboxes(load(), tmp_path / "probe") as provider:
        yield LibraryTrial(Laboratory(provider, image_environment, tmp_path / "laboratory"))
