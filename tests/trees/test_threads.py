"""Blocking work in threads."""

import asyncio
import threading
import time

import pytest

from groundup.trees.writer import in_thread


async def test_a_cancelled_thread_is_waited_for() -> None:
    """No one goes on to remove a folder that a thread still fills."""
    release = threading.Event()
    ended: list[float] = []

    def work() -> None:
        release.wait()
        ended.append(time.monotonic())

    task = asyncio.create_task(in_thread(work))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.sleep(0.01)
    assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended
