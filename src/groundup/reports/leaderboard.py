"""Several runs as one page that ranks them: a static HTML file with filters. Pure; decides nothing.

Runs are ranked among those of one suite and grader. What strangers wrote is escaped, and a policy in the file
keeps browsers from running or loading anything else.
"""

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from pydantic import Field

from groundup.domain.limits import EpisodeLimits
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.reports.comparison import task_means
from groundup.reports.document import RunReport
from groundup.reports.page import STYLE
from groundup.reports.statistics import FEW, RANKS, SURE_FROM, Rank, ranks
from groundup.reports.views import between, grader_words, share


class Entry(Record):
    """A run with what is disclosed of it."""

    run: RunReport
    kind: str = Field(description="who made the submissions: agent, predictions, reference, served or run")
    languages: tuple[str, ...] = ()
    limits: str = Field(description="of an attempt, in words")
    contamination: str
    notes: str = ""
    evidence: str = Field(description="address of the bundle, relative to the page")
    digest: str = Field(description="SHA-256 of the bundle")


_FILTERS = ("suite", "language", "kind", "grader")
_SCRIPT = """
const choices=[...document.querySelectorAll("select")],rows=[...document.querySelectorAll("tr[data-suite]")];
function show(){for(const row of rows)row.hidden=choices.some(choice=>choice.value&&
 !row.dataset[choice.name].split("|").includes(choice.value));
 location.replace("#"+new URLSearchParams(choices.filter(one=>one.value).map(one=>[one.name,one.value])));}
const asked=new URLSearchParams(location.hash.slice(1));
for(const choice of choices){if(asked.has(choice.name))choice.value=asked.get(choice.name);
 choice.addEventListener("change",show);}
if(location.hash)show();
"""
_MORE_STYLE = (
    "body{max-width:1360px}table{width:100%}label{white-space:nowrap}select{margin:8px 12px 8px 4px}"
    "dl{margin:4px 0}dt{font-weight:600}dd{margin:0 0 4px 16px}td:nth-child(3){font-weight:600}"
    "td:nth-child(7){min-width:15em}"
)
_COLUMNS = (
    *("rank", "95 % interval", "run", "agent", "model", "suite, grader", "score", "cost"),
    *("disclosed", "evidence"),
)


def board(entries: Sequence[Entry]) -> str:
    """Return the page for *entries*: of each suite and grader, the best first."""
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    placed = [
        (entry, rank)
        for group in _groups(entries)
        for entry, rank in sorted(zip(group, _ranked(group), strict=True), key=_place)
    ]
    heads = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Leaderboard</title><style>{STYLE}{_MORE_STYLE}</style></head><body><main>",
        "<h1>Leaderboard</h1><p>",
        *(_filter(name, entries) for name in _FILTERS),
        f'</p><div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>',
        *(_row(entry, rank) for entry, rank in placed),
        "</tbody></table></div>",
        f'<p class="soft">Ranks are among runs of one suite and grader, over the tasks that all have: {RANKS}; '
        f"{FEW}. Each bundle can be checked: <code>groundup leaderboard verify BUNDLE</code>.</p>",
        f"</main><script>{_SCRIPT}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _groups(entries: Sequence[Entry]) -> list[list[Entry]]:
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault((entry.run.suite, _grader(entry)), []).append(entry)
    return [found[key] for key in sorted(found)]


def _ranked(group: Sequence[Entry]) -> list[Rank | None]:
    """Return each entry's rank; None where there is nothing to rank it among."""
    found = {one.run: one for one in ranks([(str(n), task_means(entry.run)) for n, entry in enumerate(group)])}
    return [found.get(str(number)) for number in range(len(group))]


def _place(placed: tuple[Entry, Rank | None]) -> tuple[int, float]:
    entry, rank = placed
    return (rank.rank if rank else 0, -(entry.run.headline.score.value or 0.0))


def _grader(entry: Entry) -> str:
    return ", ".join(f"{one.name} {one.version}" for one in entry.run.graders) or "none"


def _values(name: str, entry: Entry) -> tuple[str, ...]:
    single = {"suite": entry.run.suite, "kind": entry.kind, "grader": _grader(entry)}
    values = entry.languages if name == "language" else (single[name],)
    return tuple(value.replace("|", "/") for value in values)


def _filter(name: str, entries: Sequence[Entry]) -> str:
    values = sorted({value for entry in entries for value in _values(name, entry)})
    options = "".join(f'<option value="{_safe(value)}">{_safe(value)}</option>' for value in values)
    label = "agent kind" if name == "kind" else name
    return f'<label>{label} <select name="{name}"><option value="">all</option>{options}</select></label>'


def _row(entry: Entry, rank: Rank | None) -> str:
    run = entry.run
    data = " ".join(f'data-{name}="{_safe("|".join(_values(name, entry)))}"' for name in _FILTERS)
    figure, cost = run.headline, run.effort.cost_usd if run.effort else None
    cells = (
        "-" if rank is None or rank.tasks < SURE_FROM else str(rank.rank),
        _interval(rank),
        run.run_id,
        run.subject.agent,
        run.subject.model or "-",
        f"{run.suite} {run.suite_version}, {_grader(entry)}",
        share(figure.score) + between(figure.interval),
        "-" if cost is None else f"${cost:.2f}",
    )
    value = figure.score.value
    bar = "" if value is None else f'<meter min="0" max="1" value="{value:.4f}" aria-label="score"></meter> '
    named = zip(_COLUMNS, cells, strict=False)
    shown = "".join(f"<td>{bar if name == 'score' else ''}{_safe(cell)}</td>" for name, cell in named)
    link = f'<a href="{_safe(entry.evidence)}">bundle</a><br><code>{_safe(entry.digest[:12])}</code>'
    return f"<tr {data}>{shown}<td>{_disclosed(entry)}</td><td>{link}</td></tr>"


def _interval(rank: Rank | None) -> str:
    if rank is None:
        return ""
    words = str(rank.low) if rank.low == rank.high else f"{rank.low} to {rank.high}"
    return f"too few tasks ({rank.tasks})" if rank.tasks < SURE_FROM else words


def _disclosed(entry: Entry) -> str:
    run, effort = entry.run, entry.run.effort
    settings = ", ".join(f"{name}={value}" for name, value in run.subject.settings.items())
    known = effort is not None and effort.cost_usd is not None
    blocks = {
        "model": run.subject.model or "none is named",
        "agent": run.subject.agent + (f" ({settings})" if settings else ""),
        "limits": entry.limits,
        "contamination": entry.contamination,
        "cost": f"${effort.cost_usd:.4f}" if effort is not None and known else "not known",
        "attempts": f"{run.counts.graded} graded of {run.counts.planned}",
        "grader": "; ".join(map(grader_words, run.graders)) or "none",
        "notes": entry.notes,
    }
    lines = "".join(f"<dt>{name}</dt><dd>{_safe(text)}</dd>" for name, text in blocks.items() if text)
    return f"<details><summary>more</summary><dl>{lines}</dl></details>"


def _safe(text: str) -> str:
    return escape(printable(text))


def limits_in_words(limits: EpisodeLimits | None) -> str:
    """Return what bounded each attempt; None: the submissions were made elsewhere."""
    if limits is None:
        return "not known: the submissions were made elsewhere"
    named = [f"{name}={value}" for name, value in limits.model_dump().items() if value is not None]
    return ", ".join(named) or "none"
