"""`store.journal`: what was appended stays, what was torn never was."""

import errno
import os
import re
import resource
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from groundup.domain.errors import DiskFullError, InfrastructureError
from groundup.store.files import Journal, complete_lines
from groundup.trees.writer import disk_errors


def test_appended_lines_are_read_back(tmp_path: Path) -> None:
    """Lines come back in order, numbered from 1."""
    with Journal(tmp_path / "journal") as journal:
        journal.append(b"one")
        journal.append(b"two")
    assert list(complete_lines(tmp_path / "journal")) == [(1, b"one"), (2, b"two")]


def test_threads_append_at_once(tmp_path: Path) -> None:
    """Sessions of a server do; a line that fails for want of room takes no other thread's line with it."""
    path = tmp_path / "journal"
    with Journal(path, synced=False) as journal, limited_files(20_000):

        def kept(number: int) -> bytes | None:
            line = b"%04d" % number * (number % 50 + 1)
            with suppress(InfrastructureError):
                journal.append(line)
                return line
            return None

        with ThreadPoolExecutor(8) as threads:
            found = [line for line in threads.map(kept, range(2000)) if line]
    assert sorted(line for _, line in complete_lines(path)) == sorted(found)


@contextmanager
def limited_files(size: int) -> Iterator[None]:
    """Let no file grow beyond *size*: a write ends there as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns at every chance
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_absent_file_has_no_lines(tmp_path: Path) -> None:
    """A run that was killed before its first verdict can be read."""
    assert list(complete_lines(tmp_path / "journal")) == []


@pytest.mark.parametrize("torn", [b"x", b'{"attempt"', b"\0" * 100, b"y" * 200_000])
def test_a_torn_last_line_is_ignored_and_then_cut_off(tmp_path: Path, torn: bytes) -> None:
    """Whatever a killed process left behind the last newline neither is read nor spoils the next line."""
    path = tmp_path / "journal"
    path.write_bytes(b"one\n" + torn)
    assert list(complete_lines(path)) == [(1, b"one")]
    with Journal(path) as journal:
        journal.append(b"two")
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_file_of_one_torn_line_becomes_empty(tmp_path: Path) -> None:
    """A kill within the very first line loses only that line."""
    (tmp_path / "journal").write_bytes(b"half")
    with Journal(tmp_path / "journal"):
        assert (tmp_path / "journal").read_bytes() == b""


def test_a_disk_without_room_is_named() -> None:
    """A full disk is a `DiskFullError`, not a bug."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(DiskFullError), disk_errors(full), full.open("wb", buffering=0) as file:
        file.write(b"x")


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EFBIG, "(`ulimit -f`)"),
        (errno.EMFILE, "(`ulimit -n`)"),
        (errno.EIO, "name another folder"),
        (errno.EROFS, "make it writable or name another folder"),
    ],
)
def test_what_cannot_be_written_says_what_to_do(tmp_path: Path, number: int, advice: str) -> None:
    """A user's own limits are named by the command that raises them."""
    with pytest.raises(InfrastructureError, match=rf"{re.escape(advice)}$"), disk_errors(tmp_path):
        raise OSError(number, os.strerror(number), str(tmp_path))
