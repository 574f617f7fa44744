"""A report for a terminal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from groundup.reports.tables import print_rows, wrapped
from groundup.reports.views import View

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {
    "solved": "green",
    "tampered": "bold red",
    "infrastructure": "yellow",
    "not attempted": "dim",
    "made": "yellow",
    "owed": "dim",
}
_STYLES.update({f"{word} (cached)": style for word, style in tuple(_STYLES.items())})


def show(views: Iterable[View], console: "Console") -> None:
    """Print *views* as tables that fit the console."""
    from rich.text import Text

    def lines(texts: Iterable[str], style: str) -> None:
        for text in texts:
            for line in wrapped(text, console.width):
                console.print(Text(line, style=style), soft_wrap=True)

    for view in views:
        lines((view.title,), "bold")
        lines(view.above, "dim")
        if view.columns:
            console.print()
            print_rows(console, view.columns, view.rows, styles=_STYLES)
            console.print()
        lines(view.below, "dim")
        console.print()
