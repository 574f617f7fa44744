"""Copying hostile trees."""

import os
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from groundup.domain.errors import InfrastructureError, SubmissionError
from groundup.trees.digest import tree_digest
from groundup.trees.writer import TreeLimits, copy_tree, share_tree
from tests.effort import often
from tests.trees.hostile import Tree, snapshot, stays_inside, trees, write


@given(tree=trees)
@settings(max_examples=often(80), deadline=None)
def test_a_copy_is_faithful_and_no_link_of_it_leads_out(tree: Tree) -> None:
    """Files and folders come over unchanged, links only when they stay inside; what is missing was named."""
    with tempfile.TemporaryDirectory() as place:
        source, copy = Path(place) / "source", Path(place) / "copy"
        write(source, tree)
        taken = copy_tree(source, copy)
        before, after = snapshot(source), snapshot(copy)
        assert stays_inside(copy)
        assert after.items() <= before.items()
        missing = before.keys() - after.keys()
        assert all(before[name].startswith("link ") for name in missing)
        assert taken.dropped_count == len(missing)


@given(tree=trees)
@settings(max_examples=often(50), deadline=None)
def test_a_copy_of_a_copy_has_the_same_digest(tree: Tree) -> None:
    """Whatever was taken in once is a fixed point: it copies whole and digests the same."""
    with tempfile.TemporaryDirectory() as place:
        first, second = Path(place) / "first", Path(place) / "second"
        write(Path(place) / "source", tree)
        taken = copy_tree(Path(place) / "source", first)
        again = copy_tree(first, second)
        assert again.dropped_count == 0
        assert tree_digest(first) == tree_digest(second)
        assert tree_digest(second).files == again.files == taken.files
        assert tree_digest(second).bytes == again.bytes == taken.bytes


def test_devices_fifos_and_sockets_are_left_out_and_named(tmp_path: Path) -> None:
    """Nothing special is opened or copied; the reader learns what was left out."""
    source = tmp_path / "source"
    source.mkdir()
    os.mkfifo(source / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(source / "socket"))
        expected = {"fifo: fifo", "socket: socket"}
        if os.geteuid() == 0:
            os.mknod(source / "null", 0o20666, os.makedev(1, 3))
            expected.add("null: device")
        (source / "kept").write_text("x")
        taken = copy_tree(source, tmp_path / "copy")
    assert set(taken.dropped) == expected
    assert snapshot(tmp_path / "copy").keys() == {"kept"}


@pytest.mark.parametrize(
    ("target", "kept"),
    [
        ("/etc/passwd", False),
        ("../outside", False),
        ("folder/../../outside", False),
        ("folder/up/../../outside", False),
        ("folder/file", True),
        ("folder/../folder/file", True),
        ("nothing/here", True),
        ("escape/x", False),
        ("loop", False),
    ],
)
def test_a_link_is_kept_exactly_when_it_stays_inside(tmp_path: Path, target: str, kept: bool) -> None:
    """Links are judged by where the kernel would go, through other links too."""
    write(
        tmp_path / "source",
        {"folder/file": b"x", "folder/up": "..", "escape": "../..", "loop": "loop", "link": target},
    )
    copy_tree(tmp_path / "source", tmp_path / "copy")
    assert (tmp_path / "copy" / "link").is_symlink() is kept


