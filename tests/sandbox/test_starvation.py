"""Busy loops beside a real sandbox: its clock is slow, and the machine is said to be the reason."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from groundup.sandbox.bubblewrap import BubblewrapProvider
from groundup.sandbox.deadlines import starvation_noted
from groundup.sandbox.protocol import Command, Ending, SandboxSpec

pytestmark = pytest.mark.end_to_end


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Four busy loops per processor, each in a session of its own.

    A kernel may share processors out between sessions first: loops of one session would then together get no more
    than the sandbox.
    """
    loops = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        for _ in range(4 * len(os.sched_getaffinity(0)))
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.usefixtures("busy_machine")
async def test_others_load_stops_the_clock_of_a_command(tmp_path: Path) -> None:
    """A command that wants a processor and gets a fifth of one has most of its seconds for nothing."""
    async with BubblewrapProvider() as provider, await provider.open(SandboxSpec(workspace=tmp_path)) as sandbox:
        with starvation_noted() as noted:
            result = await sandbox.run(Command(argv=("sh", "-c", "while :; do :; done"), timeout_s=0.5))
    assert result.ending is Ending.TIMEOUT
    assert result.uncounted_s > result.counted_s
    assert noted.share > 0.5


@pytest.mark.usefixtures("busy_machine")
async def test_others_load_is_no_excuse_for_a_sleeper(tmp_path: Path) -> None:
    """A command that sleeps wants no processor: its time counts, however busy the machine is."""
    async with BubblewrapProvider() as provider, await provider.open(SandboxSpec(workspace=tmp_path)) as sandbox:
        result = await sandbox.run(Command(argv=("sleep", "30"), timeout_s=4.0))
    assert result.ending is Ending.TIMEOUT
    assert result.uncounted_s < 0.5 * result.counted_s
