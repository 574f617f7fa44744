"""Lending, taking back and measuring folders stays inside them, whatever strangers put there."""

import os
import signal
import stat
from pathlib import Path

import pytest

from groundup.sandbox.launcher.workspaces import (
    MAX_DEPTH,
    Loans,
    TooLargeError,
    _entries,
    lend,
    measure,
    take_back,
)


def opened(path: Path) -> int:
    """Return a descriptor of a folder."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def test_take_back_repairs_modes(tmp_path: Path) -> None:
    """Folders and files of mode 000 become readable for their owner; other bits stay."""
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    (deep / "program").write_text("x")
    (deep / "program").chmod(0o111)
    for path in (deep / "file", deep, tmp_path / "a"):
        path.chmod(0)
    folder = opened(tmp_path)
    take_back(folder, os.geteuid(), os.getegid())
    os.close(folder)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    assert stat.S_IMODE((deep / "file").stat().st_mode) == 0o400
    assert stat.S_IMODE((deep / "program").stat().st_mode) == 0o511


def test_taking_back_stops_when_there_is_much(tmp_path: Path) -> None:
    """Where no more than so many entries may be walked through, more are an error, in one folder or in several."""
    for name in "abc":
        (tmp_path / name / "below").mkdir(parents=True)
    folder = opened(tmp_path)
    take_back(folder, os.geteuid(), os.getegid(), 6)
    with pytest.raises(TooLargeError):
        take_back(folder, os.geteuid(), os.getegid(), 5)
    with pytest.raises(TooLargeError):
        take_back(folder, os.geteuid(), os.getegid(), 2)
    os.close(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_lending_follows_no_link(tmp_path: Path) -> None:
    """Links are given away as links: what they point at keeps owner and mode."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret").write_text("x")
    (outside / "secret").chmod(0)
    (inside / "file").symlink_to(outside / "secret")
    (inside / "folder").symlink_to(outside)
    (inside / "own").write_text("x")
    folder = opened(inside)
    lend(folder, 61234, 61234)
    assert (inside / "own").stat().st_uid == (inside / "file").lstat().st_uid == 61234
    assert (outside / "secret").stat().st_uid == outside.stat().st_uid == 0
    take_back(folder, 0, 0)
    os.close(folder)
    assert (inside / "own").stat().st_uid == (inside / "file").lstat().st_uid == 0
    assert stat.S_IMODE((outside / "secret").stat().st_mode) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_lending_gives_away_no_shared_file(tmp_path: Path) -> None:
    """A file that a cache or a layer has, too, keeps owner and mode; one linked only inside is lent."""
    cache, inside = tmp_path / "cache", tmp_path / "inside"
    cache.mkdir()
    inside.mkdir()
    (cache / "wheel").write_text("x")
    (cache / "wheel").chmod(0o200)
    os.link(cache / "wheel", inside / "wheel")
    (inside / "one").write_text("x")
    os.link(inside / "one", inside / "two")
    before = (cache / "wheel").stat()
    folder = opened(inside)
    lend(folder, 61234, 61234)
    os.close(folder)
    assert (inside / "one").stat().st_uid == inside.stat().st_uid == 61234
    after = (cache / "wheel").stat()
    assert (after.st_uid, after.st_mode, after.st_ctime_ns) == (before.st_uid, before.st_mode, before.st_ctime_ns)


def test_a_folder_is_returned_by_its_last_sandbox(tmp_path: Path) -> None:
    """Of folders that two sandboxes share, the first to end gives none back; the last gives it to its owner."""
    paths = [tmp_path / name for name in ("shared", "own")]
    for path in paths:
        path.mkdir()
    shared, own = map(opened, paths)
    user, group = os.geteuid(), os.getegid()
    loans = Loans()
    loans.lend([shared, own])
    loans.lend([shared])
    assert loans.returned([shared]) == []
    assert loans.owner(shared) == (user, group)
    assert loans.returned([shared, own]) == [(shared, user, group), (own, user, group)]
    with pytest.raises(KeyError):  # nobody has it any more
        loans.owner(own)
    os.close(shared)
    os.close(own)


def test_measuring(tmp_path: Path) -> None:
    """The sum of what lies on disk is found, and links are not followed."""
    (tmp_path / "file").write_bytes(b"x" * 1_000_000)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "usr").symlink_to("/usr")
    folder = opened(tmp_path)
    assert 1_000_000 <= list(measure(folder))[-1] < 1_100_000
    os.close(folder)


def test_measuring_a_pit(tmp_path: Path) -> None:
    """A tree that is deeper than anybody needs is distinguished, not followed for ever."""
    top = opened(tmp_path)
    folder = os.dup(top)
    for _ in range(MAX_DEPTH + 5):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    with pytest.raises(TooLargeError):
        list(measure(top))
    os.close(top)


def test_walks_beside_each_other_see_all(tmp_path: Path) -> None:
    """A folder is measured by the launcher while a child of it walks it: each sees every entry."""
    for number in range(50):
        (tmp_path / str(number)).mkdir()
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    child = os.fork()
    while not child:  # until it is killed
        list(measure(descriptor))
    try:
        seen = set()
        for _ in range(2000):
            seen.add(sum(1 for _ in _entries(descriptor)))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(descriptor)
    assert seen == {50}
