"""A report's figures as bars: what each plot shows. Pages draw it as HTML; files are drawn by Vega-Lite.

Shares run from 0 to 1. Each bar has words that say the whole of it, for screen readers and whoever points at it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from groundup.domain.errors import MissingExtraError
from groundup.domain.figures import money, percent
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.domain.subjects import ABLATION
from groundup.reports.document import Report, RunReport
from groundup.reports.intervals import Interval
from groundup.reports.numbers import between, standing_words
from groundup.suites.base import Summary

PALETTE: Mapping[str, tuple[str, str]] = {
    "s0": ("#2a6fbb", "#6ba6e8"),
    "s1": ("#a85a17", "#e9a45b"),
    "s2": ("#2f7f4f", "#6fc08f"),
    "s3": ("#a0519e", "#c886c6"),
    "s4": ("#b8443f", "#e5807b"),
    "s5": ("#6a781d", "#b3c152"),
    "s6": ("#217b82", "#62c1c8"),
    "s7": ("#8a6d4f", "#c3a382"),
    "rest": ("#dddcd6", "#3c3b38"),
    "none": ("#f3f2ee", "#262523"),
}
"""Colours by name, for light and dark pages."""
PALE = ("rest", "none")
"""Of these, those on which text has the colour of text elsewhere."""
NARROW = 0.04
"""The share of the width below which a part of a stacked bar has no room for its label."""
_BANDED_RUNS = 8


class PlotBar(Record):
    """One bar, or one part of a stacked one."""

    series: str
    share: float = Field(description="of the whole width")
    label: str
    words: str = Field(description="the whole of what it says")
    interval: Interval | None = None


class PlotRow(Record):
    """The bars beside one name."""

    label: str
    bars: tuple[PlotBar, ...]


class Plot(Record):
    """A picture made of bars: a short name for files, and a title for people."""

    name: str
    title: str
    rows: tuple[PlotRow, ...]
    colours: dict[str, str] = Field(description="of each series, by its name in `PALETTE`; a key where several")
    stacked: bool = Field(default=False, description="bars of a row lie end to end and hold their labels")
    percent: bool = Field(default=False, description="the whole width is 100 %")


def plots_of(report: Report) -> Iterator[Plot]:
    """Yield the pictures that *report* has figures for."""
    runs = [run for run in report.runs if run.headline.score.value is not None]
    if runs:
        yield _scores(runs)
    if any(run.lost_at or run.counts.graded for run in report.runs):
        yield _outcomes(report.runs)
    costs = [run for run in runs if run.effort and run.effort.cost_usd is not None]
    if len(costs) > 1:
        yield _costs(costs)
    # Ablated runs would stand beside their own; a table has the difference.
    plain = [run for run in report.runs if ABLATION not in run.subject.settings] or report.runs
    for figure in ("Exec", "F1"):
        banded = [run for run in plain if any(_banded(run, figure))][:_BANDED_RUNS]
        for headline in dict.fromkeys(one.headline for run in banded for one in _banded(run, figure)):
            yield _bands(headline, figure, banded)
    curves = {one.headline: one for run in report.runs for one in run.summaries if one.layout == "figure"}
    yield from map(_curves, curves.values())


def coloured(series: Sequence[str]) -> dict[str, str]:
    return {one: f"s{number % 8}" for number, one in enumerate(series)}


def _banded(run: RunReport, figure: str) -> Iterator[Summary]:
    """Yield a suite's tables of *figure* by bands, such as DI-Bench's by number of dependencies and by size."""
    for one in run.summaries:
        if one.headline.startswith("By ") and any(figure in scores for scores in one.scores.values()):
            yield one


def _bands(headline: str, figure: str, runs: Sequence[RunReport]) -> Plot:
    """Return *figure* by band, a bar for each run."""
    found = {run.run_id: one.scores for run in runs for one in _banded(run, figure) if one.headline == headline}
    rows = []
    for name in dict.fromkeys(name for scores in found.values() for name in scores):
        values = {
            run: scores[name][figure].value for run, scores in found.items() if figure in scores.get(name, {})
        }
        bars = [
            PlotBar(
                series=run, share=value, label=percent(value), words=f"{run}, {name}: {figure} {percent(value)}"
            )
            for run, value in values.items()
            if value is not None
        ]
        rows.append(PlotRow(label=name, bars=tuple(bars)))
    return Plot(
        name=("" if figure == "F1" else f"{figure.lower()}-") + headline.lower().replace(" ", "-"),
        title=f"{figure}: {headline[0].lower()}{headline[1:]}",
        rows=tuple(rows),
        colours=coloured(list(found)),
        percent=True,
    )


def _curves(summary: Summary) -> Plot:
    """Return a table of shares: a bar for each of its rows, grouped by its columns."""
    names = dict.fromkeys(name for row in summary.scores.values() for name in row)
    most = max([0.05, *(score.value or 0.0 for row in summary.scores.values() for score in row.values())])
    rows = []
    for name in names:
        values = {one: (scores[name].value or 0.0) for one, scores in summary.scores.items() if name in scores}
        bars = [
            PlotBar(series=one, share=value / most, label=percent(value), words=f"{one}, {name}: {percent(value)}")
            for one, value in values.items()
        ]
        rows.append(PlotRow(label=name, bars=tuple(bars)))
    name = re.sub(r"\W+", "-", summary.headline.lower())
    return Plot(name=name, title=summary.headline, rows=tuple(rows), colours=coloured(list(summary.scores)))


def _scores(runs: Sequence[RunReport]) -> Plot:
    rows = []
    for run in runs:
        figure = run.headline
        value = figure.score.value or 0.0
        words = f"{run.run_id}: {percent(value)}{between(figure.interval)}"
        bar = PlotBar(series=figure.name, share=value, label=percent(value), words=words, interval=figure.interval)
        rows.append(PlotRow(label=run.run_id, bars=(bar,)))
    # An interval is promised where one is drawn.
    promise = " with 95 % intervals" if any(run.headline.interval for run in runs) else ""
    colours = dict.fromkeys((run.headline.name for run in runs), "s0")
    title = runs[0].headline.name.capitalize() + promise
    return Plot(name="scores", title=title, rows=tuple(rows), colours=colours, percent=True)


def _costs(runs: Sequence[RunReport]) -> Plot:
    costs = [run.effort.cost_usd or 0.0 for run in runs if run.effort]
    rows = []
    for run, cost in zip(runs, costs, strict=True):
        score = percent(run.headline.score.value or 0.0)
        bar = PlotBar(
            series="cost",
            share=cost / (max(costs) or 1.0),
            label=f"{money(cost, 2)}, {score}",
            words=f"{run.run_id}: {score} for {money(cost)}",
        )
        rows.append(PlotRow(label=run.run_id, bars=(bar,)))
    return Plot(name="costs", title="Cost of each run, and its score", rows=tuple(rows), colours={"cost": "s0"})


_STANDINGS = ("unfit", "tampered", "infrastructure", "not attempted", "made", "pending")
_COLOURS = {
    "solved": "s0",
    "tampered": "s4",
    "unfit": "s4",
    "infrastructure": "rest",
    "pending": "none",
    "made": "rest",
}
_STAGE_COLOURS = ("s1", "s2", "s3", "s5", "s6", "s7")


def _outcomes(runs: Sequence[RunReport]) -> Plot:
    endings = [_endings(run) for run in runs]
    names = sorted({name for one in endings for name in one}, key=lambda name: (name != "solved", name))
    stages = [name for name in names if name not in _COLOURS]
    # The same colours in every report, as far as there are enough.
    colours = {**_COLOURS, **{name: _STAGE_COLOURS[number % 6] for number, name in enumerate(stages)}}
    rows = []
    for run, one in zip(runs, endings, strict=True):
        total = sum(one.values()) or 1
        bars = [
            PlotBar(
                series=name,
                share=one[name] / total,
                label=str(one[name]),
                words=f"{run.run_id}: {name}, {one[name]} of {total} attempts",
            )
            for name in names
            if name in one
        ]
        rows.append(PlotRow(label=run.run_id, bars=tuple(bars)))
    return Plot(
        name="outcomes",
        title="How attempts ended",
        rows=tuple(rows),
        colours={name: colours[name] for name in names},
        stacked=True,
        percent=True,
    )


def _endings(run: RunReport) -> dict[str, int]:
    """Return how many attempts ended how: solved, at which stage points were lost, or without one."""
    below = {_lost(stage): count for stage, count in run.lost_at.items()}
    if run.counts.tampered:  # they are among those that lost something, at whatever they name first
        below = {}
        for row in run.attempts:
            if row.standing == "graded" and row.counted != 1.0:
                ended = _lost(row.reasons[0].stage.value if row.reasons else "unstated")
                below[ended] = below.get(ended, 0) + 1
    full = Counter(standing_words(row) for row in run.attempts if row.counted == 1.0)
    others = {word: getattr(run.counts, word.replace(" ", "_")) for word in _STANDINGS}
    return {name: count for name, count in {**full, **below, **others}.items() if count}


def _lost(stage: str) -> str:
    return "not solved" if stage == "unstated" else f"lost at {stage}"


def drawn(plot: Plot) -> tuple[bytes, bytes]:
    """Return a plot as SVG, and as PNG at twice its size. Raises `MissingExtraError`."""
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtraError(
            "plots are drawn by Vega-Lite; install it with `pip install 'groundup[plots]'`"
        ) from error
    wanted = specification(plot)
    return vl_convert.vegalite_to_svg(wanted).encode(), bytes(vl_convert.vegalite_to_png(wanted, scale=2.0))


def specification(plot: Plot) -> dict[str, Any]:
    """Return *plot* as a Vega-Lite document in its light colours."""
    series, several = [printable(one) for one in plot.colours], len(plot.colours) > 1
    axis = {"format": ".0%", "tickCount": 5} if plot.percent else None
    x = {"field": "from", "type": "quantitative", "title": None, "axis": axis, "scale": {"domain": [0, 1]}}
    y = {"field": "row", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 190}}
    beside = {} if plot.stacked or not several else {"yOffset": {"field": "series", "sort": series}}
    colour = {
        "field": "series",
        "type": "nominal",
        "title": None,
        "scale": {"domain": series, "range": [PALETTE[one][0] for one in plot.colours.values()]},
        "legend": {"orient": "top", "columns": 4} if several else None,
    }
    place = {"align": "center"} if plot.stacked else {"align": "left", "dx": 6}
    layers = [
        {
            "mark": {"type": "bar", "stroke": "white"},
            "encoding": {
                "x": x,
                "x2": {"field": "to"},
                "color": colour,
                "description": {"field": "words"},
            },
        },
        {
            "mark": {"type": "text", **place},
            "encoding": {
                "x": {**x, "field": "label_at"},
                "text": {"field": "label"},
                "color": {"field": "ink", "type": "nominal", "scale": None},
            },
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
        },
    ]
    return {
        "title": printable(plot.title),
        "width": 520,
        "height": {"step": 14 if beside else 30},
        "data": {"values": [value for row in plot.rows for value in _values(plot, row)]},
        "encoding": {"y": y, **beside},
        "layer": layers,
        "config": {"view": {"stroke": None}, "font": "sans-serif"},
    }


def _values(plot: Plot, row: PlotRow) -> Iterator[dict[str, str | float]]:
    """Yield what Vega-Lite is to draw of *row*."""
    end = 0.0
    for bar in row.bars:
        start, end = (end, end + bar.share) if plot.stacked else (0.0, bar.share)
        low, high = (bar.interval.low, bar.interval.high) if bar.interval else (None, end)
        yield {
            "row": printable(row.label),
            "series": printable(bar.series),
            "from": start,
            "to": end,
            "words": printable(bar.words),
            "label": "" if plot.stacked and bar.share < NARROW else bar.label,
            "label_at": (start + end) / 2 if plot.stacked else max(end, high),
            "ink": "white" if plot.stacked and plot.colours[bar.series] not in PALE else "black",
            **({} if low is None else {"low": low, "high": high}),
        }
