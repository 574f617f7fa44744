"""A repository's files as a job's plan reads them."""

from pathlib import Path

from groundup.grading.ci.files import RepositoryFiles
from groundup.grading.ci.records import job_of, translated


def test_nothing_outside_is_read(tmp_path: Path) -> None:
    """Paths and links that lead out of the repository read as missing."""
    (tmp_path / "secret").write_text("x")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "file").write_text("y")
    files = RepositoryFiles(root)
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
    files = RepositoryFiles(tmp_path)
    assert files.hash_files(("*.none",)) == ""
    top, everywhere = files.hash_files(("*.lock",)), files.hash_files(("**/*.lock",))
    assert len({top, everywhere, files.hash_files(("**/*.lock", "!sub/**"))}) == 2
    (tmp_path / "a.lock").write_text("changed")
    assert files.hash_files(("*.lock",)) != top


def test_acts_folders_become_the_steps() -> None:
    """Every path of act's own is replaced wherever it stands in a text, and others are left alone."""
    base = "/workspace/groundup-act-cache/0123456789abcdef"
    text = f"cd {base}/hostexecutor/lib && cat {base}/tmp/x '{base}/act/workflow/1.sh'"
    assert translated(text, "app") == (
        "cd /workspace/app/lib && cat /workspace/.runner/temp/x '/workspace/.runner/act/workflow/1.sh'"
    )
    assert translated("/workspace/groundup-act-cache/tool_cache/x", "app") == "/workspace/.runner/tools/x"
    assert translated("/workspace/other", "app") == "/workspace/other"
    assert job_of(f"{base}/hostexecutor") == "0123456789abcdef"
    assert job_of("/workspace") is None
