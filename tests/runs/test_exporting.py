"""`runs.exporting`: diffs that make of the seeds what was handed in, for any bytes."""

from hypothesis import given
from hypothesis import strategies as st

from groundup.runs.exporting import unified_diff
from groundup.suites.dibench.patches import apply_to_file, parse_patch

# A last line that ends in a lone carriage return is read as one with a line end, as other readers of diffs do.
LINES = st.lists(st.binary(max_size=8), max_size=12).map(b"\n".join).filter(lambda data: not data.endswith(b"\r"))


@given(LINES, LINES)
def test_a_diff_makes_the_new_of_the_old(old: bytes, new: bytes) -> None:
    """Whatever the bytes, with or without an end of the last line, the patch makes exactly the new content."""
    diff = unified_diff("folder/file", old, new).encode("latin-1")
    if old == new:
        assert diff == b""
        return
    (patch,) = parse_patch(diff)
    assert (patch.old, patch.new) == ("folder/file", "folder/file")
    assert apply_to_file(patch, old) == new


@given(LINES.filter(bool))
def test_a_new_file_has_no_old_one(new: bytes) -> None:
    """It stands against nothing."""
    (patch,) = parse_patch(unified_diff("file", None, new).encode("latin-1"))
    assert patch.old is None
    assert apply_to_file(patch, None) == new
