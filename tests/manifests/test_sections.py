"""Lines and lists around declarations: what goes with them, and what stays."""

import pytest

from groundup.manifests.editing import Edit, Span, Text, apply
from groundup.manifests.sections import (
    deletions,
    inserted_lines,
    rearranged,
    whole_lines,
    with_blank_lines_below,
    with_touching_comments,
)


def source(text: str) -> Text:
    """Return a file."""
    return Text.decode(text.encode(), "x")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nX\nb\n", "X\n"),
        ("a\n  X # y\nb\n", "  X # y\n"),
        ("a\nX\nX\nb", "X\nX\n"),
        ("X", "X"),
        ("a\r\nX\r\nb", "X\r\n"),
    ],
)
def test_the_lines_that_a_declaration_touches(text: str, lines: str) -> None:
    """With their ends, and none below where it ends at a line's end."""
    start, end = text.index("X"), text.rindex("X") + 1
    assert text[slice(*whole_lines(source(text), Span(start, end)))] == lines
    if "\nb" in text:
        assert text[slice(*whole_lines(source(text), Span(start, text.rindex("\nb") + 1)))] == lines
    at = Span(start, start)
    assert text[slice(*whole_lines(source(text), at))] == lines.splitlines(keepends=True)[0]


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("a\n# one\n  # two\nX\n# three\nb\n", "# one\n  # two\nX\n# three\n"),
        ("# one\nX\n", "# one\nX\n"),
        ("# one\n\nX\n\n# two\n", "X\n"),
        ("X\n# about the header\n[b]\n", "X\n"),
        ("X\n# about the next\n\n[b]\n", "X\n# about the next\n"),
        ("X\n# last", "X\n# last"),
        ("X", "X"),
        ("a # no\nX\nb # no\n", "X\n"),
    ],
)
def test_comments_go_with_what_they_touch(text: str, taken: str) -> None:
    """Above and below; what stands directly above a header is about that."""
    lines = whole_lines(source(text), Span(text.index("X"), text.index("X") + 1))
    assert text[slice(*with_touching_comments(source(text), lines))] == taken


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("X\n\n  \nb\n", "X\n\n  \n"),
        ("X\n\n", "X\n\n"),
        ("X\n", "X\n"),
        ("X", "X"),
        ("X\nb\n\n", "X\n"),
        ("X\n\t", "X\n\t"),
    ],
)
def test_blank_lines_go_with_what_stands_above(text: str, taken: str) -> None:
    """To the end of the file where nothing follows."""
    lines = whole_lines(source(text), Span(0, 1))
    assert text[slice(*with_blank_lines_below(source(text), lines))] == taken


def test_overlapping_deletions_are_one() -> None:
    """So are neighbours; each of the others is its own, in order."""
    spans = [Span(5, 6), Span(0, 2), Span(1, 4), Span(4, 4), Span(8, 9), Span(6, 7)]
    assert deletions(spans) == [Edit(0, 4), Edit(5, 7), Edit(8, 9)]
    assert deletions([Span(0, 9), Span(1, 2)]) == [Edit(0, 9)]
    assert deletions([]) == []


@pytest.mark.parametrize(
    ("text", "at", "made"),
    [
        ("a\nb\n", 2, "a\nx\ny\nb\n"),
        ("a\r\nb", 3, "a\r\nx\r\ny\r\nb"),
        ("a", 1, "a\nx\ny"),
        ("a\n", 2, "a\nx\ny\n"),
        ("", 0, "x\ny\n"),
    ],
)
def test_lines_are_put_in_as_the_file_ends_its_own(text: str, at: int, made: str) -> None:
    """A file without an end of its last line stays so."""
    assert apply(text, inserted_lines(source(text), at, ["x", "y"])) == made
    assert inserted_lines(source(text), at, []) == []


@pytest.mark.parametrize(
    ("text", "gone", "new", "made"),
    [
        ('["a", "b", "c"]', "b", "", '["a", "c"]'),
        ('["a", "b", "c"]', "c", "", '["a", "b"]'),
        ('["a", "b",]', "b", "", '["a",]'),
        ('["a"]', "a", "", "[]"),
        ('["a"]', "a", "x", '["x"]'),
        ('["a", "b"]', "", "xy", '["a", "b", "x", "y"]'),
        ('["a",]', "", "x", '["a", "x",]'),
        ("[]", "", "xy", '[\n    "x",\n    "y",\n]'),
        ('[\n  "a", # one\n  # two\n  "b", # three\n]', "b", "", '[\n  "a", # one\n  # two\n]'),
        ('[\n  "a", # one\n  # two\n  "b"\n]', "b", "x", '[\n  "a", # one\n  "x"\n  # two\n]'),
        ('[\n  # zero\n  "a",\n  "b"\n]', "a", "", '[\n  # zero\n  "b"\n]'),
        ('["a" # one\n, "b"]', "", "x", '["a" # one\n, "b", "x"]'),
        ('["a", "b" # c\n]', "", "x", '["a", "b", # c\n    "x"\n]'),
        ('["a", # one\n"b"]', "a", "", '[\n"b"]'),
    ],
)
def test_lists_stay_as_they_are_laid_out(text: str, gone: str, new: str, made: str) -> None:
    """Commas, comments and indents, to the character."""
    at = {
        name: Span(text.index(f'"{name}"'), text.index(f'"{name}"') + 3) for name in "abc" if f'"{name}"' in text
    }
    edit = rearranged(
        source(text),
        Span(1, len(text) - 1),
        [*at.values()],
        [at[name] for name in gone],
        [f'"{name}"' for name in new],
    )
    assert apply(text, [edit]) == made
