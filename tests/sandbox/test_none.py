"""The provider that confines nothing: it needs the user's word, and behaves like the others otherwise."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.sandbox.none import NoneProvider, create
from groundup.settings import Settings
from tests.sandbox.contract import SandboxContract


@pytest.fixture
async def provider() -> AsyncIterator[NoneProvider]:
    """Yield a provider; closing it ends what it started."""
    async with NoneProvider() as provider:
        yield provider


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return an empty folder."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


class TestBehaviour(SandboxContract):
    """It does what callers want."""


def test_needs_trust() -> None:
    """Without the user's word that the code is trusted there is no such provider."""
    with pytest.raises(UsageError, match="--i-trust-this-code"):
        create(Settings())
    assert create(Settings(trust_code=True)).name == "none"
