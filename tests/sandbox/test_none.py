"""The provider that confines nothing: it needs the user's word, and behaves like the others otherwise."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError, UsageError
from groundup.sandbox.none import NoneProvider, create
from groundup.sandbox.protocol import Command, SandboxSpec
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


@pytest.mark.parametrize(("number", "code"), [(errno.EAGAIN, None), (errno.ENOMEM, None), (errno.EACCES, 126)])
async def test_what_the_machine_cannot_start_is_no_result(
    provider: NoneProvider, workspace: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int | None
) -> None:
    """A grader must not count it; what a program is itself to blame for is a result, as in other sandboxes."""

    async def refused(*argv: str, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(asyncio, "create_subprocess_exec", refused)
    sandbox = await provider.open(SandboxSpec(workspace=workspace))
    if code is None:
        with pytest.raises(SandboxError, match="cannot start true on this machine"):
            await sandbox.run(Command(argv=("true",)))
        with pytest.raises(SandboxError):
            await sandbox.start(Command(argv=("true",)))
    else:
        assert (await sandbox.run(Command(argv=("true",)))).exit_code == code
