"""Where words go, and in which characters."""

import io
import json
import sys

import pytest
from pydantic import BaseModel

from groundup.cli.console import (
    PIPED_WIDTH,
    is_unicode,
    print_document,
    print_table,
    replace_what_cannot_be_written,
    say,
    tables,
)


def written_in(encoding: str) -> io.TextIOWrapper:
    """Return a stream that takes characters of *encoding* alone."""
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def bytes_of(stream: io.TextIOWrapper) -> bytes:
    """Return what was written to *stream*."""
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("text", "shown"),
    [("one", "one\n"), ("one\ntwo\n", "one\ntwo\n"), ("a\x1b[31mb\ttab", "a\\x1b[31mb\\ttab\n"), ("", "\n")],
)
def test_people_are_told_on_standard_error(capsys: pytest.CaptureFixture[str], text: str, shown: str) -> None:
    """Line by line, with what would move a terminal's cursor written out."""
    say(text)
    assert capsys.readouterr() == ("", shown)


@pytest.mark.parametrize(
    ("encoding", "is_it"),
    [("utf-8", True), ("UTF8", True), ("cp1252", False), ("ascii", False), ("latin-1", False), ("UTF-16", True)],
)
def test_unicode_has_several_names(encoding: str, is_it: bool) -> None:
    """With and without hyphens, in any case."""
    assert is_unicode(written_in(encoding)) is is_it


class Named(BaseModel):
    """A document."""

    name: str


@pytest.mark.parametrize(
    ("encoding", "name", "written"), [("utf-8", "ü", "ü"), ("latin-1", "ü", "\\u00fc"), ("ascii", "u", "u")]
)
def test_a_document_is_json_in_any_encoding(
    monkeypatch: pytest.MonkeyPatch, encoding: str, name: str, written: str
) -> None:
    """Of a record or of a dictionary, with a line for each key."""
    documents: list[tuple[BaseModel | dict[str, object], str]] = [
        (Named(name=name), written),
        ({"name": name}, json.dumps(name)[1:-1]),
    ]
    for document, shown in documents:
        stream = written_in(encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        print_document(document)
        assert bytes_of(stream).decode(encoding) == f'{{\n "name": "{shown}"\n}}\n'


def test_drawn_lines_become_plain_where_they_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as its like, and everything else as a question mark; where all can be written nothing changes."""
    for encoding, shown in (("ascii", "-|||+#->?"), ("utf-8", "─│├┤┼█·→ü")):
        stream = written_in(encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        replace_what_cannot_be_written()
        stream.write("─│├┤┼█·→ü")
        assert bytes_of(stream).decode(encoding) == shown


@pytest.mark.parametrize(("columns", "width"), [("", PIPED_WIDTH), ("90", 90), ("39", 40), ("41", 41)])
def test_tables_are_as_wide_as_columns_says(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    """At least forty characters, and 120 where nothing is said."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "__stdout__", None)  # no terminal, wherever the test runs
    assert tables().width == width


def test_a_table_has_a_title_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns that can be spared go first where it is too wide; no cell moves a cursor."""
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("a\x1b[2J", "b" * 20, "c" * 30)]
    print_table("Things", ("one", "two", "three"), rows, spare=("three", "two"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].rstrip() == "Things"
    assert "ccc" not in "".join(lines)
    assert [line.split() for line in lines if "b" * 20 in line] == [["a\\x1b[2J", "b" * 20]]
    print_table("", ("one",), [("x",)])
    assert capsys.readouterr().out.splitlines()[0].strip() == "one"
