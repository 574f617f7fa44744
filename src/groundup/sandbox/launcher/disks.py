"""Watching what sandboxes write to disks: files with a name, open files without one, and who fills a disk.

A file that was removed while it is open has no name and still takes its room, so descriptors of the guest's
processes are looked at as well. A file may lose its name between two looks and be counted twice: only a second
round that agrees is believed.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from groundup.sandbox.launcher.workspaces import TooLargeError, measure

FREE_FLOOR_BYTES = 256 * 1024 * 1024
"""When a disk has less room than this, the sandbox that fills it is ended."""
_PERIOD_S = 1.0
_SHARE = 0.05
"""Measuring may take this share of the launcher's time: larger trees are measured less often."""
_MEMORY_S = 10.0
"""How far back growth is looked for."""
_MOST_LOOKS = 100_000
_PATIENCE_S = 3.0
"""How long a full disk waits until all sandboxes on it have been measured once more."""
_MEANINGLESS_BYTES = 2**20


class DiskWatch:
    """Measures the writable folders of one sandbox again and again, a little at a time."""

    def __init__(self, folders: tuple[int, ...], limit_bytes: int, processes: Callable[[], Iterable[int]]) -> None:
        """Watch open *folders*, and what the guest's *processes* have open."""
        self.folders = folders
        self.limit_bytes = limit_bytes
        self.processes = processes
        self.used_bytes = 0
        self.measured = -1.0
        """When the last whole round began."""
        self._round: Iterator[None] | None = None
        self._began = self._spent = self._next = 0.0
        self._exceeded = False
        self._passed = 0
        self._history: deque[tuple[float, int]] = deque()
        self._devices = [os.fstat(folder).st_dev for folder in folders]

    @property
    def busy(self) -> bool:
        return self._round is not None

    def step(self, now: float) -> bool:
        """Go on measuring; return whether the limit is exceeded."""
        if self._round is None:
            if now < self._next or not self.folders:
                return False
            self._round, self._began, self._spent = self._measured(), now, 0.0
        started = time.monotonic()
        try:
            going = next(self._round, self) is None
        except TooLargeError:
            self._exceeded, going = True, False
        self._spent += time.monotonic() - started
        if not going:
            self._round = None
            self._next = time.monotonic() + max(_PERIOD_S, self._spent / _SHARE)
        return self._exceeded

    def hurry(self) -> None:
        """Measure now: the disk is filling up."""
        self._next = 0.0

    def is_on(self, device: int) -> bool:
        return device in self._devices

    def full_device(self) -> int | None:
        """Return the device of a folder that has hardly any room left."""
        for folder, device in zip(self.folders, self._devices, strict=True):
            status = os.fstatvfs(folder)
            if status.f_bavail * status.f_frsize < FREE_FLOOR_BYTES:
                return device
        return None

    def grown_bytes(self) -> int:
        """Return by how much it grew in the last seconds."""
        return self.used_bytes - min((used for _, used in self._history), default=self.used_bytes)

    def _measured(self) -> Iterator[None]:
        named = []
        for folder in self.folders:
            used = 0
            for used in measure(folder):
                self._exceeded = self._exceeded or used > self.limit_bytes
                yield
            named.append(used)
        nameless: dict[int, int] = {}
        for found in nameless_bytes(self.processes()):
            nameless = found
            yield
        both = (used + nameless.get(device, 0) for used, device in zip(named, self._devices, strict=True))
        over = any(used > self.limit_bytes for used in both)
        # Believed at the second time: a file that loses its name during a round is in both counts.
        self._passed = self._passed + 1 if over else 0
        self._exceeded = self._exceeded or self._passed > 1
        self.used_bytes = sum(named) + sum(nameless.get(device, 0) for device in set(self._devices))
        self.measured = self._began
        self._history.append((self._began, self.used_bytes))
        while self._history[0][0] < self._began - _MEMORY_S and len(self._history) > 2:
            self._history.popleft()


def nameless_bytes(processes: Iterable[int]) -> Iterator[dict[int, int]]:
    """Yield, now and then, by device the bytes of files without a name that *processes* have open.

    Not seen are descriptors on their way through a socket, and files that are mapped only: reading the
    mappings of a process that forks waits for it, which a fork bomb makes half a minute.
    """
    found: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    looks = 0
    for process in processes:
        place = f"/proc/{process}/fd"
        for name in _names(place):
            looks += 1
            if looks > _MOST_LOOKS:
                return
            if looks % 500 == 0:
                yield found
            try:
                status = os.stat(f"{place}/{name}")
            except OSError:
                continue
            file = (status.st_dev, status.st_ino)
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 0 and file not in seen:
                seen.add(file)
                found[status.st_dev] = found.get(status.st_dev, 0) + status.st_blocks * 512
    yield found


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


class FullDisk:
    """Finds who fills a disk that has hardly any room left: what grows fastest, else what holds most."""

    def __init__(self, device: int, since: float) -> None:
        self.device = device
        self.since = since
        self.asked = False

    def culprit(self, watches: dict[str, DiskWatch], now: float) -> tuple[str, bool] | None:
        """Return the key of the sandbox to end, and whether it is to blame; None: not known yet."""
        there = {key: watch for key, watch in watches.items() if watch.is_on(self.device)}
        if not self.asked:
            self.asked = True
            for watch in there.values():
                watch.hurry()
        pending = any(watch.measured < self.since for watch in there.values())
        if not there or (pending and now < self.since + _PATIENCE_S):
            return None
        fastest = max(there, key=lambda key: there[key].grown_bytes())
        if there[fastest].grown_bytes() > _MEANINGLESS_BYTES:
            return fastest, there[fastest].grown_bytes() >= FREE_FLOOR_BYTES
        return max(there, key=lambda key: there[key].used_bytes), False
