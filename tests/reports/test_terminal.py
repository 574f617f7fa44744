"""Tables at any width: nothing is lost, nothing is broken that people copy, and rows stay short."""

import io
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from groundup.reports.formats import ShownReport
from groundup.reports.terminal import Bar, bar_lines, print_rows
from tests.reports.made import report_of, run_of

WHY = "environment: the package index at https://packages.example/simple/with/a/very/long/path/to/it is down"


def printed(
    width: int, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], spare: tuple[str, ...] = ()
) -> str:
    """Return the lines of a table."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_rows(console, columns, rows, spare=spare)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_fits_stands_in_rows() -> None:
    """A table that is narrow enough is plain."""
    assert printed(40, ("task", "score"), [("alpha", "1/2"), ("b", "-")]).splitlines() == [
        " task    score",
        " ─────────────",
        " alpha   1/2",
        " b       -",
    ]


def test_reasons_stand_below_their_rows_and_addresses_stay_whole() -> None:
    """At 80 columns a long reason takes lines of its own; an address in it can be copied."""
    ended = printed(
        80, ("task", "score", "verdict", "why"), [("alpha", "-", "infrastructure", WHY), ("b",) + ("",) * 3]
    )
    assert "https://packages.example/simple/with/a/very/long/path/to/it" in ended
    assert len(ended.splitlines()) <= 6
    assert ended.splitlines()[2].split() == ["alpha", "-", "infrastructure"]


def test_what_stands_below_a_row_says_whose_it_is() -> None:
    """Of two runs side by side, one has room in the row; a last column alone needs no name."""
    rows = [("score", "99.9 % (1.998/2 tasks) [1.3 %, >99.9 %]", "50.0 % (1/2 tasks) [10.0 %, 90.0 %]")]
    rows.append(("points", "50.0 % (3/6 points)", "1"))
    lines = printed(70, ("figure", "first", "second"), rows).splitlines()
    assert "     first: 99.9 % (1.998/2 tasks) [1.3 %, >99.9 %]" in lines
    why = printed(40, ("task", "why"), [("alpha", "tests: " + "word " * 9), ("b", "none of them ended")])
    assert "     tests: word word word word word" in why.splitlines()


def test_a_word_stays_whole_while_another_column_can_be_folded() -> None:
    """The table of `compare` on 80 columns: the difference is folded, the name of the figure is not."""
    columns = ("figure", "tasks", "base", "other", "difference", "p", "better", "worse", "equal")
    rows = [("of_declared", "1", "100.0 %", "95.9 %", "-100.0 points", "-", "0", "1", "0")]
    text = printed(80, columns, rows)
    assert "of_declared" in text
    assert max(map(len, text.splitlines())) <= 80


def test_columns_of_least_worth_are_left_out_and_named() -> None:
    """What is not shown is reported, and what there is room for is shown."""
    columns = ("task", "a", "b", "c")
    rows = [("alpha", "short", "x" * 60, "also short")]
    ended = printed(40, columns, rows, spare=("c", "b", "a"))
    assert ended.splitlines()[0].split() == ["task", "a", "c"]
    assert ended.splitlines()[-1].startswith("not shown at this width: b")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_many_runs_side_by_side_fit(width: int) -> None:
    """Names of runs are broken in the heading, where they can be."""
    runs = [f"nl2repobench-oracle-20260101-12000{number}" for number in range(4)]
    ended = printed(width, ("task", *runs), [("sqlparse", *["99.8 % (460/461)"] * 4)])
    assert max(map(len, ended.splitlines())) <= width
    assert ended.count("99.8 % (460/461)") == 4


words = st.text(st.characters(categories=("L", "N"), max_codepoint=0x24F), min_size=1, max_size=30)


@settings(max_examples=25, deadline=None)
@given(st.integers(40, 130), st.lists(st.lists(words, min_size=4, max_size=4).map(tuple), max_size=5))
def test_nothing_is_lost(width: int, rows: list[tuple[str, ...]]) -> None:
    """Every cell can be read at every width, though perhaps over several lines."""
    ended = printed(width, ("one", "two", "three", "four"), rows)
    folded = "".join(ended.split())
    for row in rows:
        for cell in row:
            assert all(character in folded for character in cell)
            assert cell in ended or len(cell) > 6


def test_bars_show_values_and_intervals() -> None:
    """At 80 columns: filled up to the value, the interval over it; nothing is wider than the terminal."""
    lines = bar_lines([Bar("50.0 % a", 0.5, 0.25, 0.75), Bar("b" * 99, 1.0), Bar("0.0 % c", 0.0, 0.0, 1.0)], 80)
    assert lines[0] == " " + "█" * 12 + "├" + "─" * 12 + "┼" + "─" * 12 + "┤" + " " * 11 + "  50.0 % a"
    assert lines[1] == " " + "█" * 50 + "  " + "b" * 24 + "…"
    assert lines[2].startswith(" ┼" + "─" * 48 + "┤")
    assert lines[3] == " 0 %" + " " * 42 + "100 %"
    assert max(map(len, lines)) <= 80
    assert max(len(line) for line in bar_lines([Bar("x" * 50, 0.3)], 40)) <= 40


def test_only_a_terminal_has_bars() -> None:
    """Two runs side by side have them; Markdown and HTML have plots or tables alone."""
    made = ShownReport.of(report_of([run_of("a", {"x": [(1, 2)]}), run_of("b", {"x": [(2, 2)]})]))
    assert "█" * 30 in str(made)
    assert "█" not in made.markdown() + made.written("html").decode() + made.written("latex").decode()
