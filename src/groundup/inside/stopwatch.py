"""How much time a guest had: seconds in which the machine's processors were there for it.

A limit counts on a stopwatch, not on the wall: while others keep the processors busy the stopwatch is slow, so
that a verdict is the submission's and not the machine's. Only the time that the guest's own threads stood in the
kernel's run queue is left out: a guest that sleeps is not starved, and its clock goes on. What the guest itself
uses always counts, so it cannot stop its clock. Owns the arithmetic and the reading of /proc; who waits for what
is elsewhere. Needs the standard library only: the launcher uses it, and so do programs inside sandboxes.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

PERIOD_S = 0.5
"""How often a stopwatch is looked at while something waits: shorter changes of load are not noticed."""
PATIENCE = 20.0
"""However starved, a guest gets at most so many times its limit by the clock on the wall."""
_IDLE_AFTER_S = 2.0
_IDLE_SHARE = 0.015
"""A guest that in so many seconds uses less than this share of one processor waits, and not for a processor."""
_HERTZ = os.sysconf("SC_CLK_TCK")


class Reading(NamedTuple):
    """The state of the machine and of a guest at one moment; all but the moment are sums since some beginning."""

    moment_s: float
    idle_s: float | None = None
    """In which processors that the guest may use did nothing, all together; None: unknown."""
    own_s: float | None = None
    """Processor time of the guest; None: unknown."""
    owed_s: float = 0.0
    """In which groundup owed the guest an answer, such as a package."""
    metered_s: float = 0.0
    """Processor time of all that share the guest's quota, the guest included."""
    queued_s: float | None = None
    """In which threads of the guest stood in the run queue; None: unknown."""


class Stopwatch:
    """Counts from its making on. *read* tells how things stand; *processors*: how many the guest can use."""

    def __init__(self, read: Callable[[], Reading], processors: float = 1.0, quota: float | None = None) -> None:
        self._read = read
        self._quota = quota
        self._processors = min(processors, quota or processors)
        self._last = self._start = self._busy = read()
        self._passed_s = self._starved_s = self._asked_s = self._queued_s = 0.0
        self.is_idle = False
        """Whether the guest had done next to nothing for a while when it was looked at last."""

    def passed_s(self) -> float:
        """Return the seconds that the guest had."""
        now = self._read()
        if now.moment_s > self._last.moment_s:
            self._count(self._last, now)
            self._last = now
        return self._passed_s

    def wall_s(self) -> float:
        """Return the seconds on the wall, until the last look."""
        return self._last.moment_s - self._start.moment_s

    def uncounted_s(self) -> float:
        """Return the seconds, until the last look, that the guest did not have."""
        return max(0.0, self.wall_s() - self._passed_s)

    def starved_s(self) -> float:
        """Return the seconds, until the last look, in which the guest wanted one processor and got none."""
        return self._starved_s

    def asked_s(self) -> float:
        """Return the seconds, until the last look, in which groundup owed the guest no answer."""
        return self._asked_s

    def left_s(self, limit_s: float) -> float:
        """Return how long *limit_s* surely lasts from now; not positive when it is over."""
        return min(limit_s - self.passed_s(), PATIENCE * limit_s - self.wall_s())

    def sleep_until(self, passed_s: float) -> None:
        """Block until the guest has had so much, at the latest when patience has run out."""
        while (left_s := self.left_s(passed_s)) > 0:
            time.sleep(min(left_s, PERIOD_S))

    def _count(self, past: Reading, now: Reading) -> None:
        """Add up what lies between two readings."""
        elapsed = now.moment_s - past.moment_s
        asked = elapsed - min(elapsed, max(0.0, now.owed_s - past.owed_s))
        own = max(0.0, (now.own_s or 0.0) - (past.own_s or 0.0))
        self.is_idle = self._does_nothing(now)
        free = math.inf
        if past.idle_s is not None and now.idle_s is not None and not self.is_idle:
            # What the guest could have had: what lay idle, and what it used itself; at most what others left of
            # the quota.
            free = max(0.0, now.idle_s - past.idle_s) + own
            if self._quota is not None:
                free = min(free, self._quota * elapsed - (now.metered_s - past.metered_s) + own)
        free = max(0.0, free) / elapsed
        share = min(1.0, free / self._processors)
        if now.queued_s is not None and past.queued_s is not None:
            # What was waited for is sometimes seen one look later.
            self._queued_s = min(self._queued_s + max(0.0, now.queued_s - past.queued_s), elapsed + PERIOD_S)
            kept_s = min((1.0 - share) * asked, self._queued_s)
            self._queued_s -= kept_s
            share = 1.0 - kept_s / asked if asked else 1.0
            free = max(free, share)
        self._passed_s += min(elapsed, max(own / self._processors, share * asked))
        # Its clock waits for all processors that it may use, since a late verdict is better than a wrong one. That
        # it was starved is said only where it had not even one: nobody knows whether it could use a second.
        self._starved_s += (1.0 - min(1.0, free / min(1.0, self._processors))) * asked
        self._asked_s += asked

    def _does_nothing(self, now: Reading) -> bool:
        """Whether the guest has long done next to nothing: who is starved still gets a little, and takes it."""
        if now.own_s is None:
            return False
        # Where the kernel counts nothing, a guest's first figure comes a moment after its first command.
        if self._busy.own_s is None or now.own_s - self._busy.own_s > _IDLE_SHARE * _IDLE_AFTER_S:
            self._busy = now
        return now.moment_s - self._busy.moment_s >= _IDLE_AFTER_S


