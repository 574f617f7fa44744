"""^C: the first cancels and lets everything close, the second cancels the closing, the third ends the process."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
Interrupted = Callable[[], bool]
"""Says whether somebody asked to stop."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)
EXIT_CODE = 130


def interruptible(work: Callable[[Interrupted], Coroutine[Any, Any, T]], stopping: Callable[[], None]) -> T:
    """Run *work* in an event loop of its own. The first interrupt calls *stopping* and cancels it.

    Raises `KeyboardInterrupt` when *work* then ends without a result.
    """
    return asyncio.run(_watched(work, stopping))


async def _watched(work: Callable[[Interrupted], Coroutine[Any, Any, T]], stopping: Callable[[], None]) -> T:
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
        else:
            os._exit(EXIT_CODE)  # a run folder survives any ending, and sandboxes die with their parent

    this = asyncio.current_task()
    assert this is not None
    task = asyncio.create_task(work(lambda: count > 0))
    loop = asyncio.get_running_loop()
    # Only the main thread can be told of signals; elsewhere the caller cancels in its own way.
    watched = SIGNALS if threading.current_thread() is threading.main_thread() else ()
    for number in watched:
        loop.add_signal_handler(number, interrupt)
    try:
        return await task
    except asyncio.CancelledError:
        if count:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in watched:
            loop.remove_signal_handler(number)


async def in_thread(work: Callable[[], T]) -> T:
    """Do blocking *work* in a thread. When cancelled, wait for its end first: it may still be writing."""
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(Exception):  # the cancellation is what the caller has to hear of
            await task
        raise
