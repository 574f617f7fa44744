"""Lossless edits."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.manifests.editing import Edit, Text, apply, edited
from groundup.manifests.records import ManifestError


@given(
    st.binary(max_size=200).filter(lambda data: not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)))
)
def test_any_bytes_survive(data: bytes) -> None:
    """Decoding and encoding gives the same bytes, whatever they are."""
    source = Text.decode(data, "x")
    assert edited(source, []) == data


@given(st.text(max_size=80), st.sampled_from([codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE]))
def test_encodings_with_a_bom_survive(text: str, bom: bytes) -> None:
    """A BOM says the encoding, and stays."""
    encoding = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}.get(bom, "utf-8")
    data = bom + text.encode(encoding)
    source = Text.decode(data, "x")
    assert source.text == text
    assert edited(source, [Edit(0, 0, "é")]) == bom + ("é" + text).encode(encoding)


def test_broken_utf_16_is_refused() -> None:
    """Half a character behind a UTF-16 BOM is one clear error."""
    with pytest.raises(ManifestError, match="a/b: is not valid utf-16-le text"):
        Text.decode(codecs.BOM_UTF16_LE + b"a", "a/b")


def test_edits_in_any_order() -> None:
    """Edits are done by place; insertions at one place keep their order; an overlap is refused."""
    assert apply("abcdef", [Edit(4, 5, "X"), Edit(1, 2), Edit(3, 3, "1"), Edit(3, 3, "2")]) == "ac12dXf"
    with pytest.raises(ValueError, match="overlap"):
        apply("abc", [Edit(0, 2), Edit(1, 3)])


def test_lines() -> None:
    """Offsets are reported as lines, from 1, in files of both line ends."""
    source = Text.decode(b"a\r\nbc\r\n\r\nd", "x")
    assert [source.line_of(offset) for offset in (0, 3, 7, 9)] == [1, 2, 3, 4]
    assert source.newline == "\r\n"
    assert source.text[source.line_start(4) : source.line_end(4)] == "bc\r\n"
    assert source.line_end(9) == 10


@pytest.mark.parametrize(("text", "offset"), [("a, \n# why\n", 1), ("# only\n", 0), ("# only\na\n # b", 7)])
def test_the_last_character_that_says_something(text: str, offset: int) -> None:
    """An error is placed there: no blank, nothing of a comment's line, and the start where all is comment."""
    assert Text.decode(text.encode(), "x").before(len(text)) == offset
