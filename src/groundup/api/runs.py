"""Evaluate, run, resume and regrade: the functions that make verdicts, and how a run is worked on.

Each blocks until the run is done and returns a `Run`. The twin, `<name>_async`, begins the run at once and returns
a `LiveRun`: `await` it, or follow its events. Both work inside a running event loop, such as a notebook's;
callbacks are called in the caller's thread.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Unpack

from groundup.api import requests
from groundup.api.flags import AnyPath, EvaluateFlags, RegradeFlags, ResumeFlags, RunFlags
from groundup.domain.errors import GroundupError
from groundup.runs.api import Request, Run
from groundup.runs.interrupts import StopSignal
from groundup.runs.progress import Event, Progress, silent
from groundup.settings import Settings


class StoppedError(GroundupError):
    """The run was stopped before it had begun. Nothing was recorded."""


class LiveRun(Coroutine[Any, Any, Run]):
    """A run that goes on in a thread of its own, begun already.

    `for event in live` and `async for event in live` follow it to its end; `live.result()` waits for it and `await
    live` does so inside an event loop. It can be given to `asyncio.run`, `create_task` and `gather`. Leaving the
    loop early stops nothing; `live.stop()` does. Every event goes to one reader only.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._stop = StopSignal()
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._wakers: list[Callable[[], None]] = []
        """What wakes the event loops that wait."""
        self._ended = threading.Event()
        self._run: Run | None = None
        self._error: BaseException | None = None
        self._awaited: Coroutine[Any, Any, Run] | None = None
        # A program that ends does not wait for it: a run folder survives any ending.
        threading.Thread(target=self._go, name="groundup-run", daemon=True).start()

    def _go(self) -> None:
        try:
            self._run = self._request.work(self._tell, self._stop)
        except KeyboardInterrupt:
            self._error = StoppedError("the run was stopped before it had begun")
        except BaseException as error:  # noqa: BLE001  # it is raised again where somebody waits for the result
            self._error = error
        finally:
            self._ended.set()
            self._tell(None)

    def _tell(self, event: Event | None) -> None:
        self._events.put(event)
        for wake in tuple(self._wakers):
            wake()

    def stop(self) -> None:
        """Stop the run: the first time cleanly, the second time faster. What was recorded stays."""
        self._stop.stop()

    def result(self) -> Run:
        """Wait for the end and return the run. Raises what made the run fail. Blocks: not for event loops."""
        self.join()
        return self._outcome()

    def join(self) -> None:
        """Wait for the end, whatever it is."""
        self._ended.wait()

    def _outcome(self) -> Run:
        if self._run is None:
            assert self._error is not None
            raise self._error
        return self._run

    def __iter__(self) -> Iterator[Event]:
        while (event := self._events.get()) is not None:
            yield event
        self._events.put(None)  # for a reader that follows it again
        self._outcome()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self._heard()) is not None:
            yield event
        self._events.put(None)
        self._outcome()

    async def _heard(self) -> Event | None:
        await self._until(lambda: not self._events.empty())
        return self._events.get()

    async def _wait(self) -> Run:
        try:
            await self._until(self._ended.is_set)
        except asyncio.CancelledError:
            self.stop()
            await self._until(self._ended.is_set)  # the run's folder is held until then
            raise
        return self._outcome()

    async def _until(self, ready: Callable[[], bool]) -> None:
        """Wait in this event loop for what the run's thread does; no further thread is needed."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed: there is nothing left to wake
                loop.call_soon_threadsafe(woken.set)

        self._wakers.append(wake)
        try:
            while not ready():
                await woken.wait()
                woken.clear()
        finally:
            self._wakers.remove(wake)

    def __await__(self) -> Any:
        return self._wait().__await__()

    # What `asyncio.run` and `create_task` need: they take coroutines alone, not everything that can be awaited.
    def send(self, value: Any) -> Any:
        """Go on with waiting, as event loops do with coroutines."""
        if self._awaited is None:
            self._awaited = self._wait()
        return self._awaited.send(value)

    def throw(self, *error: Any) -> Any:
        """Tell what waits of an error, such as a cancellation."""
        if self._awaited is None:
            self._awaited = self._wait()
        return self._awaited.throw(*error)

    def close(self) -> None:
        """Wait no longer."""
        if self._awaited is not None:
            self._awaited.close()


def finished(request: Request, progress: Progress | None = None) -> Run:
    """Work on what is asked for and wait for its end; ^C stops it cleanly, and then the run says `interrupted`.

    *progress* is called in this thread.
    """
    if _owns_signals():
        return request.work(progress or silent)
    live = LiveRun(request)
    stops = 0
    while True:
        try:
            for event in live:
                if progress is not None:
                    progress(event)
            return live.result()
        except KeyboardInterrupt:
            live.stop()
            stops += 1
            if stops > 2:  # even closing it takes too long for somebody
                raise
        except BaseException:
            live.stop()
            live.join()
            raise


def _owns_signals() -> bool:
    """Whether this is the main thread, and no event loop runs in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return threading.current_thread() is threading.main_thread()
    return False


