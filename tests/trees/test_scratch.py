"""Tests of groundup.trees.scratch."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from groundup.trees import scratch
from groundup.trees.scratch import (
    abandoned_folders,
    async_scratch_folder,
    remove_abandoned_folders,
    scratch_folder,
)

HOLDER = """
import sys
from groundup.trees.scratch import scratch_folder
with scratch_folder("held") as folder:
    (folder / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of these tests alone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


async def test_a_folder_goes_with_what_is_in_it() -> None:
    """Also what a stranger made unwritable, and when it is gone already."""
    with scratch_folder("one") as first:
        (first / "shut").mkdir(mode=0)
        async with async_scratch_folder("two") as second:
            assert first.parent == second.parent
    with scratch_folder("one") as gone:
        gone.rmdir()
    assert not any(first.parent.iterdir())


def test_only_folders_of_killed_processes_are_abandoned(temporary: Path) -> None:
    """The lock of a process ends with it."""
    with (
        scratch_folder("living") as living,
        subprocess.Popen(
            [sys.executable, "-c", HOLDER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(temporary)},
        ) as process,
    ):
        assert process.stdout
        held = Path(process.stdout.readline().strip())
        assert not list(abandoned_folders())
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert list(abandoned_folders()) == [held]
        remove_abandoned_folders()
        assert list(held.parent.iterdir()) == [living]


def test_a_folder_that_is_being_made_is_not_taken_for_an_abandoned_one() -> None:
    """Whenever another process cleans, the folder is there in the end, and locked."""

    def clean_at_every_line(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code not in (scratch._made.__code__, scratch._locked.__code__):
            return None
        key = (frame.f_code, frame.f_lineno)
        if event == "line" and key not in seen:  # once at each, or making would never end
            seen.add(key)
            before = sys.gettrace()
            sys.settrace(None)
            remove_abandoned_folders()
            sys.settrace(before)
        return clean_at_every_line

    seen: set[object] = set()
    before = sys.gettrace()
    sys.settrace(clean_at_every_line)
    try:
        with scratch_folder("new") as folder:
            sys.settrace(before)
            assert len(seen) > 5
            assert folder.is_dir()
            assert not list(abandoned_folders())
    finally:
        sys.settrace(before)
