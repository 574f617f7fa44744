"""Where words go: documents and tables to standard output, everything else to standard error."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console


def say(text: str) -> None:
    """Tell a person something, on standard error."""
    from groundup.trees.limits import printable

    sys.stderr.write("\n".join(printable(line) for line in text.splitlines()) + "\n")
    sys.stderr.flush()


def print_document(document: "BaseModel | dict[str, object]") -> None:
    """Print the one JSON document of a command, on standard output."""
    import json

    text = json.dumps(document, indent=1) if isinstance(document, dict) else document.model_dump_json(indent=1)
    sys.stdout.write(text + "\n")


def forget_output() -> None:
    """Let what is still to be written go nowhere: nobody reads standard output any more."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    os.close(nowhere)


def tables() -> "Console":
    """Return the console for tables on standard output; without a terminal, lines are as long as they need."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 200, highlight=False, soft_wrap=False)


def print_table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print a plain table on standard output."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from groundup.trees.limits import printable

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", title=title or None, title_justify="left"
    )
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    tables().print(table)
