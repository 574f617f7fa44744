"""A repository's files."""

import hashlib
from pathlib import Path

from groundup.workflows.tree import FolderTree, InFolder, WithFile, text_of
from tests.workflows.made import MadeTree


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


def test_a_hash_is_the_one_that_github_makes(tmp_path: Path) -> None:
    """Of the digests of all files that match, by path; what is too large to read counts as empty."""
    (tmp_path / "b").write_bytes(b"two")
    (tmp_path / "a").write_bytes(b"one")
    digests = (hashlib.sha256(text).digest() for text in (b"one", b"two"))
    for name, size in (("read", 2**24), ("unread", 2**24 + 1)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    tree = FolderTree(tmp_path)
    assert len(tree.read("read") or b"") == 2**24
    assert tree.hash_files(("unread",)) == hashlib.sha256(hashlib.sha256().digest()).hexdigest()
    assert tree.hash_files(("?",)) == hashlib.sha256(b"".join(digests)).hexdigest()


def test_repositories_that_a_job_has_otherwise() -> None:
    """With a file that it writes, and below a folder into which it checks out."""
    tree = MadeTree({"a": "1", "sub/b": "2"})
    written = WithFile(tree, "a", b"new")
    assert (written.paths(), written.read("a"), written.read("sub/b")) == (tree.paths(), b"new", b"2")
    assert WithFile(tree, "c", b"3").paths() == tree.paths() | {"c"}
    below = InFolder(tree, "place")
    assert below.paths() == {"place/a", "place/sub/b"}
    assert [below.read(path) for path in ("place/a", "a", "place", "placed/a", "place/c")] == [
        b"1", None, None, None, None,
    ]  # fmt: skip
