"""Several guests of one container: each sees what is its own, and none reaches another but by loopback."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from groundup.domain.errors import SandboxError
from groundup.sandbox.bubblewrap import listed_system
from groundup.sandbox.protocol import Command, CommandResult, Mount, Pod, Sandbox, SandboxSpec
from groundup.trees.writer import share_tree
from groundup_bridges.guest_roots import GuestRoots
from tests.needs import lack
from tests.patience import patient


def a_system(root: Path) -> Path:
    """Return a folder that stands for the root of an image."""
    found = listed_system()
    root.mkdir()
    share_tree(found.path / "usr", root / "usr")
    for name in found.links:
        (root / name).symlink_to(f"usr/{name}")
    return root


@pytest.fixture
async def pod(tmp_path: Path) -> AsyncIterator[Pod]:
    """Return a pod whose guests are users that no other test has."""
    if os.geteuid() != 0:
        lack("root", "guests of one container are users of their own")
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    provider = GuestRoots(tmp_path / "guests", a_system(tmp_path / "system"), 60600 + 20 * worker)
    async with await provider.pod() as opened:
        yield opened
    assert list((tmp_path / "guests").iterdir()) == []


def a_spec(root: Path, name: str, **more: object) -> SandboxSpec:
    """Return a sandbox around a workspace with one file."""
    (root / name).mkdir()
    (root / name / "secret").write_text(f"of the {name}")
    return SandboxSpec.model_validate({"workspace": root / name, "label": name, **more})


async def told(sandbox: Sandbox, program: str) -> CommandResult:
    """Run a shell's program."""
    return await sandbox.run(Command(argv=("sh", "-c", program), timeout_s=60))


async def test_guests_can_neither_end_nor_read_one_another(pod: Pod, tmp_path: Path) -> None:
    """A service that kills and reads all that it can leaves its judge as it was."""
    tests = await pod.open(a_spec(tmp_path, "tests"))
    running = await tests.start(Command(argv=("sleep", "600")))
    service = await pod.open(a_spec(tmp_path, "service", user="root", throw_away_root=True))
    await told(service, "kill -9 -1")
    seen = await told(service, "cat /proc/*/root/workspace/secret ../../*/workspace/secret; find / -name secret")
    assert seen.stdout == b"/workspace/secret\n"
    assert running.alive()
    assert (await tests.read_file("secret")) == b"of the tests"


async def test_a_guest_writes_beside_its_mounts_only(pod: Pod, tmp_path: Path) -> None:
    """What it was lent comes back changed; what is mounted or the system's stays as it was."""
    lent, shown = tmp_path / "lent", tmp_path / "shown"
    for folder in (lent, shown):
        folder.mkdir()
        (folder / "file").write_text("old")
    mounts = (Mount(source=lent, target="/repo", writable=True), Mount(source=shown, target="/opt/shown"))
    spec = a_spec(tmp_path, "service", mounts=mounts, user="root", throw_away_root=True)
    service = await pod.open(spec)
    done = await told(
        service,
        "echo new > /repo/file; echo new > /etc/hosts; mkdir /data; rm -rf /usr/local && echo may; "
        "echo new > /opt/shown/file || echo > /usr/bin/sh || echo not",
    )
    assert done.stdout == b"may\nnot\n"
    await service.close()
    assert (lent / "file").read_text() == "new\n"
    assert (lent / "file").stat().st_uid == 0
    assert (shown / "file").read_text() == "old"
    assert (spec.workspace / "secret").is_file()


async def test_links_in_the_way_are_not_followed(pod: Pod, tmp_path: Path) -> None:
    """A guest that puts a link where groundup takes something back, or starts a command, gains nothing by it."""
    lent, host = tmp_path / "lent", tmp_path / "host"
    for folder in (lent, host):
        folder.mkdir()
    (host / "file").write_text("the host's")
    mounts = (Mount(source=lent, target="/repo", writable=True),)
    service = await pod.open(a_spec(tmp_path, "service", mounts=mounts, user="root", throw_away_root=True))
    await told(service, f"cd /; mv repo away; ln -s {host} repo; mv workspace gone; ln -s {tmp_path} workspace")
    done = await service.run(Command(argv=("sh", "-c", "pwd; ls"), cwd="/repo", timeout_s=60))
    assert b"file" not in done.stdout
    assert done.exit_code == 126
    await service.close()
    assert list(lent.iterdir()) == []
    assert (host / "file").read_text() == "the host's"


async def test_an_observer_asks_and_runs_nothing(pod: Pod, tmp_path: Path) -> None:
    """It reaches what listens on loopback, and a service's end is seen, left children included."""
    observer = await pod.observer(a_spec(tmp_path, "observer"))
    with pytest.raises(SandboxError, match="observer"):
        await told(cast("Sandbox", observer), "true")
    service = await pod.open(a_spec(tmp_path, "service"))
    listener = await service.listen(0)
    (await observer.connect(listener.getsockname()[1])).close()
    listener.close()
    first = await service.start(Command(argv=("sleep", "600")))
    await told(service, "sleep 600 >/dev/null 2>&1 &")
    await first.stop()
    assert not await service.is_deserted()
    await told(service, "kill -9 -1")
    async with asyncio.timeout(patient(5)):  # who is killed is gone a moment later
        while not await service.is_deserted():  # noqa: ASYNC110 - the kernel tells no one
            await asyncio.sleep(0.02)
