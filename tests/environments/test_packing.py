"""Folders in one file, taken elsewhere and unpacked there."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.environments.packing import pack_folder, unpack_folder
from groundup.trees.archives import zstd
from groundup.trees.digest import tree_digest


def packed(place: Path, *members: tarfile.TarInfo) -> Path:
    """Write an archive of members without content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"\0" * member.size))
    place.write_bytes(zstd.compress(buffer.getvalue()))
    return place


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    """Return a member."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, target
    return made


def test_a_folder_comes_out_as_it_went_in(tmp_path: Path) -> None:
    """Modes, times, links, second names of a file; without folders that are left out, but with files so called."""
    tree = tmp_path / "tree"
    (tree / "a" / "__pycache__").mkdir(parents=True)
    (tree / "a" / "__pycache__" / "x.pyc").write_bytes(b"x")
    (tree / "b").mkdir()
    (tree / "b" / "__pycache__").write_text("a file")
    (tree / "run").write_text("1")
    (tree / "run").chmod(0o755)
    (tree / "second").hardlink_to(tree / "run")
    (tree / "link").symlink_to("run")
    os.utime(tree / "run", (1000, 1000))
    pack_folder(tree, tmp_path / "packed", ["__pycache__"])
    unpack_folder(tmp_path / "packed", tmp_path / "out", None)
    out = tmp_path / "out"
    names = sorted(str(path.relative_to(out)) for path in out.rglob("*"))
    assert names == ["a", "a/__pycache__", "b", "b/__pycache__", "link", "run", "second"]
    assert (out / "second").read_text() == "1"
    assert (out / "run").stat().st_mode & 0o777 == 0o755
    assert (out / "run").stat().st_mtime == 1000
    assert str((out / "link").readlink()) == "run"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "packed", "tree"]
    (tree / "a" / "__pycache__" / "x.pyc").unlink()
    unpack_folder(tmp_path / "packed", tmp_path / "again", tree_digest(tree).digest)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([member("../up")], "../up would lie outside"),
        ([member("/up")], "/up would lie outside"),
        ([member("a/../../up")], "a/../../up would lie outside"),
        ([member("l", tarfile.SYMTYPE, ".."), member("l/up")], "l/up would lie outside"),
        ([member("fifo", tarfile.FIFOTYPE)], "fifo is in no layer"),
        ([member("a"), member("a")], ""),
    ],
)
def test_what_is_in_no_layer_is_refused(tmp_path: Path, members: list[tarfile.TarInfo], says: str) -> None:
    """Nothing is written outside, whatever a driver sends."""
    (tmp_path / "in").mkdir()
    with pytest.raises(InfrastructureError, match="a folder was damaged on its way: ") as caught:
        unpack_folder(packed(tmp_path / "in" / "packed", *members), tmp_path / "in" / "out", None)
    assert says in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_was_changed_or_cut_on_its_way_is_refused(tmp_path: Path) -> None:
    """By its digest, or because it cannot be read."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a").write_bytes(os.urandom(2000))
    pack_folder(tmp_path / "tree", tmp_path / "packed")
    with pytest.raises(InfrastructureError) as caught:
        unpack_folder(tmp_path / "packed", tmp_path / "out", f"sha256:{'0' * 64}")
    assert str(caught.value) == "a folder was changed on its way: its digest is another one"
    cut = (tmp_path / "packed").read_bytes()[:-40]
    (tmp_path / "packed").write_bytes(cut)
    with pytest.raises(InfrastructureError, match="a folder was damaged on its way"):
        unpack_folder(tmp_path / "packed", tmp_path / "once more", None)
