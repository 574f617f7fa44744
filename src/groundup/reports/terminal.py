"""Tables for terminals, as wide as they are. Nothing is cut off: what is too wide for its row stands below it.

Owns layout alone; the caller decides what the cells hold.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_GAP = 3
_INDENT = 1
_BELOW = " " * 5
_SHORT = 13
"""A cell of so many characters or fewer stays in its row."""
_ROOM = 16
"""Less room than this is none for cells of different lengths."""
_LEAST = 6


class ColumnLayout(NamedTuple):
    """Where each column goes, by its number."""

    widths: Mapping[int, int]
    """Of the columns that stand side by side, in their order."""
    below: tuple[int, ...] = ()
    """Those whose cells stand below their row: all, or where the column has a width, those that exceed it."""
    left_out: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Of a whole line."""
        return _INDENT + sum(self.widths.values()) + _GAP * (len(self.widths) - 1)


def fitted(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, spare: Sequence[str] = ()
) -> ColumnLayout:
    """Decide on the layout for lines of *width*; columns in *spare* are left out first, in that order."""
    from rich.cells import cell_len

    cells = [max((cell_len(row[number]) for row in rows), default=0) for number in range(len(columns))]
    natural = {number: max(cells[number], cell_len(column)) for number, column in enumerate(columns)}
    found = ColumnLayout(natural)
    if found.width <= width:
        return found
    found = ColumnLayout(
        {number: max(cells[number], *map(len, _pieces(one))) for number, one in enumerate(columns)}
    )
    found = _thinned(found, [columns.index(name) for name in spare], width)
    while found.width > width and len(found.widths) > 1:
        widest = max(list(found.widths)[1:], key=lambda number: found.widths[number])
        if cells[widest] <= _SHORT:
            break
        left = width - _without(found, widest).width - _GAP
        fitting = [cell_len(row[widest]) for row in rows if cell_len(row[widest]) <= left]
        below = (*found.below, widest)
        wanted = max(*fitting, *map(len, _pieces(columns[widest])), 1)
        if left >= _ROOM and wanted < found.widths[widest]:  # what fits stays beside the others
            found = ColumnLayout({**found.widths, widest: wanted}, below, found.left_out)
        else:
            found = ColumnLayout(_without(found, widest).widths, below, found.left_out)
    words = {
        number: max(cell_len(word) for row in (columns, *rows) for word in row[number].split() or [""])
        for number in found.widths
    }
    return _narrowed(found, width, words)


class Bar(NamedTuple):
    """A share of 1 with its interval, to be drawn as a line."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


def bar_lines(bars: Sequence[Bar], width: int) -> list[str]:
    """Draw *bars* below each other, each `██├─┼─┤  label`, above a scale; no line is wider than *width*."""
    length = max(20, min(50, width - 30))
    room = max(8, width - length - 5)
    lines = []
    for bar in bars:
        label = bar.label if len(bar.label) <= room else bar.label[: room - 1] + "…"
        lines.append(f" {''.join(_cells(bar, length))}  {label}")
    return [*lines, f" 0 %{'100 %':>{length - 3}}"]


def _cells(bar: Bar, length: int) -> list[str]:
    """Return the characters of one bar: filled up to its value, its interval drawn over it."""
    end = round(bar.value * length)
    cells = ["█" if number < end else " " for number in range(length)]
    if bar.low is not None and bar.high is not None:
        left, right = (min(round(bound * length), length - 1) for bound in (bar.low, bar.high))
        cells[left : right + 1] = "─" * (right + 1 - left)
        cells[left], cells[right] = "├", "┤"
        cells[min(end, length - 1)] = "┼"
    return cells


def print_rows(
    console: "Console",
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    styles: Mapping[str, str] | None = None,
    spare: Sequence[str] = (),
) -> None:
    """Print a table. *styles* are for cells with these texts; a note names *spare* columns that are left out."""
    from rich.text import Text

    def put(text: Text) -> None:
        text.rstrip()
        console.print(text, soft_wrap=True)

    layout = fitted(columns, rows, console.width, spare)
    for line in _lines(columns, layout, {}, "bold"):
        put(line)
    put(Text(" " * _INDENT + "─" * (layout.width - _INDENT)))
    for row in rows:
        for line in _lines(row, layout, styles or {}, ""):
            put(line)
        for text, style in _spilled(columns, row, layout):
            for part in wrapped(text, console.width, _BELOW):
                put(Text(part, style=(styles or {}).get(style, "")))
    if layout.left_out:
        names = ", ".join(columns[number] for number in sorted(layout.left_out))
        for part in wrapped(f"not shown at this width: {names} (see --json)", console.width):
            put(Text(part, style="dim"))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Break *text* between words; a path or an address is never broken."""
    return textwrap.wrap(
        text,
        max(width, 20),
        initial_indent=indent,
        subsequent_indent=indent + "  " if indent else "",
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]