def idle_s(stat: str = "/proc/stat") -> float | None:
    """Return for how long the processors that this process may use did nothing, together; None: unknown."""
    ours = {f"cpu{number}".encode() for number in os.sched_getaffinity(0)}
    idle, found = 0, False
    try:
        with open(stat, "rb") as file:
            for line in file:
                name, *values = line.split()
                if not name.startswith(b"cpu"):
                    break
                if name in ours:
                    idle += int(values[3]) + int(values[4])  # idle, and idle while a disk is waited for
                    found = True
    except (OSError, ValueError, IndexError):
        return None
    return idle / _HERTZ if found else None


def seen_s(proc: str = "/proc") -> float | None:
    """Return the processor time of all processes in *proc*, ended children included: inside, the guest's."""
    ticks = 0
    try:
        names = os.listdir(proc)
    except OSError:
        return None
    for name in names:
        if name.isdigit():
            try:
                with open(f"{proc}/{name}/stat", "rb") as file:
                    ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
            except (OSError, ValueError):
                continue  # it has just ended
    return ticks / _HERTZ


_UNSEEN_SHARE = 0.01
"""Threads that began and ended between two looks: from this share of a processor on they count as starved."""


class RunQueue:
    """Adds up how long threads stood in the run queue, by what the kernel says of each."""

    def __init__(
        self,
        proc: str = "/proc",
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._proc = proc
        self._now_s = now_s
        self._known: dict[str, tuple[float, float]] = {}
        self._waited_s = 0.0
        self._looked_s = self._began_s = now_s()
        self._unseen_s = 0.0
        self._own_s: float | None = None
        self._hides = False
        self.is_ours = False
        """Whether what runs now was started by groundup itself: its waiting is not the guest's."""

    def waited_s(self, own_s: float | None, threads: Iterable[str]) -> float | None:
        """Return the seconds so far, None where the kernel does not say.

        *threads* are those of now, as places below /proc; *own_s*: what all have used, ended ones included.
        """
        now_s, seen = self._now_s(), dict(self._read(threads))
        if not seen:
            return None
        if self.is_ours:
            self._known, self._own_s, self._looked_s = seen, own_s, now_s
            self._hides, self._began_s, self._unseen_s = False, now_s, 0.0
            return self._waited_s
        begun = [(one, self._known.get(thread, (0.0, 0.0))) for thread, one in seen.items()]
        self._waited_s += sum(max(0.0, waited - before) for (_, waited), (_, before) in begun)
        if self._own_s is not None and own_s is not None:
            self._unseen_s += own_s - self._own_s - sum(max(0.0, ran - before) for (ran, _), (before, _) in begun)
        if now_s - self._began_s >= PERIOD_S:
            self._hides = self._unseen_s > _UNSEEN_SHARE * (now_s - self._began_s)
            self._began_s, self._unseen_s = now_s, 0.0
        if self._hides:
            self._waited_s += now_s - self._looked_s
        self._known, self._own_s, self._looked_s = seen, own_s, now_s
        return self._waited_s

    def _read(self, threads: Iterable[str]) -> Iterator[tuple[str, tuple[float, float]]]:
        for thread in threads:
            try:
                with open(f"{self._proc}/{thread}/schedstat", "rb") as file:
                    ran, waited, _ = file.read().split()
                yield thread, (int(ran) / 1e9, int(waited) / 1e9)
            except (OSError, ValueError):
                continue  # it has just ended, or the kernel counts nothing


def threads_of(processes: Iterable[str | int]) -> Iterator[str]:
    """Yield the threads of *processes*, as places below /proc."""
    for process in processes:
        try:
            yield from (f"{process}/task/{thread}" for thread in os.listdir(f"/proc/{process}/task"))
        except OSError:
            continue  # it has just ended


def inside(owed_s: Callable[[], float] = lambda: 0.0) -> Stopwatch:
    """Return a stopwatch for a program inside a sandbox, for everything in there."""
    processors = len(os.sched_getaffinity(0))
    queue = RunQueue()

    def read() -> Reading:
        own_s, threads = seen_s(), threads_of(name for name in os.listdir("/proc") if name.isdigit())
        return Reading(time.monotonic(), idle_s(), own_s, owed_s(), queued_s=queue.waited_s(own_s, threads))

    return Stopwatch(read, processors)
