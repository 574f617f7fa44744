"""Reading what somebody named: no device, no pipe, not too much."""

import os
from pathlib import Path

import pytest

from groundup.trees.walking import read_own, read_regular


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """A device would be read for ever and a pipe waited for; both are refused at once, behind links too."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe", tmp_path / "link"):
        with pytest.raises(OSError, match="no regular file"):
            read_regular(path)
    with pytest.raises(IsADirectoryError, match="folder"):
        read_regular(tmp_path)


def test_sizes_are_capped(tmp_path: Path) -> None:
    """A file of exactly the limit is read, one byte more is refused, whatever it claims to hold."""
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than"):
        read_regular(path, 4)
    with path.open("wb") as file:
        file.truncate((3 << 20) + 1)
    with pytest.raises(OSError, match="larger than 3 MiB"):
        read_regular(path, 3 << 20)


def test_of_a_stranger_s_folder_only_its_own_files_are_read(tmp_path: Path) -> None:
    """A link may lead anywhere, and what is too large is as if it were not there; nothing is raised."""
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert read_own(tmp_path / "file", 5) == b"12345"
    assert read_own(tmp_path / "file", 4) is None
    assert [read_own(tmp_path / name) for name in ("link", "pipe", "absent", ".")] == [None] * 4
