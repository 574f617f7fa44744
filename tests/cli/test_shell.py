"""Opening an attempt's sandbox. It is a folder of this machine here: what is tested is the way there."""

import io
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import TWO, Groundup
from tests.patience import patient

pytestmark = pytest.mark.needs("groundup_bridges")  # which has such a sandbox
HOST = ("--sandbox", "tests.groundup_bridges.host:create")


def test_one_command_runs_beside_a_copy_of_the_submission(groundup: Groundup, tmp_path: Path) -> None:
    """Its output and exit code come through, in the environment of the grader; the run stays as it was."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "r", *HOST)
    command = "echo $TOY; cat name; echo oops >&2; echo changed > name; exit 3"
    ended = groundup("shell", "r", "task-0001", "-c", command)
    assert ended == (3, "task-0001\ntask-0001", "oops\n")
    kept = tmp_path / "runs" / "r" / "attempts" / "task-0001" / "0" / "submission" / "name"
    assert kept.read_text() == "task-0001"


def test_standard_input_reaches_the_command(groundup: Groundup, monkeypatch: pytest.MonkeyPatch) -> None:
    """`groundup shell ... -c` stands in a pipe like any command: bytes go in and come out as they are."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "r", *HOST)
    given = "".join(f"line {number}\n" for number in range(20_000))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    ended = groundup("shell", "r", "task-0001", "-c", "tail -n 1; echo $?")
    assert ended == (0, "line 19999\n0\n", "")


def test_what_cannot_be_opened_is_reported(groundup: Groundup) -> None:
    """A task that is none, an attempt that was not made."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "r", *HOST)
    assert "did you mean 'task-0001'" in groundup("shell", "r", "task-00001", "-c", "true").err
    assert "no submission for task-0001/7" in groundup("shell", "r", "task-0001/7", "-c", "true").err
    assert "is no attempt" in groundup("shell", "r", "task-0001/x", "-c", "true").err


def test_a_terminal_is_connected_to_a_shell_inside(groundup: Groundup, tmp_path: Path) -> None:
    """Keys go in, what the shell shows comes out, and its end is the end."""
    groundup("run", TWO, "-a", "oracle", "--run-id", "r", *HOST)
    arguments = ["-m", "groundup", "shell", str(tmp_path / "runs" / "r"), "task-0000"]
    terminal, theirs = pty.openpty()
    try:
        root = Path(__file__).parents[2]
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=root,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        _shown(terminal, b"# ", b"$ ")
        os.write(terminal, b"echo $((6 * 7)) $TOY\n")
        assert b"42 task-0000" in _shown(terminal, b"42 task-0000")
        os.write(terminal, b"exit\n")
        _shown(terminal)
        assert process.wait(60) == 0
    finally:
        os.close(terminal)


def _shown(terminal: int, *until: bytes) -> bytes:
    """Return what the terminal shows up to one of these words, its end, or a minute."""
    shown, end = b"", time.monotonic() + patient(60)
    while not any(word in shown for word in until) and time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                more = os.read(terminal, 65_536)
            except OSError:  # how Linux tells that the other side is gone
                break
            if not more:
                break
            shown += more
    return shown
