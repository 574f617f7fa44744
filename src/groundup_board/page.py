"""Several runs as one page that ranks them: a static HTML file with filters. Pure; decides nothing.

Runs are ranked among those of one suite, set of tasks and grader, each over the whole set: what has no score
counts 0. What strangers wrote is escaped, and a policy in the file keeps browsers from running or loading anything
else.
"""

import base64
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape

from pydantic import Field

from groundup.domain.limits import EpisodeLimits
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.reports.document import RunReport
from groundup.reports.formats import STYLE
from groundup.reports.intervals import LEAST_TASKS, mean_interval
from groundup.reports.numbers import between, percent
from groundup.reports.statistics import FEW, RANKS, Rank, ranks
from groundup.reports.views import grader_words


class Verified(Record):
    """Who graded how much of a run again, with the same scores."""

    by: str
    at: datetime
    tasks: int = Field(description="graded again")
    of: int = Field(description="tasks with a submission")
    seed: int = Field(description="by which they were drawn")
    unsteady: int = Field(description="attempts of these whose score varies")
    record: str = Field(description="address of the record, relative to the page")


class Entry(Record):
    """A run with what is disclosed of it, and who verified it."""

    run: RunReport
    task_set: str
    set_digest: str
    verified: Verified
    kind: str = Field(
        description="whence submissions are: agent, predictions, reference, served, ablated, regraded"
    )
    languages: tuple[str, ...] = ()
    limits: str = Field(description="of an attempt, in words")
    contamination: str
    notes: str = ""
    evidence: str = Field(description="address of the bundle, relative to the page")
    digest: str = Field(description="SHA-256 of the bundle")
    pages: str | None = Field(default=None, description="address of the run's own pages, relative to the page")
    same_as: tuple[str, ...] = Field(
        default=(), description="whose submissions its own are, byte for byte: of others, or of the suite itself"
    )


_FILTERS = ("suite", "tasks", "language", "kind", "grader")
_SCRIPT = """
const choices=[...document.querySelectorAll("select")],rows=[...document.querySelectorAll("tr[data-suite]")];
function show(){for(const row of rows)row.hidden=choices.some(choice=>choice.value&&
 !row.dataset[choice.name].split("|").includes(choice.value));
 for(const part of document.querySelectorAll("section"))part.hidden=!part.querySelector("tbody tr:not([hidden])");
 location.replace("#"+new URLSearchParams(choices.filter(one=>one.value).map(one=>[one.name,one.value])));}
const asked=new URLSearchParams(location.hash.slice(1));
for(const choice of choices){if(asked.has(choice.name))choice.value=asked.get(choice.name);
 choice.addEventListener("change",show);}
if(location.hash)show();
"""
_MORE_STYLE = (
    "body{max-width:1360px}table{width:100%}label{white-space:nowrap}select{margin:8px 12px 8px 4px}"
    "dl{margin:4px 0}dt{font-weight:600}dd{margin:0 0 4px 16px}td:nth-child(3){font-weight:600}"
    "td:nth-child(6){min-width:15em}"
)
_COLUMNS = ("rank", "95 % interval", "run", "agent", "model", "score", "cost", "verified", "disclosed", "evidence")


def board(entries: Sequence[Entry]) -> str:
    """Return the page for *entries*: a table for each suite, set of tasks and grader, the best first."""
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Leaderboard</title><style>{STYLE}{_MORE_STYLE}</style></head><body><main>",
        "<h1>Leaderboard</h1><p>",
        *(_filter(name, entries) for name in _FILTERS),
        "</p>",
        *(line for group in _groups(entries) for line in _section(group)),
        f'<p class="soft">Scores are means over all tasks of the set; what was not attempted counts 0. '
        f"Ranks: {RANKS}; {FEW}. Verified: so many tasks, drawn by the seed, were graded again to the "
        "same scores. Costs are claims. Anybody can: <code>groundup leaderboard verify BUNDLE</code>.</p>",
        f"</main><script>{_SCRIPT}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _groups(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group *entries* by what they can be ranked in: the largest sets of a suite first."""
    found: dict[tuple[str, int, str, str], list[Entry]] = {}
    for entry in entries:
        key = (entry.run.suite, -len(_scores(entry)), entry.set_digest, _grader(entry))
        found.setdefault(key, []).append(entry)
    return [found[key] for key in sorted(found)]


