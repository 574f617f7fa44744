"""Diffs that restore."""

from hypothesis import given
from hypothesis import strategies as st

from groundup.suites.dibench.patches import apply_to_file, parse_patch
from groundup_factory.instances.making import file_diff

LINES = st.lists(st.sampled_from([b"a\n", b"b\r\n", b"  c\n", b"\n", b"- d\n", b"+ e\n", b"@@ x\n"]), max_size=12)
TEXTS = st.builds(lambda lines, end: b"".join(lines) + end, LINES, st.sampled_from([b"", b"tail"]))


@given(TEXTS, TEXTS)
def test_a_diff_turns_the_old_file_into_the_new_one(old: bytes, new: bytes) -> None:
    """Whatever ends the lines and the files, what is written is read back and gives the very bytes."""
    diff = file_diff("a/b.toml", old, new)

    if old == new:
        assert diff == b""
    else:
        (patch,) = parse_patch(diff)
        assert (patch.old, patch.new) == ("a/b.toml", "a/b.toml")
        assert apply_to_file(patch, old) == new


@given(st.sampled_from(["utf-16-le", "utf-16-be"]), st.text(st.sampled_from("aßé中\n\r"), max_size=12))
def test_a_file_in_utf_16_takes_a_diff_of_its_text(codec: str, more: str) -> None:
    """Its diff is text that a model can write, and gives the very bytes back."""
    mark = "\ufeff".encode(codec)
    old, new = (mark + f"<Project>\r\n{text}</Project>\r\n".encode(codec) for text in ("", f"  <A/>{more}\r\n"))
    diff = file_diff("A.csproj", old, new)
    assert "+  <A/>" in diff.decode()
    assert apply_to_file(parse_patch(diff)[0], old) == new
