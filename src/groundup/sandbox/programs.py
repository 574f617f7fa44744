"""Running the host's own tools (uv, git, tar...) with a deadline, capped output and a chosen environment.

For trusted programs only: nothing here confines anything. Code of strangers runs in a `Sandbox`.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import InfrastructureError
from groundup.inside.stopwatch import threads_of
from groundup.sandbox.deadlines import Meter, is_done_within
from groundup.sandbox.launcher.limits import processes_below, take_census
from groundup.sandbox.pipes import close_all, drained_pipe, fed_pipe

OUTPUT_BYTES = 16 * 1024 * 1024
_LAST_WORDS_S = 0.3
"""How long output is still read when a program has ended but something it left behind holds the pipe."""


class ProgramResult(NamedTuple):
    """What a host program did."""

    exit_code: int | None
    """Negative: minus the signal; None: it was ended at its deadline."""
    stdout: bytes
    stderr: bytes
    duration_s: float

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def timed_out(self) -> bool:
        return self.exit_code is None

    def text(self) -> str:
        """Return stdout and stderr together, decoded, for messages and logs."""
        return (self.stdout + self.stderr).decode(errors="replace")


async def run_program(
    argv: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_s: float,
    stdin: bytes = b"",
) -> ProgramResult:
    """Run *argv* with exactly *environment* and end its whole process group at the deadline or on cancellation.

    Each stream keeps head and tail of `OUTPUT_BYTES`. Raises `InfrastructureError` when it cannot be started.
    """
    started = time.monotonic()
    stdout, stdout_end = drained_pipe(OUTPUT_BYTES)
    stderr, stderr_end = drained_pipe(OUTPUT_BYTES)
    feed, stdin_end = fed_pipe(stdin)
    try:
        try:
            process = await asyncio.create_subprocess_exec(
                *map(str, argv),
                cwd=cwd,
                env=dict(environment),
                stdin=stdin_end,
                stdout=stdout_end,
                stderr=stderr_end,
                start_new_session=True,
            )
        except OSError as error:
            if shutil.which(argv[0], path=environment.get("PATH")) is None:
                advice = "install it by the system's packages, or put its folder on PATH"
                raise InfrastructureError(f"{argv[0]} is not on this machine; {advice}") from error
            raise InfrastructureError(f"cannot start {argv[0]}: {error.strerror or error}") from error
        finally:
            close_all(stdin_end, stdout_end, stderr_end)
        exit_code = await _ended(process, timeout_s)
        await stdout.ended(_LAST_WORDS_S)
        await stderr.ended(_LAST_WORDS_S)
    finally:
        stdout.close()
        stderr.close()
        if feed:
            feed.close()
    return ProgramResult(
        exit_code=exit_code,
        stdout=stdout.capture.value(),
        stderr=stderr.capture.value(),
        duration_s=time.monotonic() - started,
    )


async def _ended(process: Process, timeout_s: float) -> int | None:
    """Return the exit code, or None at the deadline; nothing of the process group is left in any case."""
    meter = Meter(lambda: take_census(process.pid).cpu_s, threads=lambda: threads_of(processes_below(process.pid)))
    stopwatch = meter.stopwatch()
    ended = asyncio.ensure_future(process.wait())
    try:
        return await ended if await is_done_within(ended, stopwatch, timeout_s) else None
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await ended
