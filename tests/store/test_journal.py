"""`store.journal`: what was appended stays, what was torn never was."""

from pathlib import Path

import pytest

from groundup.domain.errors import DiskFullError
from groundup.store.files import Journal, complete_lines


def test_appended_lines_are_read_back(tmp_path: Path) -> None:
    """Lines come back in order, numbered from 1."""
    with Journal(tmp_path / "journal") as journal:
        journal.append(b"one")
        journal.append(b"two")
    assert list(complete_lines(tmp_path / "journal")) == [(1, b"one"), (2, b"two")]


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
    from groundup.trees.writer import disk_errors

    with pytest.raises(DiskFullError), disk_errors(full), full.open("wb", buffering=0) as file:
        file.write(b"x")
