"""A report for a terminal."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from groundup.reports.views import View

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_STYLES = {
    "solved": "green",
    "tampered": "bold red",
    "infrastructure": "yellow",
    "not attempted": "dim",
    "owed": "dim",
}


def show(views: Iterable[View], console: "Console") -> None:
    """Print *views* as tables."""
    for view in views:
        for part in _parts(view):
            console.print(part)
        console.print()


def _parts(view: View) -> Iterator["RenderableType"]:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    yield Text(view.title, style="bold")
    for line in view.above:
        yield Text(line, style="dim")
    if view.columns:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for number, column in enumerate(view.columns):
            table.add_column(column, overflow="fold", no_wrap=number == 0)
        for row in view.rows:
            table.add_row(*(Text(cell, style=_STYLES.get(cell.removesuffix(" (cached)"), "")) for cell in row))
        yield table
    for line in view.below:
        yield Text(line, style="dim")