def _lines(cells: Sequence[str], layout: ColumnLayout, styles: Mapping[str, str], style: str) -> Iterator["Text"]:
    """Yield the lines of one row: its cells side by side, each as many lines as it needs."""
    from rich.cells import cell_len
    from rich.text import Text

    parts = {number: _folded(cells[number], width) for number, width in layout.widths.items()}
    parts.update({number: [""] for number in layout.below if number in parts and len(parts[number]) > 1})
    for number in range(max(map(len, parts.values()))):
        line = Text(" " * _INDENT)
        for place, (column, width) in enumerate(layout.widths.items()):
            text = parts[column][number] if number < len(parts[column]) else ""
            padding = " " * max(width - cell_len(text), 0)
            line.append(" " * _GAP if place else "")
            line.append(text, style=styles.get(cells[column], style))
            line.append(padding)
        yield line


def _folded(cell: str, width: int) -> list[str]:
    from rich.cells import cell_len

    return [cell] if cell_len(cell) <= width else textwrap.wrap(cell, width) or [""]


def _pieces(heading: str) -> list[str]:
    """Return the parts that a heading can be broken into."""
    return textwrap.wrap(heading, 1, break_long_words=False) or [""]


def _spilled(columns: Sequence[str], row: Sequence[str], layout: ColumnLayout) -> Iterator[tuple[str, str]]:
    """Yield what stands below a row, and the cell that it is, named by its column.

    Where only cells of the last column stand there, they name themselves.
    """
    from rich.cells import cell_len

    for number in sorted(layout.below):
        cell, width = row[number], layout.widths.get(number)
        if (width is None and cell) or (width is not None and cell_len(cell) > width):
            is_clear = width is not None and layout.below == (len(columns) - 1,)
            yield cell if is_clear else f"{columns[number]}: {cell}", cell


def _thinned(layout: ColumnLayout, spare: Sequence[int], width: int) -> ColumnLayout:
    """Leave out columns of *spare* until the rest fits, and take back those for which there is room after all."""
    gone: list[int] = []
    found = layout
    for number in spare:
        if found.width > width:
            gone.append(number)
            found = _without(found, number)
    for number in reversed(gone):
        kept = {
            column: wide for column, wide in layout.widths.items() if column in found.widths or column == number
        }
        if ColumnLayout(kept).width <= width:
            found = ColumnLayout(kept)
    return ColumnLayout(found.widths, (), tuple(number for number in gone if number not in found.widths))


def _without(layout: ColumnLayout, number: int) -> ColumnLayout:
    widths = {column: width for column, width in layout.widths.items() if column != number}
    return ColumnLayout(widths, layout.below, layout.left_out)


def _narrowed(layout: ColumnLayout, width: int, words: Mapping[int, int]) -> ColumnLayout:
    """Take from the widest columns what is still too much; their cells are folded.

    *words* are the lengths of the columns' longest words, which are broken only when nothing else can give way.
    """
    widths = dict(layout.widths)
    for _ in range(max(layout.width - width, 0)):
        loose = [number for number in widths if widths[number] > max(words[number], _LEAST)]
        widest = max(loose or widths, key=lambda number: widths[number])
        if widths[widest] <= _LEAST:
            break
        widths[widest] -= 1
    return ColumnLayout(widths, layout.below, layout.left_out)
