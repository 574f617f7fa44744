"""A report as one HTML file: it needs no network, opens from a mail, and runs no script but its own.

Everything in it comes from the same records and words as the other forms. What strangers wrote is escaped, and a
policy in the file keeps browsers from running or loading anything else.
"""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from groundup.domain.names import printable
from groundup.domain.version import __version__
from groundup.reports.document import Report, RunReport
from groundup.reports.plots import Plot, plots_of
from groundup.reports.views import View, between, origin, percent

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
p{margin:4px 0}.soft{color:var(--soft)}.small{font-size:13px}
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
        *(_table(number, view) for number, view in enumerate(views) if view.columns or view.below),
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


def _table(number: int, view: View) -> str:
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
