"""What is being done just now: the step of each attempt at work and its seconds, for a terminal and for logs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from groundup.domain.subjects import AttemptKey
from groundup.runs.progress import AttemptAt, AttemptBegan, AttemptEnded, AttemptMade, Event, RunBegan, RunEnded

_SHOWN = 3
"""Attempts that are named, those that have been at work for longest."""
_QUIET_S, _FIRST_S, _LONG_QUIET_S = 4.0, 60.0, 30.0
"""Seconds without a line after which a log gets one, for how long it gets them so often, and how often then."""


class AtWork:
    """Follows a run's events."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: dict[AttemptKey, tuple[str, float]] = {}
        self._before: tuple[str, float] | None = ("looking at what there is to do", clock())
        """What is done before the run begins."""

    def prepare(self, step: str) -> None:
        """Take a step that is done before the run begins."""
        if self._before is not None:
            self._before = (step, self._before[1])

    def hear(self, event: Event) -> None:
        match event:
            case RunBegan() | RunEnded():
                self._before = None
            case AttemptBegan(attempt=attempt):
                self._steps[attempt] = ("beginning", self._clock())
            case AttemptAt(attempt=attempt, step=step) if attempt in self._steps:
                known, since = self._steps[attempt]
                # What was read so far is one step with what is read next.
                goes_on = known.endswith("files read") and step.endswith("files read")
                self._steps[attempt] = (step, since if goes_on else self._clock())
            case AttemptMade(attempt=attempt):
                self._steps.pop(attempt, None)
            case AttemptEnded(line=line):
                self._steps.pop(line.attempt, None)

    def words(self) -> str:
        """Return what is done and since when; empty where nothing is."""
        now = self._clock()
        if self._before is not None:
            return f"{self._before[0]}, {now - self._before[1]:.0f} s"
        steps = sorted(self._steps.copy().items(), key=lambda one: one[1][1])
        named = [f"{attempt}: {step}, {now - since:.0f} s" for attempt, (step, since) in steps[:_SHOWN]]
        more = [f"{len(steps) - _SHOWN} more"] if len(steps) > _SHOWN else []
        return "; ".join(named + more)


@contextmanager
def told_in_silence(work: AtWork, write: Callable[[str], None]) -> Iterator[Callable[[str], None]]:
    """Yield a *write* that also says what is done whenever nothing else was written for some seconds."""
    ended, lock = threading.Event(), threading.Lock()
    spoken = written = time.monotonic()

    def say(line: str) -> None:
        nonlocal spoken, written
        with lock:
            write(line)
            spoken = written = time.monotonic()

    def watch() -> None:
        nonlocal written
        while not ended.wait(0.5):
            with lock:
                now = time.monotonic()
                quiet_s = _QUIET_S if now - spoken < _FIRST_S else _LONG_QUIET_S
                if now - written >= quiet_s and (line := work.words()):
                    write(line)
                    written = now

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield say
    finally:
        ended.set()
        thread.join()
