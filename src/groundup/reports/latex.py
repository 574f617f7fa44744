"""A report's tables for a paper: `booktabs` rules, and nothing wider than a page of LaTeX's own classes."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from groundup.domain.names import printable
from groundup.reports.views import View

_SIGNS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SIGNS.update({sign: f"\\{sign}" for sign in "&%$#_{}"})
_SIGNS.update({"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"})
# The usual fonts have these in mathematics alone.
_SIGNS.update({"\u2212": "$-$", "≤": r"$\le$", "≥": r"$\ge$", "≠": r"$\ne$", "≈": r"$\approx$", "∞": r"$\infty$"})
_SIGNS.update({'"': "''", "→": r"$\rightarrow$", "←": r"$\leftarrow$", "Δ": r"$\Delta$"})
_KNOWN = frozenset("¡¢£¥§¨©ª¬®¯°±²³´µ¶·¸¹º¼½¾¿×÷ßÆæØøŒœŁłı–—‘’“”…€")  # noqa: RUF001 - these are meant
"""Signs beyond ASCII, and beyond letters with accents, for which pdfLaTeX has something."""
_ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
_LIGATURE = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=`)(?=`)|(?<=[?!])(?=`)|(?<=,)(?=,)")

_LINE = 345.0
"""Points of a line in the class `article`, on A4 and on letter."""
_GAP = 12.0
"""Points between two columns."""
_TEXT = 120.0
"""A wider cell is text that can be broken."""
_LEAST = 75.0
_NARROW = "0123456789 .,:;()[]/-_'"
_LONG = 40
"""More lines than these stand on several pages."""
_WORD = 12
"""Longer words may be broken where a line ends."""
_CELL = 300
"""More signs than these are cut: no row is higher than a page."""


def as_latex(views: Iterable[View]) -> bytes:
    """Return the tables of *views*; notes stand below as comments.

    A table that is too wide for a page has its widest columns of text broken into lines, or is scaled where these
    are not to blame; one of more than a page is a `longtable`, or several tables where it is scaled.
    """
    needs = "% needs \\usepackage{array,booktabs,graphicx,longtable}\n"
    return (needs + "\n".join(_table(_cut(view)) for view in views if view.columns)).encode()


def _cut(view: View) -> View:
    rows = tuple(
        tuple(cell if len(cell) <= _CELL else f"{cell[: _CELL - 1]}…" for cell in row) for row in view.rows
    )
    return view.but(rows=rows)


def _table(view: View) -> str:
    places, scaled = _columns(view)
    columns = "".join(
        "l" if place is None else rf">{{\raggedright\arraybackslash}}p{{{place / _LINE - 0.0005:.3f}\linewidth}}"
        for place in places
    )
    pieces = _pieces(view.rows, places)
    title = _tex(view.title, broken=True)
    if len(pieces) > 1 and not scaled:
        lines = _long_table(
            columns, title, _tabular_rows((view.columns,), places), _tabular_rows(view.rows, places)
        )
    else:
        lines = []
        for number, rows in enumerate(pieces, 1):
            part = f" ({number} of {len(pieces)})" if len(pieces) > 1 else ""
            lines += _float(columns, title + part, _tabular_rows((view.columns, *rows), places), scaled)
    return "\n".join([*lines, *(f"% {printable(note)}" for note in view.below), ""])


def _tabular_rows(rows: Iterable[Sequence[str]], places: Sequence[float | None]) -> list[str]:
    return [
        " & ".join(_tex(cell, broken=place is not None) for cell, place in zip(row, places, strict=True)) + r" \\"
        for row in rows
    ]


def _long_table(columns: str, title: str, heads: list[str], rows: list[str]) -> list[str]:
    head = [r"\toprule", *heads, r"\midrule"]
    begin = [r"\begingroup\footnotesize", rf"\begin{{longtable}}{{{columns}}}", rf"\caption{{{title}}} \\"]
    end = [r"\bottomrule", r"\end{longtable}", r"\endgroup"]
    return [*begin, *head, r"\endfirsthead", *head, r"\endhead", *rows, *end]


def _float(columns: str, title: str, rows: list[str], scaled: bool) -> list[str]:
    heads, *others = rows
    tabular = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", heads, r"\midrule", *others, r"\bottomrule"]
    tabular.append(r"\end{tabular}")
    if scaled:
        # By widths of letters that are at most so: never made larger.
        tabular.insert(0, r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%")
        tabular[-1] += "}"
    begin = [r"\begin{table}[htbp]", r"\centering\footnotesize", rf"\caption{{{title}}}"]
    return [*begin, *tabular, r"\end{table}"]


def _columns(view: View) -> tuple[list[float | None], bool]:
    """Return the points of each column that is broken into lines, and whether the table may still be too wide."""
    widths = [max(map(_width, cells)) + _GAP for cells in zip(view.columns, *view.rows, strict=True)]
    texts = [number for number, width in enumerate(widths) if width > _TEXT + _GAP]
    if sum(widths) <= _LINE or not texts:
        return [None] * len(widths), sum(widths) > _LINE
    left = _LINE - sum(width for number, width in enumerate(widths) if number not in texts)
    share = max(left / len(texts), _LEAST + _GAP) - _GAP
    return [share if number in texts else None for number in range(len(widths))], left < (_LEAST + _GAP) * len(
        texts
    )


def _pieces(rows: Sequence[tuple[str, ...]], places: Sequence[float | None]) -> list[list[tuple[str, ...]]]:
    """Return *rows* in groups that fit a page."""
    pieces: list[list[tuple[str, ...]]] = [[]]
    free = _LONG
    for row in rows:
        lines = max(int(_width(cell) / (place or _LINE)) + 1 for cell, place in zip(row, places, strict=True))
        if lines > free and pieces[-1]:
            pieces.append([])
            free = _LONG
        pieces[-1].append(row)
        free -= lines
    return pieces


def _width(text: str) -> float:
    """Return at most how many points *text* is wide in the size of footnotes."""
    known = _known(text)
    return sum(8.8 if sign in "mMwW%@&—…" else 4.8 if sign.islower() or sign in _NARROW else 6.8 for sign in known)


def _tex(text: str, *, broken: bool = False) -> str:
    """Return *text* as LaTeX prints it; *broken* lets a line end within long words, too."""
    words = " ".join(_known(printable(text)).split())
    parts = (_breakable(word) if broken and len(word) > _WORD else [word] for word in words.split(" "))
    told = " ".join(r"\allowbreak{}".join(map(_escaped, part)) for part in parts)
    return f"{{}}{told}" if told[:1] in ("[", "*") else told  # after a row's end they would belong to it


def _known(text: str) -> str:
    """Replace signs that pdfLaTeX stops at by their numbers."""
    return "".join(
        sign
        if sign.isascii() or sign in _SIGNS or sign in _KNOWN or _is_accented(sign)
        else f"[U+{ord(sign):04X}]"
        for sign in text
    )


def _is_accented(sign: str) -> bool:
    parts = unicodedata.normalize("NFD", sign)
    return sign <= "\u017f" and parts[0].isascii() and parts[0].isalpha() and _ACCENTS.issuperset(parts[1:])


def _breakable(word: str) -> Iterator[str]:
    """Yield the parts of *word* between which a line may end."""
    for part in re.findall(r"[^/_.:=,@-]+[/_.:=,@-]*|[/_.:=,@-]+", word):
        yield from (part[start : start + 8] for start in range(0, len(part), 8)) if len(part) > _WORD else [part]


def _escaped(text: str) -> str:
    return "".join(_SIGNS.get(sign, sign) for sign in _LIGATURE.sub("\0", text)).replace("\0", "{}")
