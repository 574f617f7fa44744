"""Removing hostile trees."""

import os
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError
from groundup.trees.walking import remove_tree


def test_closed_folders_go(tmp_path: Path) -> None:
    """A folder of mode 000, as overlays and hostile guests leave them, is removed with what is in it."""
    (tmp_path / "tree" / "work" / "work").mkdir(parents=True)
    (tmp_path / "tree" / "work" / "work" / "file").write_text("x")
    (tmp_path / "tree" / "work" / "work").chmod(0)
    (tmp_path / "tree" / "work").chmod(0)
    (tmp_path / "tree").chmod(0)
    remove_tree(tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    """What a link points at stays, whether the link is inside or is the tree itself."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "tree")
    remove_tree(tmp_path / "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept"]
    assert (tmp_path / "kept" / "file").read_text() == "x"


def test_depth_costs_nothing(tmp_path: Path) -> None:
    """A path far longer than the system accepts goes as well."""
    root = tmp_path / "tree"
    root.mkdir()
    at = os.open(root, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d" * 20, dir_fd=at)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    remove_tree(root)
    assert not root.exists()


def test_nothing_is_nothing_to_remove(tmp_path: Path) -> None:
    """Removing twice is no error."""
    remove_tree(tmp_path / "absent")


def test_the_root_is_never_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever path a fault hands over."""
    monkeypatch.setattr(os, "open", None)  # nothing is even opened
    with pytest.raises(InfrastructureError, match="does not remove"):
        remove_tree(Path("/"))
