"""^C: the first cancels and lets everything close, the second cancels the closing, the third ends the process.

SIGTERM, and SIGHUP of a terminal that was closed, go through all three by themselves, for nobody sends them again.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
Interrupted = Callable[[], bool]
"""Says whether somebody asked to stop."""


class StopSignal:
    """Stops a run that works in another thread, as ^C does: the first time cleanly, the second time faster."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times = 0
        self._interrupt: Callable[[], object] | None = None

    def stop(self) -> None:
        """Ask once more. Can be called from any thread, also before the run listens and after it has ended."""
        with self._lock:
            self._times += 1
            if self._interrupt is not None:
                self._interrupt()

    @contextmanager
    def heard_by(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """Call *interrupt* for every time that somebody asks, and has asked before."""
        with self._lock:
            self._interrupt = interrupt
            for _ in range(self._times):
                interrupt()
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXIT_CODE = 130
_PRESSED_AGAIN_S = (3.0, 4.5)
"""Seconds after SIGTERM or SIGHUP at which it counts as sent again: SIGKILL comes next, often after 10 s."""


def interruptible(
    work: Callable[[Interrupted], Coroutine[Any, Any, T]],
    stopping: Callable[[], None],
    stop: StopSignal | None = None,
) -> T:
    """Run *work* in an event loop of its own. The first interrupt calls *stopping* and cancels it.

    Interrupts are signals in the main thread, and *stop* in every thread. Raises `KeyboardInterrupt` when *work*
    then ends without a result.
    """
    return asyncio.run(_watched(work, stopping, stop or StopSignal()))


def leave_lost_terminal() -> None:
    """Write nowhere from now on what would go to a terminal that was closed: each write to it fails."""
    for descriptor in (1, 2):
        try:
            os.write(descriptor, b"")
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


async def _watched(
    work: Callable[[Interrupted], Coroutine[Any, Any, T]], stopping: Callable[[], None], stop: StopSignal
) -> T:
    count = 0

    def interrupt() -> None:
        nonlocal count
        count += 1
        if count == 1:
            stopping()
            task.cancel()
        elif count == 2:
            for other in asyncio.all_tasks() - {this}:
                other.cancel()
        elif watched:
            os._exit(EXIT_CODE)  # a run folder survives any ending, and sandboxes die with their parent

    this = asyncio.current_task()
    assert this is not None
    task = asyncio.create_task(work(lambda: count > 0))
    loop = asyncio.get_running_loop()
    # Only the main thread gets signals; elsewhere the caller has a `StopSignal`.
    is_main = threading.current_thread() is threading.main_thread()
    # `nohup` lets a program ignore SIGHUP, and so it stays.
    watched = [one for one in SIGNALS if is_main and signal.getsignal(one) != signal.SIG_IGN]

    def terminate() -> None:
        leave_lost_terminal()
        interrupt()
        for seconds in _PRESSED_AGAIN_S:
            loop.call_later(seconds, interrupt)

    for number in watched:
        loop.add_signal_handler(number, interrupt if number == signal.SIGINT else terminate)
    try:
        with stop.heard_by(lambda: loop.call_soon_threadsafe(interrupt)):
            return await task
    except asyncio.CancelledError:
        if count:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in watched:
            loop.remove_signal_handler(number)