def evaluate(
    suite: str,
    predictions: AnyPath,
    *,
    progress: Progress | None = None,
    settings: Settings | None = None,
    **flags: Unpack[EvaluateFlags],
) -> Run:
    """Grade repositories that you already have, as `groundup evaluate` does.

    *suite* is a name or `package.module:attribute`; *predictions* is a folder with one repository per task, an
    archive or a JSONL file. *progress* is called with every event of the run; *settings* replace those of
    groundup.toml and environment. *flags* are those of the command line, such as `tasks=["sqlparse"]`,
    `attempts=3`, `jobs=4`, `timeout=60.0` (seconds) or `run_id="mine"`.

    ^C stops the run cleanly: it then says `interrupted`, and `resume` finishes it. Raises `UsageError` before
    anything is done, and `InfrastructureError` when the machine fails; an attempt that fails raises nothing.
    """
    return finished(requests.evaluation(suite, predictions, settings=settings, **flags), progress)


def evaluate_async(
    suite: str, predictions: AnyPath, *, settings: Settings | None = None, **flags: Unpack[EvaluateFlags]
) -> LiveRun:
    """Begin what `evaluate` does. Raises `UsageError` at once for flags that cannot be."""
    return LiveRun(requests.evaluation(suite, predictions, settings=settings, **flags))


def run(
    suite: str,
    agent: str,
    *,
    progress: Progress | None = None,
    settings: Settings | None = None,
    **flags: Unpack[RunFlags],
) -> Run:
    """Let *agent* do the tasks of *suite* and grade what it hands in, as `groundup run` does.

    *agent* is `loop`, `oneshot`, `oracle`, `nop` or another name, or `package.module:attribute`; `model="PROVIDER/
    NAME"` is its model. Costs are in USD, times in seconds. Everything else is as in `evaluate`.
    """
    return finished(requests.running(suite, agent, settings=settings, **flags), progress)


def run_async(suite: str, agent: str, *, settings: Settings | None = None, **flags: Unpack[RunFlags]) -> LiveRun:
    """Begin what `run` does. Raises `UsageError` at once for flags that cannot be."""
    return LiveRun(requests.running(suite, agent, settings=settings, **flags))


def resume(
    run: AnyPath,
    *,
    progress: Progress | None = None,
    settings: Settings | None = None,
    **flags: Unpack[ResumeFlags],
) -> Run:
    """Finish *run*, a folder or an id: attempts that were interrupted, only made, or failed with the machine.

    Flags that change what the run is are refused by `UsageError`, which names them. Everything else is as in
    `evaluate`.
    """
    return finished(requests.resumption(run, settings=settings, **flags), progress)


def resume_async(run: AnyPath, *, settings: Settings | None = None, **flags: Unpack[ResumeFlags]) -> LiveRun:
    """Begin what `resume` does. Raises `UsageError` at once for flags that cannot be."""
    return LiveRun(requests.resumption(run, settings=settings, **flags))


def regrade(
    run: AnyPath,
    *,
    progress: Progress | None = None,
    settings: Settings | None = None,
    **flags: Unpack[RegradeFlags],
) -> Run:
    """Grade the submissions of *run*, a folder or an id, again in a new run; the earlier one stays as it is.

    Everything else is as in `evaluate`.
    """
    return finished(requests.regrading(run, settings=settings, **flags), progress)


def regrade_async(run: AnyPath, *, settings: Settings | None = None, **flags: Unpack[RegradeFlags]) -> LiveRun:
    """Begin what `regrade` does. Raises `UsageError` at once for flags that cannot be."""
    return LiveRun(requests.regrading(run, settings=settings, **flags))
