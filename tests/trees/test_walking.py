"""Looking through a tree: what is found, in which order, how deep, and which links must go."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.trees.walking import (
    FOLDER,
    is_file_inside,
    open_regular,
    read_chunks,
    read_regular,
    remove_tree,
    walk,
    why_refused,
)
from tests.trees.hostile import write


@pytest.mark.parametrize(
    ("links", "why"),
    [
        ({"a": "b"}, None),
        ({"a": "."}, None),
        ({"a": "./b//c/"}, None),
        ({"a": ".."}, "link leads outside"),
        ({"a": "b/../.."}, "link leads outside"),
        ({"d/a": ".."}, None),
        ({"d/a": "../b"}, None),
        ({"d/a": "../../b"}, "link leads outside"),
        ({"d/e/a": "../../b"}, None),
        ({"d/e/a": "../../../b"}, "link leads outside"),
        ({"a": "/b"}, "absolute link"),
        ({"a": "b", "b": "/c"}, "link leads to an absolute link"),
        ({"a": "b/c", "b": "d"}, None),
        ({"a": "b/..", "b": "d/e"}, None),
        ({"a": "b/../..", "b": "d/e"}, None),
        ({"a": "b/../../..", "b": "d/e"}, "link leads outside"),
        ({"a": "b/../x", "b": "."}, "link leads outside"),
        ({"a": "a"}, "link in a circle"),
        ({"a": "b", "b": "a"}, "link in a circle"),
        ({"a": "a/b"}, "link in a circle"),
        ({"a": "l0", **{f"l{number}": f"l{number + 1}" for number in range(39)}}, None),
        ({"a": "l0", **{f"l{number}": f"l{number + 1}" for number in range(40)}}, "link in a circle"),
    ],
)
def test_a_link_stays_where_it_leads_nowhere_else(links: dict[str, str], why: str | None) -> None:
    """Through other links, too: the first of these is asked for."""
    named = {tuple(link.split("/")): target for link, target in links.items()}
    assert why_refused(next(iter(named)), named) == why


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Give the folder's descriptor."""
    root = os.open(path, FOLDER)
    try:
        yield root
    finally:
        os.close(root)


def test_all_below_is_found_in_order_down_to_a_depth(tmp_path: Path) -> None:
    """By the bytes of names, a folder before what is in it; links are told and not followed."""
    write(tmp_path, {"b/c/d/e": b"12", "a": b"1", "B": b"", "b-": b"", "l": "b", "é": None, "b/l": "nowhere"})
    (tmp_path / "a").chmod(0o755)
    os.mkfifo(tmp_path / "p")
    with opened(tmp_path) as root:
        found = [("/".join(one.parts), one.kind, one.size, one.executable) for one in walk(root, 9)]
        targets = {"/".join(one.parts): one.target() for one in walk(root, 9) if one.kind == "link"}
        depths = [["/".join(one.parts) for one in walk(root, depth) if one.parts[0] == "b"] for depth in (1, 2, 3)]
    sizes = {name: size for name, kind, size, _ in found if kind == "file"}
    assert [(name, kind, executable) for name, kind, _, executable in found] == [
        ("B", "file", False), ("a", "file", True), ("b", "folder", True), ("b/c", "folder", True),
        ("b/c/d", "folder", True), ("b/c/d/e", "file", False), ("b/l", "link", True), ("b-", "file", False),
        ("l", "link", True), ("p", "fifo", False), ("é", "folder", True),
    ]  # fmt: skip
    assert sizes == {"B": 0, "a": 1, "b/c/d/e": 2, "b-": 0}
    assert targets == {"b/l": "nowhere", "l": "b"}
    assert depths == [["b"], ["b", "b/c", "b/l"], ["b", "b/c", "b/c/d", "b/l"]]


def test_a_file_that_was_swapped_is_not_read(tmp_path: Path) -> None:
    """Neither a pipe, nor a link, nor a folder in its place."""
    write(tmp_path, {"a": b"1234", "other": b""})
    with opened(tmp_path) as root:
        entry = next(walk(root, 1))
        descriptor = entry.open()
        try:
            assert b"".join(read_chunks(descriptor)) == b"1234"
        finally:
            os.close(descriptor)
        (tmp_path / "a").unlink()
        with pytest.raises(FileNotFoundError):
            entry.open()
        os.mkfifo(tmp_path / "a")
        with pytest.raises(OSError, match=r"^'a' is not a file any more$"):
            entry.open()
        (tmp_path / "a").unlink()
        (tmp_path / "a").symlink_to("other")
        with pytest.raises(OSError, match="symbolic links"):
            entry.open()


def test_a_link_may_lead_to_a_file_inside(tmp_path: Path) -> None:
    """Not to one outside, nor to a folder."""
    write(tmp_path, {"in/a": b"", "in/l": "a", "out": b"", "in/o": "../out", "in/d/b": b""})
    root = tmp_path / "in"
    names = ("a", "l", "o", "d", "absent", "d/b", "d/../a", "../out")
    assert [is_file_inside(root / name, root) for name in names] == [
        True, True, False, False, False, True, True, False,
    ]  # fmt: skip


def test_what_is_not_read_says_why(tmp_path: Path) -> None:
    """With the system's number for it, and the path."""
    write(tmp_path, {"d": None, "a": b"123", "big": b""})
    os.mkfifo(tmp_path / "p")
    with (tmp_path / "big").open("wb") as file:
        file.truncate(2 * 1024 * 1024 + 1)
    for name, largest, number, says in (
        ("d", 9, errno.EISDIR, "it is a folder"),
        ("p", 9, errno.EINVAL, "it is no regular file"),
        ("a", 2, errno.EFBIG, "it is larger than 1 MiB"),
        ("big", 2 * 1024 * 1024, errno.EFBIG, "it is larger than 2 MiB"),
    ):
        with pytest.raises(OSError, match=says) as refused:
            read_regular(tmp_path / name, largest)
        assert (refused.value.errno, refused.value.strerror) == (number, says)
        assert refused.value.filename == str(tmp_path / name)
    with open_regular(tmp_path / "a") as file:
        assert file.read() == b"123"
    assert read_regular(tmp_path / "a", 3) == b"123"
    assert read_regular(Path("/proc/self/stat")).endswith(b"\n")


def test_of_a_tree_of_many_folders_nothing_is_left(tmp_path: Path) -> None:
    """Deeper than is emptied in place, with several beside each other, closed ones among them."""
    root = tmp_path / "tree"
    for name in ("1/2/3/4/5/6/7/8/9/10/11/a", "1/2/3/4/5/6/7/8/9/b/c", "1/2/3/4/5/6/7/8/c/d/e", "f"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")
    for name in ("1/2/3/4/5/6/7/8/9", "1/2/3/4/5/6/7/8"):
        (root / name).chmod(0o500)
    remove_tree(root)
    assert [*tmp_path.iterdir()] == []


def test_what_cannot_be_removed_is_named() -> None:
    """With what to do."""
    says = r"^cannot remove /proc/self/stat: [\w ]+; remove it by hand \(perhaps as its owner\)$"
    with pytest.raises(InfrastructureError, match=says):
        remove_tree(Path("/proc/self/stat"))
