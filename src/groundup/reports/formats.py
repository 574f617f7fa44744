"""A report as Markdown, HTML, rows for data frames and terminal text, and one that shows itself in a notebook.

A report as one HTML file: it needs no network, opens from a mail, and runs no script but its own.

Everything in it comes from the same records and words as the other forms. What strangers wrote is escaped, and a
policy in the file keeps browsers from running or loading anything else.
"""

import base64
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Self

from groundup.domain.errors import UsageError
from groundup.domain.names import printable, unknown
from groundup.domain.version import __version__
from groundup.reports.columns import Cell, data_row
from groundup.reports.document import Report, RunReport
from groundup.reports.numbers import between, percent, share
from groundup.reports.plots import Plot, plots_of
from groundup.reports.terminal import bar_lines, print_rows, wrapped
from groundup.reports.views import View, comparison_views, coverage, origin, paper_views, views_of

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
        lines(view.below, "dim")
        console.print()


FORMS = ("html", "csv", "latex", "junit")
"""Forms of files, beside what a terminal shows."""

Rows = list[dict[str, Cell]]
"""Flat rows that all have the same keys: `pandas.DataFrame(rows)` and `polars.DataFrame(rows)` take them."""


class ShownReport(Report):
    """A report on one run, or on several with each compared to the first. Its fields are those of `--json`."""

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
        """
        further = sorted({name for run in self.runs for row in run.attempts for name in row.scores})
        return [data_row(run, attempt, further) for run in self.runs for attempt in run.attempts]

    def markdown(self) -> str:
        return markdown(self.views())

    def written(self, form: str) -> bytes:
        """Return the report as a file of the form *form*, one of `FORMS`. Raises `UsageError`.

        `html` is one file for people with plots; the others are for programs and papers.
        """
        from groundup.reports import exchange

        if form not in FORMS:
            raise UsageError(unknown("form", form, FORMS))
        if form == "html":
            return page(self, self.views()).encode()
        if form == "csv":
            return exchange.as_csv(self.rows())
        return exchange.as_junit(self) if form == "junit" else as_latex(self.views())

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
        return html(self.views())


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


STYLE = """
:root{color-scheme:light dark;--ink:#1a1a19;--soft:#63625e;--line:#e0dfd9;--ground:#fcfcfb;--raised:#f3f2ee;
--link:#1f5fa8;--mark:#2a6fbb;--bad:#a5322d;--good:#23713f}
@media (prefers-color-scheme:dark){:root{--ink:#f0efea;--soft:#b1b0aa;--line:#3a3936;--ground:#1a1a19;
--raised:#262523;--link:#82b6ee;--mark:#6ba6e8;--bad:#ee938f;--good:#7fcf9c}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);margin:0 auto;max-width:1160px;
padding:20px 24px}
a{color:var(--link);text-underline-offset:2px}
h1{font-size:25px;line-height:1.25;margin:8px 0 4px;overflow-wrap:anywhere}
h2{font-size:17px;line-height:1.35;margin:36px 0 8px;overflow-wrap:anywhere}
p{margin:4px 0;overflow-wrap:anywhere}.soft{color:var(--soft)}.small{font-size:13px}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}
.tile{background:var(--raised);border-radius:8px;padding:12px 18px;min-width:150px}
.tile b{font-size:27px;line-height:1.3;display:block}
figure{margin:24px 0;overflow-x:auto}figcaption{font-weight:600;margin-bottom:6px}
svg{max-width:760px;min-width:600px;width:100%;height:auto}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:8px 0}
th,td{border-bottom:1px solid var(--line);padding:6px 20px 6px 0;text-align:left;vertical-align:top;
overflow-wrap:break-word}
thead th{font-size:13px;font-weight:600;color:var(--soft);white-space:nowrap}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer}
th[aria-sort=ascending] button::after{content:" \\2191"}th[aria-sort=descending] button::after{content:" \\2193"}
input,select{font:inherit;color:inherit;background:var(--raised);border:1px solid var(--line);border-radius:6px;
padding:4px 10px}
:is(a,button,input,select,summary,pre,figure,.wide):focus-visible{outline:2px solid var(--link);outline-offset:2px}
meter{width:84px;height:9px;vertical-align:middle;margin-right:6px;appearance:none;background:var(--line);border:0;
border-radius:5px;overflow:hidden}meter::-webkit-meter-bar{background:var(--line);border:0;border-radius:5px;height:9px}
meter::-webkit-meter-optimum-value{background:var(--mark);border-radius:5px}meter::-moz-meter-bar{background:var(--mark)}
@media (max-width:700px){body{padding:14px}td,th{padding-right:14px}}
@media print{body{max-width:none}input,label{display:none}h2,figure,tr{break-inside:avoid}}
"""
_SCRIPT = """
for(const table of document.querySelectorAll("table")){
 const body=table.tBodies[0],order=new Intl.Collator(undefined,{numeric:true});
 table.querySelectorAll("th button").forEach((button,column)=>button.addEventListener("click",()=>{
  const head=button.parentElement,down=head.getAttribute("aria-sort")==="ascending";
  table.querySelectorAll("th").forEach(other=>other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort",down?"descending":"ascending");
  const rows=[...body.rows].sort((a,b)=>order.compare(a.cells[column].textContent,b.cells[column].textContent));
  body.append(...(down?rows.reverse():rows));}));
 const field=document.querySelector(`input[data-for="${table.id}"]`);
 if(field)field.addEventListener("input",()=>{const wanted=field.value.toLowerCase();
  for(const row of body.rows)row.hidden=!row.textContent.toLowerCase().includes(wanted);});
}
"""
_FILTERED_FROM = 8
"""Tables with at least so many rows get a field to filter them."""


def page(report: Report, views: Iterable[View]) -> str:
    """Return *report* as an HTML document; *views* are its tables."""
    title = ", ".join(run.run_id for run in report.runs[:4]) + (" and more" if len(report.runs) > 4 else "")
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    said = [
        f"{run.run_id}: {'; '.join(origin(run))}; begun {run.created_at:%Y-%m-%d %H:%M} UTC" for run in report.runs
    ]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_safe(title)} - groundup</title><style>{STYLE}</style></head><body><main>",
        f"<h1>{_safe(title)}</h1>",
        *(f'<p class="soft">{_safe(line)}</p>' for line in said),
        '<div class="tiles">',
        *map(_tile, report.runs),
        "</div>",
        *map(_figure, plots_of(report)),
        *(_html_table(number, view) for number, view in enumerate(views) if view.columns or view.below),
        f'<p class="soft">Made by groundup {_safe(__version__)}. All figures are those of '
        "<code>groundup report --json</code>.</p>",
        f"</main><script>{_SCRIPT}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _safe(text: str) -> str:
    return escape(printable(text))


def _tile(run: RunReport) -> str:
    figure = run.headline
    counts = run.counts
    rest = counts.planned - counts.graded
    also = f"{counts.graded} of {counts.planned} attempts graded" + (f", {rest} without a score" if rest else "")
    value = "-" if figure.score.value is None else percent(figure.score.value)
    return (
        f'<div class="tile">{_safe(run.run_id)}<b>{_safe(value)}</b>'
        f'<span class="soft">{_safe(figure.name + between(figure.interval))}<br>{_safe(also)}</span></div>'
    )


def _figure(plot: Plot) -> str:
    return f'<figure tabindex="0" id="{plot.name}"><figcaption>{_safe(plot.title)}</figcaption>{plot.svg}</figure>'


def _html_table(number: int, view: View) -> str:
    parts = [f"<h2>{_safe(view.title)}</h2>"]  # what stands above a table in other forms begins the page
    if view.columns:
        name = f"table-{number}"
        if len(view.rows) >= _FILTERED_FROM:
            parts.append(f'<label>Filter <input type="search" data-for="{name}"></label>')
        heads = "".join(
            f'<th scope="col"><button type="button">{_safe(cell)}</button></th>' for cell in view.columns
        )
        parts.append(f'<div class="wide"><table id="{name}"><thead><tr>{heads}</tr></thead><tbody>')
        parts += [f"<tr>{''.join(f'<td>{_safe(cell)}</td>' for cell in row)}</tr>" for row in view.rows]
        parts.append("</tbody></table></div>")
    return "\n".join([*parts, *(f'<p class="soft">{_safe(line)}</p>' for line in view.below)])
