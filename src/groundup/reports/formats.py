"""A report as Markdown, as HTML and for a terminal."""

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from groundup.reports.tables import print_rows, wrapped
from groundup.reports.views import View

if TYPE_CHECKING:
    from rich.console import Console


def markdown(views: Iterable[View]) -> str:
    """Return *views* as one Markdown text."""
    return "\n\n".join(map(_text, views)) + "\n"


def _text(view: View) -> str:
    blocks = [f"## {_escaped(view.title)}"]
    blocks += [_escaped(line) for line in view.above]
    if view.columns:
        lines = [_row(view.columns), _row(("---",) * len(view.columns), escape=False)]
        blocks.append("\n".join([*lines, *(_row(row) for row in view.rows)]))
    blocks += [_escaped(line) for line in view.below]
    return "\n\n".join(blocks)


def _row(cells: tuple[str, ...], *, escape: bool = True) -> str:
    return "| " + " | ".join(_escaped(cell) if escape else cell for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Keep what a stranger's code wrote from being read as markup."""
    text = " ".join(text.split())
    for character in "\\`*_[]<>|#":
        text = text.replace(character, "\\" + character)
    return text


def html(views: Iterable[View]) -> str:
    """Return *views* as HTML without scripts or links; everything in it is escaped."""
    return "<div>\n" + "\n".join(map(_section, views)) + "\n</div>"


def _section(view: View) -> str:
    parts = [f"<h4>{escape(view.title)}</h4>", *(f"<p>{escape(line)}</p>" for line in view.above)]
    if view.columns:
        parts += [
            "<table>",
            _html_row("th", view.columns),
            *(_html_row("td", row) for row in view.rows),
            "</table>",
        ]
    return "\n".join([*parts, *(f"<p>{escape(line)}</p>" for line in view.below)])


def _html_row(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


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
