"""Digesting trees."""

import hashlib
import os
import socket
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.trees.digest import entry_digests, tree_digest, untrusted_digest
from groundup.trees.writer import TreeLimits
from tests.trees.hostile import Tree, write


def test_times_and_modes_do_not_count(tmp_path: Path) -> None:
    """The same contents at another time and with other permissions are the same tree."""
    for name in ("one", "two"):
        write(tmp_path / name, {"b/c": b"x", "a": b"y", "l": "a"})
    os.utime(tmp_path / "two" / "a", (1, 1))
    (tmp_path / "two" / "a").chmod(0o600)
    assert tree_digest(tmp_path / "one") == tree_digest(tmp_path / "two")


@pytest.mark.parametrize(
    "other",
    [
        {"a": b"2", "b": b""},
        {"c": b"1", "b": b""},
        {"a": "b", "b": b""},
        {"a": b"1", "b": None},
        {"a": b"1", "b": b"", "empty": None},
        {"a": b"1"},
    ],
)
def test_every_difference_counts(tmp_path: Path, other: Tree) -> None:
    """Contents, names, kinds, links and empty folders are part of the digest."""
    write(tmp_path / "one", {"a": b"1", "b": b""})
    write(tmp_path / "two", other)
    assert tree_digest(tmp_path / "one").digest != tree_digest(tmp_path / "two").digest


def test_the_executable_bit_counts(tmp_path: Path) -> None:
    """A script that lost its bit is another tree."""
    write(tmp_path, {"a": b"1"})
    before = tree_digest(tmp_path).digest
    (tmp_path / "a").chmod(0o755)
    assert tree_digest(tmp_path).digest != before


def test_a_digest_is_the_same_on_every_machine(tmp_path: Path) -> None:
    """Verdict caches and reports of two machines can be compared: this value never changes."""
    write(tmp_path, {"a": b"1", "b/c": b"", "d": "a", "e": None})
    assert tree_digest(tmp_path) == (
        "sha256:f9239214f4b40de5c316a3565136647f4ed46d165c226259328a052f41e109f8",
        3,
        1,
    )


def test_a_fifo_is_refused(tmp_path: Path) -> None:
    """Only trees that were taken in have a digest."""
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InfrastructureError, match="fifo"):
        tree_digest(tmp_path)


def test_a_tree_before_intake_digests_as_after_it(tmp_path: Path) -> None:
    """For a tame tree the two digests are one; what cannot be taken in counts by its kind and stops nothing."""
    write(tmp_path, {"a": b"1", "b/c": b"", "d": "a"})
    assert untrusted_digest(tmp_path, TreeLimits()) == tree_digest(tmp_path).digest
    before = untrusted_digest(tmp_path, TreeLimits())
    os.mkfifo(tmp_path / "fifo")
    assert untrusted_digest(tmp_path, TreeLimits()) != before


def test_a_huge_file_before_intake_is_not_read(tmp_path: Path) -> None:
    """Ten gigabytes of nothing are not hashed only to be refused later."""
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10 * 1024**3)
    assert untrusted_digest(tmp_path, TreeLimits(bytes=1000)).startswith("sha256:")


def test_each_entry_has_what_stands_for_it(tmp_path: Path) -> None:
    """Files and links by their whole path; folders are in no list of what changed."""
    write(tmp_path, {"a": b"1", "b/c": b"", "d": "a", "e": None})
    (tmp_path / "a").chmod(0o755)
    assert entry_digests(tmp_path) == {
        "a": b"a\0program " + hashlib.sha256(b"1").digest(),
        "b/c": b"b/c\0file " + hashlib.sha256(b"").digest(),
        "d": b"d\0link a",
    }


@pytest.mark.parametrize(
    ("limits", "whole"),
    [
        ({}, True),
        ({"files": 4}, True),
        ({"files": 3}, False),
        ({"bytes": 5}, True),
        ({"bytes": 4}, False),
        ({"depth": 3}, True),
        ({"depth": 2}, True),
        ({"depth": 1}, False),
    ],
)
def test_beyond_the_limits_nothing_counts(tmp_path: Path, limits: dict[str, int], *, whole: bool) -> None:
    """Entries, bytes and folders in folders, one more than may be taken in; what comes before still counts."""
    write(tmp_path, {"a": b"12", "b/c/d": b"345"})
    bounds = TreeLimits(**limits)
    before = untrusted_digest(tmp_path, bounds)
    assert (before == tree_digest(tmp_path).digest) is whole
    (tmp_path / "a").write_bytes(b"21")
    assert untrusted_digest(tmp_path, bounds) != before


def test_what_is_no_tree_is_named(tmp_path: Path) -> None:
    """With what the system says of it, or what it holds."""
    for digest in (tree_digest, entry_digests):
        with pytest.raises(InfrastructureError) as caught:
            digest(tmp_path / "absent")
        assert str(caught.value) == f"cannot read the folder {tmp_path / 'absent'}: No such file or directory"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InfrastructureError) as held:
        tree_digest(tmp_path)
    assert str(held.value) == f"cannot read the tree {tmp_path}: it holds a fifo"
    assert entry_digests(tmp_path) == {}
    before = untrusted_digest(tmp_path, TreeLimits())
    (tmp_path / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        place = os.open(tmp_path, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{place}/pipe")
        finally:
            os.close(place)
        assert untrusted_digest(tmp_path, TreeLimits()) != before
