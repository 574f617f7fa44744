"""Blocking work on trees from asynchronous code."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Do blocking *work* in a thread. When cancelled, wait for its end first: it may still be writing."""
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(Exception):  # the caller has to learn of the cancellation
            await task
        raise
