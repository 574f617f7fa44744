"""Trials in real sandboxes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.sandbox.bubblewrap import create
from groundup.sandbox.protocol import Command, SandboxSpec
from groundup.settings import load
from tests.needs import lack
from tests.suites.repogenesis.trials import Trial


@pytest.fixture
async def trial(tmp_path: Path) -> AsyncIterator[Trial]:
    """Return a place to grade services; skips where this machine can make no pod."""
    async with create(load()) as provider:
        workspace = tmp_path / "probe"
        workspace.mkdir()
        try:
            async with await provider.pod() as pod, await pod.open(SandboxSpec(workspace=workspace)) as sandbox:
                await sandbox.run(Command(argv=("true",)))
        except SandboxError as error:
            lack("sandbox", error)
        yield Trial(provider, tmp_path)
