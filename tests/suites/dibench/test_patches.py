"""Unified diffs: read, refused, applied where Git applies them."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.suites.dibench.patches import PatchError, apply_to_file, parse_patch
from tests.suites.dibench.made import diff


def applied(patch: str | bytes, content: bytes | None) -> bytes | None:
    """Apply a patch of one file."""
    (one,) = parse_patch(patch.encode() if isinstance(patch, str) else patch)
    return apply_to_file(one, content)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", " d\n", "e\n"]), max_size=12).map("".join)


@settings(deadline=None)
@given(LINES, LINES, st.booleans())
def test_a_diff_leads_from_one_text_to_the_other(old: str, new: str, ended: bool) -> None:
    """Whatever difflib writes is applied, with and without an end of the last line."""
    if not ended:
        old, new = old.rstrip("\n"), new.rstrip("\n")
    if old != new:
        assert applied(diff({"f": old}, {"f": new}), old.encode()) == new.encode()


def test_a_hunk_moves_to_where_its_lines_stand() -> None:
    """Line numbers may be off: the nearest place that fits is taken."""
    patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n x\n+new\n y\n"
    assert applied(patch, b"x\n1\n2\n3\nx\ny\nx\ny\n") == b"x\n1\n2\n3\nx\nnew\ny\nx\ny\n"


@pytest.mark.parametrize("line", [10**18 - 1, 10**9, 0])
def test_a_hunk_may_say_any_line(line: int) -> None:
    """A prediction says what it likes, and is judged at once all the same."""
    patch = f"--- a/f\n+++ b/f\n@@ -{line} +1,2 @@\n x\n+new\n"
    assert applied(patch, b"x\n1\nx\n2\n") == (b"x\n1\nx\nnew\n2\n" if line else b"x\nnew\n1\nx\n2\n")
    with pytest.raises(PatchError, match="does not fit"):
        applied(patch, b"1\n2\n")


def test_lines_that_are_put_in_before_the_first_go_to_the_top() -> None:
    """Where a hunk before stands far above what it says, so does the next one."""
    patch = "--- a/f\n+++ b/f\n@@ -90 +90,2 @@\n a\n+b\n@@ -80,0 +82 @@\n+c\n"
    assert applied(patch, b"a\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n") == (
        b"c\na\nb\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
    )


def test_blanks_of_context_may_differ() -> None:
    """Context that differs in blanks only fits, and stays as the file has it, CRLF included."""
    patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n x  y\n+new\n z\n"
    assert applied(patch, b"  x y\r\nz\r\n") == b"  x y\r\nnew\nz\r\n"


def test_outer_context_may_be_wrong() -> None:
    """As the Unix program does, up to five outermost lines of context are given up."""
    patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n wrong\n right\n+new\n also wrong\n"
    assert applied(patch, b"1\nright\n2\n") == b"1\nright\nnew\n2\n"


def test_what_stands_nowhere_does_not_fit() -> None:
    """A removal of lines that are not there is refused."""
    with pytest.raises(PatchError, match="hunk 1 does not fit f"):
        applied("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n", b"z\n")


def test_files_are_made_and_removed() -> None:
    """/dev/null on a side means a file that was not, or will not be, there."""
    assert applied("--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+x\n+y\n", None) == b"x\ny\n"
    assert applied("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", b"x\n") is None
    with pytest.raises(PatchError, match="exists already"):
        applied("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", b"there\n")


@pytest.mark.parametrize("path", ["../f", "/etc/passwd", "a/../../f", "x/../../../f"])
def test_a_path_out_of_the_repository_is_refused(path: str) -> None:
    """Such a patch is refused as a whole."""
    with pytest.raises(PatchError, match="leads out of the repository"):
        parse_patch(f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x\n+y\n".encode())
    with pytest.raises(PatchError, match="leads out of the repository"):
        parse_patch(f'--- "{path}"\n+++ "{path}"\n@@ -1 +1 @@\n-x\n+y\n'.encode())


@pytest.mark.parametrize(
    "text",
    [
        "here are the dependencies: numpy\n",
        "@@ -1 +1 @@\n-x\n+y\n",
        "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n x\n",
        f"--- a/f\n+++ b/f\n@@ -{'1' * 5000} +1 @@\n-x\n+y\n",
    ],
    ids=["prose", "no file", "cut off", "a line that no file has"],
)
def test_what_is_no_patch_is_said(text: str) -> None:
    """A prediction that is none is the submission's fault, and said so."""
    with pytest.raises(PatchError):
        parse_patch(text.encode())


def test_an_empty_patch_changes_nothing() -> None:
    """An empty prediction is a patch without files."""
    assert parse_patch(b"") == parse_patch(b"\n") == []


def test_quoted_names_and_lines_that_look_like_headers() -> None:
    """Git quotes unusual names; a removed line that starts with `-- ` is no header."""
    patch = b'--- "a/\\303\\244 b"\n+++ "b/\\303\\244 b"\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n x\n'
    (one,) = parse_patch(patch)
    assert one.new == "\u00e4 b"
    assert apply_to_file(one, b"-- old\nx\n") == b"++ new\nx\n"


@pytest.mark.needs("git")
@settings(deadline=None, max_examples=25)
@given(old=LINES, new=LINES, shift=st.integers(0, 3))
def test_the_same_as_git(old: str, new: str, shift: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where git applies a patch to a file with lines added on top, this does, with the same result."""
    if old == new:
        return
    folder = tmp_path_factory.mktemp("git")
    content = "".join(f"top {number}\n" for number in range(shift)) + old
    Path(folder, "f").write_text(content)
    patch = diff({"f": old}, {"f": new})
    command = ["git", "apply", "--allow-empty", "-"]
    result = subprocess.run(command, cwd=folder, input=patch.encode(), capture_output=True, check=False)
    if result.returncode == 0:
        assert applied(patch, content.encode()) == (
            Path(folder, "f").read_bytes() if Path(folder, "f").exists() else None
        )
