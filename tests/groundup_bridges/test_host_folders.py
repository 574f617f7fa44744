"""Folders of the host, on which sandboxes in containers build: they behave like every sandbox."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.sandbox.protocol import Command, SandboxSpec
from tests.groundup_bridges.host import HostProvider
from tests.sandbox.contract import SandboxContract


@pytest.fixture
async def provider() -> AsyncIterator[HostProvider]:
    """Yield a provider; closing it ends what it started."""
    async with HostProvider() as provider:
        yield provider


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return an empty folder."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


class TestBehaviour(SandboxContract):
    """It does what callers want."""


@pytest.mark.parametrize(("number", "code"), [(errno.EAGAIN, None), (errno.ENOMEM, None), (errno.EACCES, 126)])
async def test_what_the_machine_cannot_start_is_no_result(
    provider: HostProvider, workspace: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int | None
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
