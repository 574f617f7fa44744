"""Where words go: documents and tables to standard output, everything else to standard error."""

import codecs
import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from groundup.reports.forms import Format

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console

    from groundup.reports.formats import ShownReport


UNFIT = 4
"""The exit code where something does not fit."""


def say(text: str) -> None:
    """Print *text* for people, on standard error."""
    sys.stderr.write("\n".join(_printable(tuple(text.splitlines()))) + "\n")
    sys.stderr.flush()


def unfinished_words(pending: int, again: str | None) -> str:
    """Say how many attempts have no verdict, and which command finishes them; *again* None: none does."""
    missing = "1 attempt has" if pending == 1 else f"{pending} attempts have"
    return f"{missing} no verdict{f'; finish with `{again}`' if again else ''}"


def print_document(document: "BaseModel | dict[str, object]") -> None:
    """Print the one JSON document of a command, on standard output."""
    import json

    text = json.dumps(document, indent=1) if isinstance(document, dict) else document.model_dump_json(indent=1)
    if not (text.isascii() or is_unicode(sys.stdout)):
        text = json.dumps(json.loads(text), indent=1)
    sys.stdout.write(text + "\n")


def is_unicode(stream: TextIO) -> bool:
    """Whether every character can be written to *stream*."""
    return (stream.encoding or "utf-8").lower().replace("-", "").startswith("utf")


def replace_what_cannot_be_written() -> None:
    """Let output in another encoding than UTF-8 have plain lines for drawn ones, and `?` for other characters."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not is_unicode(sys.stdout):
        codecs.register_error(_PLAINLY, _in_plain_characters)
        sys.stdout.reconfigure(errors=_PLAINLY)


_PLAINLY = "groundup.plainly"
_DRAWN = {"─": "-", "│": "|", "├": "|", "┤": "|", "┼": "+", "█": "#", "·": "-", "→": ">"}


def _in_plain_characters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_DRAWN.get(one, "?") for one in error.object[error.start : error.end]), error.end


def print_report(report: "ShownReport", wanted: Format) -> None:
    """Print *report* on standard output."""
    match wanted:
        case Format.JSON:
            print_document(report)
        case Format.MARKDOWN:
            sys.stdout.write(report.markdown())
        case Format.TABLE:
            from groundup.reports.formats import show

            show(report.views(), tables())


def replace_closed_streams() -> None:
    """Let what is printed go nowhere where its stream was closed before the start.

    Its number would else be given to the next file that is opened, which would be printed into.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 # to the end


def forget_output(stream: TextIO | None = None) -> None:
    """Drop what is still to be written to *stream*, standard output if none is named: nothing can be any more."""
    stream = stream or sys.__stdout__
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno() if stream else 1)
    os.close(nowhere)


PIPED_WIDTH = 120
"""Characters in a line of a table where there is no terminal and COLUMNS says nothing."""


def tables() -> "Console":
    """Return the console for tables on standard output, as wide as the terminal or as COLUMNS says."""
    import shutil

    from rich.console import Console

    columns, lines = shutil.get_terminal_size((PIPED_WIDTH, 24))
    # Without a height, too, rich takes a dumb terminal to be 80 columns wide, whatever is said.
    return Console(width=max(columns, 40), height=lines, highlight=False, soft_wrap=False)


def print_table(
    title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], spare: Sequence[str] = ()
) -> None:
    """Print a plain table on standard output; columns in *spare* are left out first where it is too wide."""
    from rich.text import Text

    from groundup.reports.terminal import print_rows

    console = tables()
    if title:
        console.print(Text(title, style="bold"), soft_wrap=True)
    print_rows(console, columns, [_printable(row) for row in rows], spare=spare)


def _printable(row: tuple[str, ...]) -> tuple[str, ...]:
    if all(map(str.isprintable, row)):
        return row
    from groundup.domain.names import printable  # heavy, and hardly ever needed

    return tuple(map(printable, row))
