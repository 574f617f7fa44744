"""Killing groundup, or its launcher, at any moment leaves no process, mount, control group or stray folder."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundup.sandbox.bubblewrap import find_bubblewrap
from groundup.sandbox.host_state import clean_stale_state
from tests.patience import patient

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.skipif(find_bubblewrap() is None, reason="bubblewrap is not installed on this platform"),
]

VICTIM = """
import asyncio, sys
from pathlib import Path
from groundup.sandbox.bubblewrap import BubblewrapProvider
from groundup.sandbox.protocol import Command, SandboxSpec

async def one(provider, folder):
    while True:
        sandbox = await provider.open(SandboxSpec(workspace=folder))
        await sandbox.start(Command(argv=("sh", "-c", "(setsid sleep 300 &); sleep 300")))
        await sandbox.run(Command(argv=("sh", "-c", "mkdir -p d/e; echo x > d/e/f; chmod 000 d/e/f d/e d")))
        await asyncio.sleep(0.02)
        await sandbox.close()

async def main():
    top = Path(sys.argv[1])
    async with BubblewrapProvider() as provider:
        await (await provider.open(SandboxSpec(workspace=top / "a"))).close()
        print("ready", flush=True)
        await asyncio.gather(*(one(provider, top / name) for name in ("a", "b")))

asyncio.run(main())
"""


def victim(top: Path) -> "subprocess.Popen[bytes]":
    """Start a program that opens and closes sandboxes without end, with all its folders below *top*."""
    for name in ("a", "b", "tmp"):
        (top / name).mkdir()
    return subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(top)],
        env={"TMPDIR": str(top / "tmp"), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def processes_of(top: Path) -> list[str]:
    """Return the processes that have a mount or an argument below *top*, as far as we may look."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            texts = []
            for name in ("cmdline", "mountinfo"):
                with contextlib.suppress(OSError):  # it has ended, or is not ours to look at
                    texts.append((folder / name).read_bytes())
            if any(os.fsencode(top) in text for text in texts):
                found.append(f"{folder.name} {texts[0]!r}")
    return found


def state_names(top: Path) -> set[str]:
    """Return the names of state folders below *top*."""
    return {path.name for path in (top / "tmp").glob("groundup-*/*")}


def groups_of(names: set[str]) -> list[Path]:
    """Return control groups that carry one of the state folders' *names*."""
    found = []
    for folder, children, _ in os.walk("/sys/fs/cgroup"):  # other tests' groups vanish meanwhile: walk minds not
        found += [
            Path(folder, child) for child in children if child.split("-")[1:2] and child.split("-")[1] in names
        ]
    return found


def assert_nothing_left(top: Path, names: set[str], seed: int) -> None:
    """Wait until all is gone; fail when it does not go."""
    deadline = time.monotonic() + patient(60)
    while True:
        kept = [path for path in (top / "tmp").glob("groundup-*/*") if path.name != "systems"]
        left = [*processes_of(top), *map(str, groups_of(names)), *map(str, kept)]
        if not left:
            break
        assert time.monotonic() < deadline, f"seed {seed}: left: {left}"
        time.sleep(0.05)
    assert str(top) not in Path("/proc/self/mountinfo").read_text()
    for name in ("a", "b"):
        for folder, _, files in os.walk(top / name, onerror=_raise):
            assert Path(folder).stat().st_uid == os.geteuid()
            assert all(Path(folder, file).stat().st_uid == os.geteuid() for file in files)


def _raise(error: OSError) -> None:
    raise error


@pytest.mark.parametrize("seed", range(12))
def test_kill_of_groundup(tmp_path: Path, seed: int) -> None:
    """After kill -9 at a random moment the launcher cleans everything up."""
    process = victim(tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(random.Random(seed).uniform(0, 0.4))
    names = state_names(tmp_path)
    process.kill()
    process.wait()
    process.stdout.close()
    assert_nothing_left(tmp_path, names, seed)


@pytest.mark.parametrize("seed", range(4))
def test_kill_of_groundup_and_launcher(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the launcher is killed as well, the next start cleans up what it could not."""
    process = victim(tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(random.Random(seed).uniform(0.1, 0.5))
    names = state_names(tmp_path)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(process.pid, signal.SIGSTOP)
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    process.kill()
    process.wait()
    process.stdout.close()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    deadline = time.monotonic() + patient(60)
    # They end by themselves; an ordinary user has no control group that says when, and until then they may write.
    while os.geteuid() and (left := processes_of(tmp_path)):
        assert time.monotonic() < deadline, f"seed {seed}: left: {left}"
        time.sleep(0.05)
    while not clean_stale_state():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert_nothing_left(tmp_path, names, seed)
