"""A repository's files."""

from pathlib import Path

from groundup.workflows.tree import FolderTree, text_of


def test_nothing_outside_is_read(tmp_path: Path) -> None:
    """Paths and links that lead out of the repository read as missing."""
    (tmp_path / "secret").write_text("x")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "file").write_text("y")
    files = FolderTree(root)
    assert files.read("file") == b"y"
    assert files.read("../secret") is None
    assert files.read("link") is None
    assert files.read("absent") is None
    assert files.read(".") is None


def test_hashes_follow_patterns(tmp_path: Path) -> None:
    """A pattern takes files in at every depth that it names; nothing matching is an empty text."""
    for path in ("a.lock", "sub/deep/b.lock", "c.txt", ".git/d.lock"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    files = FolderTree(tmp_path)
    assert files.hash_files(("*.none",)) == ""
    top, everywhere = files.hash_files(("*.lock",)), files.hash_files(("**/*.lock",))
    assert len({top, everywhere, files.hash_files(("**/*.lock", "!sub/**"))}) == 2
    (tmp_path / "a.lock").write_text("changed")
    assert files.hash_files(("*.lock",)) != top


def test_what_is_too_large_for_a_script_is_no_text(tmp_path: Path) -> None:
    """A file of megabytes can be hashed and read, but no pattern walks through it; overlong lines are cut."""
    (tmp_path / "large").write_bytes(b"x\n" * 1_000_000)
    (tmp_path / "long").write_bytes(b"x" * 100_000 + b"\ny")
    tree = FolderTree(tmp_path)
    assert tree.read("large") is not None
    assert text_of(tree, "large") is None
    assert [len(line) for line in (text_of(tree, "long") or "").splitlines()] == [20_000, 1]
