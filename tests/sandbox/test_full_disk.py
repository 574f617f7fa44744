"""What sandboxes do when the host's own disk is full."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.sandbox.bubblewrap import BubblewrapProvider
from groundup.sandbox.protocol import SandboxSpec
from tests.sandbox.contract import sh


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 300 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk, and not everywhere")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_full_disk_of_the_host_is_no_one_s_fault_inside(small_disk: Path) -> None:
    """When the disk below a workspace has no room, commands end with an error that says so, not with a limit."""
    (small_disk / "workspace").mkdir()
    async with BubblewrapProvider() as provider:
        sandbox = await provider.open(SandboxSpec(workspace=small_disk / "workspace"))
        with (small_disk / "others").open("wb") as others:
            os.posix_fallocate(others.fileno(), 0, 100 << 20)
        with pytest.raises(SandboxError, match="less than 256 MB are free on the disk"):
            await sandbox.run(sh("sleep 60"))
        await sandbox.close()
