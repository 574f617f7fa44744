"""A report as Markdown, LaTeX, rows for data frames and terminal text, and one that shows itself in a notebook.

Every form is made from the same records and words.
"""

import io
import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Self

from groundup.domain.errors import UsageError
from groundup.domain.names import printable, unknown
from groundup.domain.verdicts import share
from groundup.reports.columns import Cell, data_row, left_out_rows
from groundup.reports.document import Report
from groundup.reports.forms import FORMS, KNOWN
from groundup.reports.publishing import row_for_others
from groundup.reports.terminal import bar_lines, print_rows, wrapped
from groundup.reports.views import View, comparison_views, coverage, paper_views, views_of

if TYPE_CHECKING:
    from rich.console import Console


def markdown(views: Iterable[View]) -> str:
    return "\n\n".join(map(_text, views)) + "\n"


def _text(view: View) -> str:
    blocks = [f"## {_escaped(view.title)}"]
    blocks += [_escaped(line) for line in view.above]
    if view.columns:
        lines = [_row(view.columns), _row(("---",) * len(view.columns), escape=False)]
        blocks.append("\n".join([*lines, *(_row(row) for row in view.rows)]))
    blocks += [_escaped(line) for line in view.further]
    return "\n\n".join(blocks)


def _row(cells: tuple[str, ...], *, escape: bool = True) -> str:
    return "| " + " | ".join(_escaped(cell) if escape else cell for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Keep what a stranger's code wrote from being read as markup."""
    text = " ".join(text.split())
    for character in "\\`*_[]<>|#":
        text = text.replace(character, "\\" + character)
    return text


_STYLES = {
    "solved": "green",
    "partial": "yellow",
    "failed": "red",
    "tampered": "bold red",
    "unfit": "bold red",
    "infrastructure": "yellow",
    "not attempted": "dim",
    "made": "yellow",
    "pending": "dim",
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
        if view.bars:
            for line in bar_lines(view.bars, console.width):
                console.print(Text(line.rstrip()), soft_wrap=True)
            console.print()
        lines(view.further, "dim")
        console.print()


Rows = list[dict[str, Cell]]
"""Flat rows that all have the same keys: `pandas.DataFrame(rows)` and `polars.DataFrame(rows)` take them."""


class ShownReport(Report):
    """A report on one run, or on several with each compared to the first. Its fields are those of `--json`."""

    forms: ClassVar[tuple[str, ...]] = KNOWN
    """In which it can be had."""

    @classmethod
    def of(cls, report: Report) -> Self:
        return cls.model_validate(dict(report))

    def views(self) -> Iterable[View]:
        """Return the tables that people see."""
        return views_of(self)

    def rows(self) -> Rows:
        """Return a row per attempt.

        `score` is a share of 1 and `numerator` and `denominator` are its parts; all three are None where there is
        no score. `counted` is what enters means: 0 for what was not attempted or was tampered with, None for what
        has no verdict yet. A suite's further scores are in `scores.<name>`. Times are in seconds, money in USD.
        A task of the suite that a run left out has a row without a score, whose standing is `left out`.
        """
        further = sorted({name for run in self.runs for row in run.attempts for name in row.scores})
        rows: Rows = []
        for run in self.runs:
            rows += (data_row(run, attempt, further) for attempt in run.attempts)
            rows += left_out_rows(run, further)
        return rows

    def markdown(self) -> str:
        return markdown(self.views())

    def for_others(self) -> Self:
        """Return the report without what hidden tests said: no page of it holds their text."""
        runs = [run.but(attempts=tuple(map(row_for_others, run.attempts))) for run in self.runs]
        return self.but(runs=tuple(runs))

    def written(self, form: str) -> bytes:
        """Return the report as a file of the form *form*, one of `FORMS`. Raises `UsageError`.

        `html` is one file for people with plots, `latex` is for papers: both for others. The rest is for programs.
        """
        from groundup.reports import csv_junit

        if form not in FORMS:
            raise UsageError(unknown("form", form, FORMS))
        if form == "html":
            from groundup.reports.pages import page

            shared = self.for_others()
            return page(shared, shared.views()).encode()
        if form == "csv":
            return csv_junit.as_csv(self.rows())
        return csv_junit.as_junit(self) if form == "junit" else as_latex(self.for_others().views())

    def below(self, least: float | None) -> str | None:
        """Return a sentence when the mean score of some run is below *least*, a share, or is none at all."""
        if least is None:
            return None
        for run in self.runs:
            value = run.headline.score.value
            if value is None or value < least:
                reached = "no score" if value is None else f"{value * 100:.6g} %"
                return f"the run {run.run_id} has {reached}, below --fail-under {least:g} ({least * 100:g} %)"
        return None

    def headlines(self) -> list[str]:
        scores = [(run, coverage(run) or f"{run.headline.name} {share(run.headline.score)}") for run in self.runs]
        return [f"{run.run_id}: {score}" for run, score in scores]

    def __str__(self) -> str:
        from rich.console import Console

        written = io.StringIO()
        show(self.views(), Console(file=written, width=120, highlight=False))
        return written.getvalue()

    def _repr_html_(self) -> str:
        from groundup.reports.pages import tables

        return tables(self.views())


class PaperReport(ShownReport):
    """Runs as the papers of their suites show them."""

    def views(self) -> Iterable[View]:
        """Return the tables that people see."""
        return paper_views(self)


class ShownComparison(ShownReport):
    """Runs compared task by task, each to the first one."""

    def views(self) -> Iterable[View]:
        """Return the tables that people see."""
        return comparison_views(self)

    def rows(self) -> Rows:
        """Return a row per task and comparison.

        Scores are shares of 1, means over a task's attempts. Where one of the two runs has none, both scores and
        the difference are None, and `why` says how the task stands in each run.
        """
        rows: Rows = []
        for one in self.comparisons:
            for pair in one.pairs:
                scores = {"base_score": pair.base, "other_score": pair.other, "difference": pair.difference}
                rows.append({"base": one.base, "other": one.other, "task": pair.task, **scores, "why": ""})
            for lone in one.unpaired:
                why = f"{one.base}: {lone.base}; {one.other}: {lone.other}"
                none = dict.fromkeys(("base_score", "other_score", "difference"))
                rows.append({"base": one.base, "other": one.other, "task": lone.task, **none, "why": why})
        return rows


_SIGNS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SIGNS.update({sign: f"\\{sign}" for sign in "&%$#_{}"})
_SIGNS.update({"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"})
# The usual fonts have these in mathematics alone.
_SIGNS.update({"\u2212": "$-$", "≤": r"$\le$", "≥": r"$\ge$", "≠": r"$\ne$", "≈": r"$\approx$", "∞": r"$\infty$"})
_SIGNS.update({"→": r"$\rightarrow$", "←": r"$\leftarrow$", "Δ": r"$\Delta$"})
_KNOWN = frozenset("¡¢£¥§¨©ª¬®¯°±²³´µ¶·¸¹º¼½¾¿×÷ßÆæØøŒœŁłı–—‘’“”…€")  # noqa: RUF001 - these are meant
"""Signs beyond ASCII, and beyond letters with accents, for which pdfLaTeX has something."""
_ACCENTS = frozenset("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327")
_LIGATURE = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=`)(?=`)|(?<=[?!])(?=`)|(?<=,)(?=,)")


def as_latex(views: Iterable[View]) -> bytes:
    """Return the tables of *views* as rows of booktabs, with notes below as comments. Authors set widths."""
    tables = "\n".join(_table(view) for view in views if view.columns)
    return f"% needs \\usepackage{{booktabs}}; set widths of columns as your page has them\n{tables}".encode()


def _table(view: View) -> str:
    heads, *rows = (" & ".join(map(_tex, row)) + r" \\" for row in (view.columns, *view.rows))
    lines = [r"\begin{table}[htbp]", r"\centering", rf"\caption{{{_tex(view.title)}}}"]
    lines += [rf"\begin{{tabular}}{{{'l' * len(view.columns)}}}", r"\toprule", heads, r"\midrule", *rows]
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join([*lines, *(f"% {printable(note)}" for note in view.below), ""])


def _tex(text: str) -> str:
    """Return *text* as LaTeX prints it."""
    told = _LIGATURE.sub("\0", " ".join(_known(printable(text)).split()))
    told = "".join(_SIGNS.get(sign, sign) for sign in told).replace("\0", "{}")
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
