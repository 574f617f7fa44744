"""Digesting trees."""

import os
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.trees.digest import tree_digest, untrusted_digest
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
