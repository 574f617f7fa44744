"""Host tools end in time, with capped output and exactly the environment they are given."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.sandbox.pipes import Capture
from groundup.sandbox.programs import OUTPUT_BYTES, run_program
from tests.patience import patient


async def test_result(tmp_path: Path) -> None:
    """Exit code, both streams, standard input and the working folder are what was asked for."""
    code = "import sys, os; sys.stdout.write(sys.stdin.read() + os.getcwd()); sys.stderr.write('e'); sys.exit(3)"
    result = await run_program(
        [sys.executable, "-c", code], cwd=tmp_path, environment={}, timeout_s=60, stdin=b"in "
    )
    assert (result.exit_code, result.stdout, result.stderr) == (3, f"in {tmp_path.resolve()}".encode(), b"e")
    assert not result.ok
    assert not result.timed_out


async def test_environment_is_exact(tmp_path: Path) -> None:
    """A tool sees the given variables and nothing of ours."""
    code = "import os; print(sorted(k for k in os.environ if k != 'LC_CTYPE'))"
    result = await run_program([sys.executable, "-c", code], cwd=tmp_path, environment={"A": "1"}, timeout_s=60)
    assert result.stdout.strip() == b"['A']"


async def test_deadline_ends_the_group(tmp_path: Path) -> None:
    """At the deadline the program and its children are ended, and what it wrote is kept."""
    script = "echo before; sleep 300 & echo $! > child; wait"
    result = await run_program(["sh", "-c", script], cwd=tmp_path, environment=dict(os.environ), timeout_s=0.5)
    assert result.timed_out
    assert result.stdout == b"before\n"
    assert not await _alive(int((tmp_path / "child").read_text()))


async def test_child_that_holds_the_pipe(tmp_path: Path) -> None:
    """A background child that keeps the pipe open does not delay the result."""
    result = await run_program(["sh", "-c", "sleep 300 & echo done"], cwd=tmp_path, environment={}, timeout_s=60)
    assert (result.ok, result.stdout) == (True, b"done\n")


async def test_cancelled(tmp_path: Path) -> None:
    """Cancelling the caller ends the program."""
    task = asyncio.ensure_future(
        run_program(["sh", "-c", "echo $$ > pid; sleep 300"], cwd=tmp_path, environment={}, timeout_s=600)
    )
    deadline = time.monotonic() + patient(60)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not await _alive(int((tmp_path / "pid").read_text()))


async def test_missing_program(tmp_path: Path) -> None:
    """A program that is not there is an infrastructure failure that names it, and says what to do."""
    with pytest.raises(InfrastructureError, match="no-such-program is not on this machine; install it by the sys"):
        await run_program(["no-such-program"], cwd=tmp_path, environment={}, timeout_s=5)


async def test_flood(tmp_path: Path) -> None:
    """Endless output is cut to head and tail and does not fill memory."""
    code = "import sys; sys.stdout.write('a' + 'x' * (64 << 20) + 'z')"
    result = await run_program([sys.executable, "-c", code], cwd=tmp_path, environment={}, timeout_s=120)
    assert result.ok
    assert len(result.stdout) < OUTPUT_BYTES + 100
    assert (result.stdout[:2], result.stdout[-2:]) == (b"ax", b"xz")
    assert b"bytes left out" in result.stdout


def test_capture_keeps_head_and_tail() -> None:
    """Whatever the size of its pieces, a capture keeps exactly the first and last half of its limit."""
    data = bytes(range(200))
    for size in (1, 3, 7, 50, 200):
        capture = Capture(11)
        for start in range(0, len(data), size):
            capture.feed(data[start : start + size])
        assert capture.value() == data[:6] + b"\n[... 189 bytes left out ...]\n" + data[-5:]
        assert capture.truncated
    whole = Capture(200)
    whole.feed(data)
    assert (whole.value(), whole.truncated) == (data, False)


async def _alive(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state in "ZX":
            return False
        await asyncio.sleep(0.02)
    return True