def test_a_name_that_is_not_text_survives(tmp_path: Path) -> None:
    """Names are bytes on the disk: Latin-1 and newlines come over as they are, and are printable in reports."""
    source = tmp_path / "source"
    source.mkdir()
    strange = os.fsdecode(b"caf\xe9\n")
    (source / strange).write_bytes(b"x")
    (source / os.fsdecode(b"bad\xff")).symlink_to("/nowhere")
    taken = copy_tree(tmp_path / "source", tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == [strange]
    assert taken.dropped == ("bad\\xff: absolute link",)


def test_a_sparse_file_counts_by_its_apparent_size(tmp_path: Path) -> None:
    """Ten gigabytes of nothing are refused before a byte of them is read."""
    source = tmp_path / "source"
    source.mkdir()
    with (source / "sparse.log").open("wb") as file:
        file.truncate(10 * 1024**3)
    with pytest.raises(SubmissionError, match=r"sparse\.log"):
        copy_tree(source, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("limits", "tree"),
    [
        (TreeLimits(files=2), {"a": b"", "b": b"", "c": b""}),
        (TreeLimits(bytes=3), {"a": b"12", "b": b"34"}),
        (TreeLimits(depth=2), {"a/b/c": b""}),
        (TreeLimits(name_bytes=3), {"ééé": b""}),
        (TreeLimits(path_bytes=5), {"aaa/bbb": b""}),
    ],
)
def test_each_limit_refuses_the_whole_tree(tmp_path: Path, limits: TreeLimits, tree: Tree) -> None:
    """Beyond a limit there is one `SubmissionError` and no half copy."""
    write(tmp_path / "source", tree)
    with pytest.raises(SubmissionError):
        copy_tree(tmp_path / "source", tmp_path / "copy", limits)
    assert not (tmp_path / "copy").exists()


def test_only_the_executable_bit_of_a_mode_is_kept(tmp_path: Path) -> None:
    """Set-uid bits and odd permissions of a stranger do not come over."""
    write(tmp_path / "source", {"program": b"", "plain": b""})
    (tmp_path / "source" / "program").chmod(0o4700)
    (tmp_path / "source" / "plain").chmod(0o406)
    copy_tree(tmp_path / "source", tmp_path / "copy")
    assert (tmp_path / "copy" / "program").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "copy" / "plain").stat().st_mode & 0o7777 == 0o644


def test_a_link_in_place_of_the_source_is_not_followed(tmp_path: Path) -> None:
    """The folder itself may have been swapped for a link; the caller decides what to resolve."""
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(InfrastructureError, match="link"):
        copy_tree(tmp_path / "link", tmp_path / "copy")


def test_a_destination_that_holds_something_is_not_touched(tmp_path: Path) -> None:
    """Nothing is merged into what is there, and nothing there is removed."""
    write(tmp_path / "source", {"a": b"1"})
    write(tmp_path / "copy", {"b": b"2"})
    with pytest.raises(InfrastructureError, match="not empty"):
        copy_tree(tmp_path / "source", tmp_path / "copy")
    assert snapshot(tmp_path / "copy").keys() == {"b"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_left_out_and_named(tmp_path: Path) -> None:
    """An unreadable file or folder does not stop the rest."""
    write(tmp_path / "source", {"secret": b"", "closed/x": b"", "open": b""})
    (tmp_path / "source" / "secret").chmod(0)
    (tmp_path / "source" / "closed").chmod(0)
    try:
        taken = copy_tree(tmp_path / "source", tmp_path / "copy")
    finally:
        (tmp_path / "source" / "closed").chmod(0o700)
    assert set(taken.dropped) == {"secret: unreadable", "closed: unreadable"}


def test_a_shared_tree_is_of_new_folders_and_the_same_files(tmp_path: Path) -> None:
    """Who may not write the files can add, remove and replace them, and the source stays as it was."""
    source, shared = tmp_path / "source", tmp_path / "shared"
    (source / "package").mkdir(parents=True)
    for name in ("module.py", "package/inner.py"):
        (source / name).write_text(name)
        (source / name).chmod(0o644)  # whatever the umask is
    (source / "link").symlink_to("package/inner.py")
    share_tree(source, shared)
    assert snapshot(shared) == snapshot(source)
    assert (shared / "module.py").samefile(source / "module.py")
    before = snapshot(source)
    (shared / "package/inner.py").unlink()
    (shared / "package/new.py").write_text("new")
    (tmp_path / "other").write_text("other")
    (tmp_path / "other").replace(shared / "module.py")
    assert snapshot(source) == before


def test_what_only_its_owner_may_read_or_run_is_copied(tmp_path: Path) -> None:
    """A guest who is another user than the owner would otherwise lack files that a copy gave it."""
    source = tmp_path / "source"
    source.mkdir()
    for name, mode in (("secret", 0o600), ("program", 0o744), ("plain", 0o644), ("shared program", 0o755)):
        (source / name).write_text(name)
        (source / name).chmod(mode)
    share_tree(source, tmp_path / "shared")
    same = {path.name for path in (tmp_path / "shared").iterdir() if path.samefile(source / path.name)}
    assert same == {"plain", "shared program"}
    assert (tmp_path / "shared" / "program").read_text() == "program"
