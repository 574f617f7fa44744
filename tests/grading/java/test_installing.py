"""What of a submission in Java decides what Maven resolves."""

from pathlib import Path

from groundup.grading.java.installing import project_files


def test_only_a_project_s_own_files_decide_what_is_resolved(tmp_path: Path) -> None:
    """Neither where a link leads, nor what is too large to be such a file, nor what lies among sources."""
    tree = tmp_path / "tree"
    for place in ("pom.xml", "part/pom.xml", "src/pom.xml", "target/pom.xml"):
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        (tree / place).write_text(f"<!-- {place} -->")
    (tmp_path / "elsewhere.xml").write_text("secret")
    for part in ("linked", "large", "folder"):
        (tree / part).mkdir()
    (tree / "linked/pom.xml").symlink_to(tmp_path / "elsewhere.xml")
    (tree / "large/pom.xml").write_bytes(bytes(1024 * 1024 + 1))
    (tree / "folder/pom.xml").mkdir()
    assert project_files(tree) == {
        "pom.xml": b"<!-- pom.xml -->",
        "part/pom.xml": b"<!-- part/pom.xml -->",
    }