def _section(group: Sequence[Entry]) -> Iterator[str]:
    first = group[0]
    yield "<section>"
    yield (
        f"<h2>{_safe(first.run.suite)} {_safe(first.run.suite_version)}, {_safe(first.task_set)}: "
        f"{len(_scores(first))} tasks, {_safe(_grader(first))}</h2>"
    )
    yield f'<p class="soft">set of tasks <code>{_safe(first.set_digest)}</code></p>'
    heads = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    yield f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>'
    for entry, rank in sorted(zip(group, _ranked(group), strict=True), key=_place):
        yield _row(entry, rank)
    yield "</tbody></table></div></section>"


def _scores(entry: Entry) -> Mapping[str, list[float]]:
    """Return the scores of all attempts by task."""
    found: dict[str, list[float]] = {}
    for row in entry.run.attempts:
        found.setdefault(row.task, []).append(row.counted or 0.0)
    return found


def _means(entry: Entry) -> dict[str, float]:
    return {task: math.fsum(scores) / len(scores) for task, scores in _scores(entry).items()}


def _mean(entry: Entry) -> float:
    means = _means(entry)
    return math.fsum(means.values()) / len(means)


def _ranked(group: Sequence[Entry]) -> list[Rank | None]:
    """Return each entry's rank; None where there is nothing to rank it among."""
    found = {one.run: one for one in ranks([(str(n), _means(entry)) for n, entry in enumerate(group)])}
    return [found.get(str(number)) for number in range(len(group))]


def _place(placed: tuple[Entry, Rank | None]) -> tuple[int, float]:
    entry, rank = placed
    return (rank.rank if rank else 0, -_mean(entry))


def _grader(entry: Entry) -> str:
    return ", ".join(f"{one.name} {one.version}" for one in entry.run.graders) or "none"


def _values(name: str, entry: Entry) -> tuple[str, ...]:
    single = {
        "suite": entry.run.suite,
        "tasks": entry.task_set,
        "kind": entry.kind,
        "grader": _grader(entry),
    }
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
    mean, cost = _mean(entry), run.effort.cost_usd if run.effort else None
    cells = (
        "-" if rank is None or rank.tasks < LEAST_TASKS else str(rank.rank),
        _interval(rank),
        run.run_id,
        run.subject.name,
        run.subject.model_name or "-",
        percent(mean) + between(mean_interval(list(_means(entry).values()))),
        "-" if cost is None else f"${cost:.2f} claimed",
    )
    bar = f'<meter min="0" max="1" value="{mean:.4f}" aria-label="score"></meter> '
    named = zip(_COLUMNS, cells, strict=False)
    marks = "".join(f"<br><strong>{_safe(mark)}</strong>" for mark in entry.same_as)
    shown = "".join(f"<td>{bar if name == 'score' else ''}{_safe(cell)}</td>" for name, cell in named)
    link = f'<a href="{_safe(entry.evidence)}">bundle</a><br><code>{_safe(entry.digest[:12])}</code>'
    if entry.pages is not None:
        link = f'<a href="{_safe(entry.pages)}">tests and files</a><br>{link}'
    further = (_verified(entry.verified) + marks, _disclosed(entry), link)
    return f"<tr {data}>{shown}{''.join(f'<td>{cell}</td>' for cell in further)}</tr>"


def _verified(found: Verified) -> str:
    """Say by whom, when and how much of an entry was graded again."""
    varying = f", {found.unsteady} attempts vary" if found.unsteady else ""
    words = f"{found.tasks} of {found.of} tasks{varying}; by {found.by}, {found.at:%Y-%m-%d}, seed {found.seed}"
    return f'<a href="{_safe(found.record)}">{_safe(words)}</a>'


def _interval(rank: Rank | None) -> str:
    if rank is None:
        return ""
    words = str(rank.low) if rank.low == rank.high else f"{rank.low} to {rank.high}"
    return f"too few tasks ({rank.tasks})" if rank.tasks < LEAST_TASKS else words


def _disclosed(entry: Entry) -> str:
    run, effort = entry.run, entry.run.effort
    settings = run.subject.told_settings
    known = effort is not None and effort.cost_usd is not None
    blocks = {
        "model": run.subject.model_name or "none is named",
        "agent": run.subject.name + (f" ({settings})" if settings else ""),
        "limits": entry.limits,
        "contamination": entry.contamination,
        "cost": f"claimed: ${effort.cost_usd:.4f}; a bundle has no trajectory, which could prove it"
        if effort is not None and known
        else "not known",
        "attempts": f"{run.counts.graded} graded of {run.counts.planned}; not attempted: "
        f"{run.counts.not_attempted}; tampered: {run.counts.tampered}",
        "grader": "; ".join(map(grader_words, run.graders)) or "none",
        "byte for byte the same": "; ".join(entry.same_as),
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
