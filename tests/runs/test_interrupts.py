"""^C ends a run cleanly and in time, and two processes never work on one run."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from groundup.runs.interrupts import interruptible
from groundup.store.folder import RunFolder
from groundup.store.records import Predictions
from tests.patience import patient
from tests.runs.configurations import PROVIDER

ROOT = Path(__file__).parents[2]
STUBBORN = "tests.runs.toy:create_stubborn_provider"
Predict = Callable[[Mapping[str, str]], Predictions]


@contextmanager
def started(
    folder: Path, provider: str = PROVIDER, before: Sequence[str] = ()
) -> Iterator["subprocess.Popen[str]"]:
    """Run or resume in a program of its own, which is gone afterwards."""
    with subprocess.Popen(
        [*before, sys.executable, "-m", "tests.runs.started", str(folder), provider],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: "subprocess.Popen[str]", word: str, times: int = 1) -> None:
    """Read what *process* says until it said *word* so often."""
    assert process.stdout is not None
    for line in process.stdout:
        times -= word in line
        if not times:
            return
    pytest.fail(f"it ended without saying {word!r}")


@pytest.fixture
def slow(tmp_path: Path, predict: Predict) -> Path:
    """The folder of a run to be: 3 quick attempts, then 17 that last for ever."""
    predict({f"task-{number:04}": "pass" if number < 3 else "sleep 600" for number in range(20)})
    return tmp_path / "one"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_stops_cleanly_and_the_run_can_go_on(slow: Path, number: signal.Signals) -> None:
    """Exit code 130, every finished verdict is there, nothing unfinished is, no scratch folder is left."""
    with started(slow) as process:
        read_until(process, "AttemptBegan", 7)
        process.send_signal(number)
        output, _ = process.communicate(timeout=patient(60))
        assert process.returncode == 130
    assert "stopping cleanly" in output
    assert output.splitlines()[-1] == "RunEnded"
    assert len(RunFolder(slow).latest()) == 3
    assert not (slow / "scratch").exists()
    with started(slow) as process:
        read_until(process, "AttemptBegan", 4)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patient(60))
    assert len(list(RunFolder(slow).lines())) == 3
    assert len(RunFolder(slow).lock().starts) == 2


def test_a_second_interrupt_does_not_wait(slow: Path) -> None:
    """When closing takes for ever, a second ^C ends the process, and the run can still be resumed."""
    with started(slow, STUBBORN) as process:
        read_until(process, "AttemptBegan", 7)
        process.send_signal(signal.SIGINT)
        read_until(process, "RunEnded")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patient(60))
        assert process.returncode == 130
    assert len(RunFolder(slow).latest()) == 3


def test_a_termination_is_sent_once(slow: Path) -> None:
    """Schedulers of jobs and containers send one SIGTERM, then SIGKILL: closing that takes for ever is cut off."""
    with started(slow, STUBBORN) as process:
        read_until(process, "AttemptBegan", 7)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=patient(60))
        assert process.returncode == 130
    assert len(RunFolder(slow).latest()) == 3


def test_a_closed_terminal_ends_a_run_cleanly(slow: Path) -> None:
    """A dropped connection takes the terminal away: nothing can be said, and everything is put in order."""
    control, terminal = os.openpty()
    command = [sys.executable, "-m", "tests.runs.started", str(slow), PROVIDER]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
    ) as process:
        os.close(terminal)
        with open(control, "rb", closefd=False) as said:
            seen = b""
            while seen.count(b"AttemptBegan") < 7:
                seen += said.read1(4096)
        os.close(control)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=patient(60)) == 130
    assert len(RunFolder(slow).latest()) == 3
    assert not (slow / "scratch").exists()


def test_a_run_that_shall_outlive_its_terminal_does(slow: Path) -> None:
    """`nohup groundup run ...` goes on after SIGHUP, as its user asked."""
    with started(slow, before=["nohup"]) as process:
        read_until(process, "AttemptBegan", 7)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=patient(60))
        assert process.returncode == 130
    assert output.count("stopping cleanly") == 1


def test_two_processes_do_not_share_a_run(slow: Path) -> None:
    """The second is refused with the first one's number, and disturbs nothing."""
    with started(slow) as first:
        read_until(first, "AttemptBegan", 7)
        with started(slow) as second:
            output, _ = second.communicate(timeout=patient(60))
            assert second.returncode == 2
        assert f"process {first.pid} is working on the run" in output
        assert first.poll() is None
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=patient(60))
        assert first.returncode == 130
    assert len(RunFolder(slow).latest()) == 3


def test_a_thread_can_run_too() -> None:
    """Outside the main thread, where no signal arrives, work is done all the same."""
    results: list[int] = []

    async def work(interrupted: object) -> int:
        await asyncio.sleep(0)
        return 7

    thread = threading.Thread(target=lambda: results.append(interruptible(work, lambda: None)))
    thread.start()
    thread.join()
    assert results == [7]
