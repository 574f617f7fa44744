"""Measuring what sandboxes hold on disks, and deciding who fills one."""

import os
import signal
import time
from pathlib import Path

import pytest

from groundup.sandbox.launcher import disks
from groundup.sandbox.launcher.disks import FREE_FLOOR_BYTES, DiskWatch, FullDisk, nameless_bytes
from groundup.sandbox.launcher.limits import Refusals, SandboxGroups, processes_below


def last(processes: list[int]) -> dict[int, int]:
    """Return what is counted in the end."""
    return list(nameless_bytes(processes))[-1]


def rounds(watch: DiskWatch, count: int, now: float = 1.0) -> bool:
    """Measure *count* times; return whether the limit was ever exceeded."""
    exceeded = False
    for number in range(count):
        watch.hurry()
        exceeded |= watch.step(now + number)
        while watch.busy:
            exceeded |= watch.step(now + number)
    return exceeded


def watch_of(folder: Path, limit_bytes: int) -> tuple[DiskWatch, int]:
    """Return a watch of *folder* and of this process, and the folder's descriptor."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    return DiskWatch((descriptor,), limit_bytes, lambda: [os.getpid()]), descriptor


def test_removed_files_count_while_they_are_open(tmp_path: Path) -> None:
    """A removed file counts once, however often it is open, and no longer when it is closed."""
    before = last([os.getpid()]).get(tmp_path.stat().st_dev, 0)
    with (tmp_path / "file").open("wb") as file, (tmp_path / "file").open("rb"):
        file.write(bytes(4 << 20))
        file.flush()
        (tmp_path / "file").unlink()
        assert last([os.getpid()])[tmp_path.stat().st_dev] - before == 4 << 20
    assert last([os.getpid()]).get(tmp_path.stat().st_dev, 0) == before


def test_a_file_that_loses_its_name_meanwhile_is_not_counted_twice(tmp_path: Path) -> None:
    """Named and nameless bytes together exceed the limit only when two rounds in a row say so."""
    watch, descriptor = watch_of(tmp_path, 6 << 20)
    with (tmp_path / "file").open("wb") as file:
        file.write(bytes(4 << 20))
        file.flush()
        watch.hurry()
        assert not watch.step(1.0)  # it has measured the folder, and looks at open files next
        (tmp_path / "file").unlink()
        while watch.busy:
            assert not watch.step(1.0)
        assert not rounds(watch, 3)
        (tmp_path / "another").write_bytes(bytes(4 << 20))
        assert not rounds(watch, 1)
        assert rounds(watch, 1)
    os.close(descriptor)


def test_the_fastest_grower_is_to_blame(tmp_path: Path) -> None:
    """Of two sandboxes on a full disk, the one that grows is ended, even if the other one holds more."""
    device = tmp_path.stat().st_dev
    watches = {}
    for name, history in {
        "large": [(0.0, 4 * FREE_FLOOR_BYTES), (5.0, 4 * FREE_FLOOR_BYTES)],
        "growing": [(0.0, 0), (5.0, 2 * FREE_FLOOR_BYTES)],
    }.items():
        watch, descriptor = watch_of(tmp_path, 2**40)
        os.close(descriptor)
        watch._history.extend(history)
        watch.used_bytes, watch.measured = history[-1][1], 5.0
        watches[name] = watch
    assert FullDisk(device, since=6.0).culprit(watches, now=6.5) is None  # nobody was measured since
    assert FullDisk(device, since=4.0).culprit(watches, now=6.5) == ("growing", True)
    assert FullDisk(device, since=4.0).culprit({"large": watches["large"]}, now=6.5) == ("large", False)
    assert FullDisk(device + 1, since=4.0).culprit(watches, now=60.0) is None
    assert FullDisk(device, since=6.0).culprit(watches, now=8.9) is None
    assert FullDisk(device, since=6.0).culprit(watches, now=9.0) == ("growing", True), "patience has an end"
    for grown, culprit in ((FREE_FLOOR_BYTES - 1, ("growing", False)), (2**20, ("large", False))):
        watches["growing"]._history.clear()
        watches["growing"]._history.extend([(0.0, 0), (5.0, grown)])
        watches["growing"].used_bytes = grown
        assert FullDisk(device, since=4.0).culprit(watches, now=6.5) == culprit


def test_growth_is_forgotten_after_a_while(tmp_path: Path) -> None:
    """What was written ten seconds ago fills no disk now; a disk with room left is full for nobody."""
    watch, descriptor = watch_of(tmp_path, 2**40)
    grown = []
    for now in (1.0, 5.0, 10.9, 12.0):
        if now < 10:
            (tmp_path / f"at {now}").write_bytes(bytes(4 << 20))
        rounds(watch, 1, now)
        grown.append(watch.grown_bytes() >> 20)
    assert grown == [0, 4, 4, 0]
    assert watch.measured == 12.0
    assert watch.full_device() is None
    assert (watch.is_on(tmp_path.stat().st_dev), watch.is_on(-1)) == (True, False)
    os.close(descriptor)


def test_a_disk_without_room_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its device is told; and what was measured is measured again only after a while, unless it is urgent."""
    watch, descriptor = watch_of(tmp_path, 2**40)
    monkeypatch.setattr(disks, "FREE_FLOOR_BYTES", 2**62)
    assert watch.full_device() == tmp_path.stat().st_dev
    now = time.monotonic()
    rounds(watch, 1, now)
    for later_s, begins in ((0.0, False), (0.5, False), (60.0, True)):
        watch.step(now + later_s)
        assert watch.busy is begins
    assert not DiskWatch((), 0, list).step(now)
    os.close(descriptor)


def test_refusals_without_end_are_a_bomb(tmp_path: Path) -> None:
    """A program that meets its limit of processes, even often, goes on; one that never stops trying does not."""

    def looked(counts: list[int]) -> list[bool]:
        refusals, found = Refusals(), []
        for number, count in enumerate(counts):
            (tmp_path / "pids.events").write_text(f"max {count}\n")
            found.append(refusals.are_a_bomb(SandboxGroups(2, {"pids": tmp_path}), number * 0.25 + 0.25))
        return found

    assert looked([0, 500, 1000, 1500, 2000]) == [False, False, False, False, True]
    assert not any(looked([0, 5000, 5000, 5000, 9000, 9000]))
    assert not any(looked([0, 1, 2, 3, 4, 5, 6]))


def test_processes_below() -> None:
    """A process and its children are found."""
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        assert {os.getpid(), child} <= set(processes_below(os.getpid()))
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
