"""The container as sandbox: what is laid out below a folder that stands for its root, and given back."""

import asyncio
import ctypes
import os
from pathlib import Path

import pytest

from groundup.domain.errors import SandboxError
from groundup.sandbox.protocol import Mount, SandboxSpec
from groundup_bridges.inplace import InPlace, InPlaceProvider, end_all_of


def a_spec(root: Path, *mounts: Mount) -> SandboxSpec:
    """Return a sandbox around a workspace with a file and a folder."""
    workspace = root / "scratch" / "workspace"
    (workspace / "tests").mkdir(parents=True)
    (workspace / "tests" / "test_it.py").write_text("theirs")
    (workspace / "code.py").write_text("theirs")
    return SandboxSpec(workspace=workspace, mounts=mounts)


def a_mount(root: Path, target: str, text: str = "ours") -> Mount:
    """Return a folder with one file to be mounted."""
    source = root / "sources" / target.strip("/").replace("/", "-")
    source.mkdir(parents=True)
    (source / "test_it.py").write_text(text)
    return Mount(source=source, target=target)


def test_the_workspace_is_in_its_place_and_comes_back(tmp_path: Path) -> None:
    """Mounts hide what a submission has there, and what a guest changed is in the workspace afterwards."""
    root = tmp_path / "root"
    root.mkdir()
    spec = a_spec(tmp_path, a_mount(tmp_path, "/workspace/tests"), a_mount(tmp_path, "/opt/groundup"))
    layout = InPlace(spec, root)
    layout.enter()
    assert not spec.workspace.exists()
    assert (root / "workspace" / "tests" / "test_it.py").read_text() == "ours"
    assert (root / "workspace").stat().st_mode & 0o7777 == 0o1777, "a guest must not rename what is mounted"
    assert (root / "opt" / "groundup" / "test_it.py").read_text() == "ours"
    (root / "workspace" / "built.so").write_text("new")
    layout.leave()
    assert {path.name for path in spec.workspace.iterdir()} == {"tests", "code.py", "built.so"}
    assert not (root / "opt" / "groundup").exists()
    assert not (root / "workspace").exists()


def test_nothing_of_a_guest_is_there_for_the_next(tmp_path: Path) -> None:
    """Folders that all users may write are empty when a sandbox opens and when it closes."""
    root = tmp_path / "root"
    (root / "tmp" / "home").mkdir(parents=True)
    (root / "tmp" / "note").write_text("from an earlier guest")
    layout = InPlace(a_spec(tmp_path), root)
    layout.enter()
    assert list((root / "tmp").iterdir()) == []
    (root / "tmp" / "link").symlink_to(tmp_path)
    layout.leave()
    assert list((root / "tmp").iterdir()) == []
    assert tmp_path.exists()


def test_what_the_image_holds_is_not_copied_nor_removed(tmp_path: Path) -> None:
    """An environment at its own target stays as it is."""
    root = tmp_path / "root"
    (root / "opt" / "env").mkdir(parents=True)
    mount = Mount(source=root / "opt" / "env", target="/opt/env")
    layout = InPlace(a_spec(tmp_path, mount), root)
    layout.enter()
    layout.leave()
    assert (root / "opt" / "env").is_dir()


def test_a_link_in_the_place_of_a_mount_leads_nowhere(tmp_path: Path) -> None:
    """A submission cannot have trusted files written elsewhere, nor its own stand in for them."""
    root = tmp_path / "root"
    root.mkdir()
    spec = a_spec(tmp_path, a_mount(tmp_path, "/workspace/link/tests"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (spec.workspace / "link").symlink_to(elsewhere)
    with pytest.raises(SandboxError, match="symbolic link"):
        InPlace(spec, root).enter()
    assert list(elsewhere.iterdir()) == []


async def test_one_sandbox_is_open_at_a_time(tmp_path: Path) -> None:
    """The second waits for the first: both are at the same paths."""
    root = tmp_path / "root"
    root.mkdir()
    provider = InPlaceProvider(root)
    first = await provider.open(a_spec(tmp_path / "one"))
    second = asyncio.create_task(provider.open(a_spec(tmp_path / "two")))
    await asyncio.sleep(0)
    assert not second.done()
    await first.close()
    await first.close()
    await (await second).close()


async def test_two_at_once_are_refused(tmp_path: Path) -> None:
    """A pod would need two sandboxes at the same paths."""
    with pytest.raises(SandboxError, match="two sandboxes"):
        await InPlaceProvider(tmp_path).pod()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes others")
def test_no_memory_of_a_guest_is_left() -> None:
    """What one run keeps in System V's memory, queues or semaphores would tell the next one what was true."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY_ELSE)
        os.setuid(NOBODY_ELSE)
        libc = ctypes.CDLL(None)
        os._exit(min(libc.shmget(0, 4096, 0o1600), libc.msgget(0, 0o1600), libc.semget(0, 1, 0o1600)) < 0)
    assert os.waitpid(child, 0)[1] == 0
    assert kept() == ["msg", "sem", "shm"]
    end_all_of(NOBODY_ELSE)
    assert kept() == []


NOBODY_ELSE = 61_237


def kept() -> list[str]:
    """Return of which kinds the user has something."""
    found = []
    for file in sorted(Path("/proc/sysvipc").iterdir()):
        head, *lines = (line.split() for line in file.read_text().splitlines())
        found += [file.name for line in lines if line[head.index("cuid")] == str(NOBODY_ELSE)]
    return found
