"""What the page of a comparison shows."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from groundup.reports.answers import comparison_answer
from groundup.reports.comparison import from_ahead
from groundup.reports.plots import plots_of
from groundup.reports.summary import side_by_side
from groundup.reports.views import evidence_views
from groundup.runs import evidence
from groundup.runs.copies import with_copies
from groundup.runs.reporting import read_run
from groundup.settings import Settings
from groundup.viewer.addresses import whole_number
from groundup.viewer.index import RunIndex

TASKS_SHOWN = 200
_PARTS = {
    "gained": "{other} alone solved",
    "lost": "{base} alone solved",
    "both": "both solved",
    "neither": "neither solved",
}
"""How two runs part the tasks that they share."""


def compared(index: RunIndex, settings: Settings, asked: QueryParams) -> dict[str, Any] | None:
    """Return what the page of a comparison shows; None where its address names no two runs that are there."""
    names = asked.getlist("run")
    known = {one.name for one in index.runs() if one.report}
    if len(names) < 2 or not set(names) <= known:
        return None
    power = min(whole_number(asked.get("power")), 100)
    read = [read_run(settings.output / name, settings) for name in names]
    named = [one.report.but(run_id=name) for one, name in zip(read, names, strict=True)]
    made = with_copies(side_by_side(named, power / 100 or None), read, settings)
    wanted, first = asked.get("q", ""), whole_number(asked.get("first"))
    part, other = (asked.get(name, "") for name in ("part", "other"))
    if part not in _PARTS or other not in names[1:]:
        part, other = "", ""
    grid, total = index.grid(names, wanted, first, TASKS_SHOWN, (part, other) if part else None)
    return {
        "names": names,
        "made": made,
        "ahead": [from_ahead(one) for one in made.comparisons],
        "answer": comparison_answer(made),
        "several": any(run.several for run in made.runs),
        "plots": list(plots_of(made)),
        "views": list(evidence_views(made)),
        "power": power,
        "grid": grid,
        "total": total,
        "wanted": wanted,
        "first": first,
        "pages": evidence.pages(total, first, TASKS_SHOWN),
        "asked": urlencode([("run", name) for name in names]),
        "parted": [index.parted(names[0], name) for name in names[1:]],
        "part": part,
        "other": other,
        "parts": _PARTS,
        "rebased": {name: urlencode([("run", one) for one in _first(name, names)]) for name in names},
    }


def _first(name: str, names: Sequence[str]) -> list[str]:
    return [name, *(one for one in names if one != name)]
