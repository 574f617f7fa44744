"""Where the commands of a script end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.workflows.commands import needed_programs, simple_commands
from groundup.workflows.shell import pieces, substituted


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a && b || c; d | e & f", [("a", "&&"), ("b", "||"), ("c", ";"), ("d", "|"), ("e", "&"), ("f", "")]),
        ("echo 'a; b' \"c && d\" # e; f\ng", [("echo 'a; b' \"c && d\"", "\n"), ("g", "")]),
        ("x 2>&1 >& y", [("x 2>&1 >& y", "")]),
        ("a <<'EOF'\ncargo test; b\nEOF\nc", [("a", "\n"), ("c", "")]),
        ("a \\\n  b", [("a  b", "")]),
        ("v=$(a | b; c) d", [("v=$(a | b; c) d", "")]),
        ("echo it's\nnpm test", [("echo it's", "\n"), ("npm test", "")]),
        ('echo "two\nlines; still"', [('echo "two\nlines; still"', "")]),
        ("a#b; # c", [("a#b", ";")]),
        (":: a comment\nREM another\nb", [("b", "")]),
    ],
)
def test_operators_end_commands_and_quotes_hide_them(script: str, expected: list[tuple[str, str]]) -> None:
    """What is quoted, commented or in a here-document is text."""
    assert [tuple(piece) for piece in pieces(script)] == expected


def test_scripts_within_scripts_are_found() -> None:
    """`$(...)` and backticks, within double quotes too, but not within single ones."""
    assert list(substituted("a \"$(b $(c))\" `d` '$(e)'")) == ["b $(c)", "d"]


def test_a_script_that_is_a_word_is_read() -> None:
    """`bash -c` and a coverage tool that is given a command line run what the word says."""
    assert list(simple_commands('bash -c "cd x && pytest"')) == [["cd", "x"], ["pytest"]]
    assert list(simple_commands('dotnet-coverage collect -o x "dotnet test"')) == [["dotnet", "test"]]


@given(st.text("ab'\"`$(){}#<&|;\\\n -E", max_size=60))
def test_any_text_is_taken_apart(script: str) -> None:
    """No script raises an error, and nothing is made up: each piece holds characters of the script only."""
    for piece in pieces(script):
        assert set(piece.text) <= set(script) | {" "}
    assert all(char not in program for program in needed_programs(script) for char in "/\\\\")
