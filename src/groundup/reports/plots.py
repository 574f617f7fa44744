"""A report as plots: small SVG pictures, drawn from the same records as the tables. Pure.

Each picture stands alone: its colours are in it, for light and dark, and its marks have words that screen readers
read. Lengths are in pixels; shares run from 0 to 1.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.domain.subjects import ABLATION
from groundup.reports.document import Report, RunReport
from groundup.reports.intervals import Interval
from groundup.reports.numbers import between, percent
from groundup.suites.base import Summary

WIDTH = 760
_LABELS = 190
_ROW = 30
_BANDED_RUNS = 8
_LABEL_LENGTH = 23
_STYLE = """
svg{font:13px system-ui,sans-serif;--ink:#1a1a19;--soft:#6b6a66;--line:#dddcd6;--mark:#2a6fbb;--ground:#fcfcfb;
--s0:#2a6fbb;--s1:#a85a17;--s2:#2f7f4f;--s3:#a0519e;--s4:#b8443f;--s5:#6a781d;--s6:#217b82;--s7:#8a6d4f}
@media (prefers-color-scheme:dark){svg{--ink:#f2f1ec;--soft:#a9a8a2;--line:#3c3b38;--mark:#6ba6e8;--ground:#1a1a19;
--s0:#6ba6e8;--s1:#e9a45b;--s2:#6fc08f;--s3:#c886c6;--s4:#e5807b;--s5:#b3c152;--s6:#62c1c8;--s7:#c3a382}}
text{fill:var(--ink)}.soft{fill:var(--soft)}.end{text-anchor:end}.middle{text-anchor:middle}
.small{font-size:11px}.over{fill:var(--ground)}
.grid{stroke:var(--line)}.bar{fill:var(--mark)}.whisker{stroke:var(--ink);stroke-width:1.5;fill:none}
.none{fill:none;stroke:var(--line);stroke-dasharray:3 2}.tampered{fill:var(--s4)}
.s0{fill:var(--s0)}.s1{fill:var(--s1)}.s2{fill:var(--s2)}.s3{fill:var(--s3)}.s4{fill:var(--s4)}.s5{fill:var(--s5)}
.s6{fill:var(--s6)}.s7{fill:var(--s7)}.rest{fill:var(--line)}
"""


_COLOUR = re.compile(r"--(\w+):(#\w+)")
_USED = re.compile(r"var\(--(\w+)\)")
_DARK = re.compile(r"@media[^{]*\{svg\{[^}]*\}\}")


class Plot(Record):
    """A picture: a short name for files, a title for people, and the SVG text."""

    name: str
    title: str
    svg: str


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
    curves = [one for run in report.runs for one in run.summaries if one.layout == "figure"]
    for headline in dict.fromkeys(one.headline for one in curves):
        yield _curves(next(one for one in curves if one.headline == headline))


def _banded(run: RunReport, figure: str) -> Iterator[Summary]:
    """Yield a suite's tables of *figure* by bands, such as DI-Bench's by number of dependencies and by size."""
    for one in run.summaries:
        if one.headline.startswith("By ") and any(figure in scores for scores in one.scores.values()):
            yield one


def _curves(summary: Summary) -> Plot:
    """Return a curve for each row of a table of shares: a point for each of its columns."""
    left, right, top = 60, WIDTH - 20, 16 + 20 * len(summary.scores)
    bottom = top + 240
    names = list(dict.fromkeys(name for row in summary.scores.values() for name in row))
    most = max([0.05, *(score.value or 0.0 for row in summary.scores.values() for score in row.values())])
    parts = []
    for share in (0, 0.5, 1):
        y = bottom - share * (bottom - top)
        parts += [
            _line(left, y, right, y, "grid"),
            _text(left - 8, y + 4, f"{share * most * 100:.0f} %", "soft end"),
        ]
    for place, name in enumerate(names):
        parts.append(_text(left + (place + 0.5) * (right - left) / len(names), bottom + 20, name, "small middle"))
    for number, (row, scores) in enumerate(summary.scores.items()):
        colour = f"s{number % 8}"
        parts += [_rect(left, 4 + 20 * number, 12, 12, colour), _text(left + 18, 15 + 20 * number, row)]
        points = []
        for place, name in enumerate(names):
            value = scores[name].value if name in scores else None
            x, y = (
                left + (place + 0.5) * (right - left) / len(names),
                bottom - (value or 0.0) / most * (bottom - top),
            )
            points.append(f"{x:.1f},{y:.1f}")
            words = escape(printable(f"{row}, {name}: {percent(value or 0.0)}"))
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="{colour}"><title>{words}</title></circle>'
            )
        parts.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="var(--{colour})" stroke-width="1.5"/>'
        )
    name = re.sub(r"\W+", "-", summary.headline.lower())
    return _picture(name, summary.headline, bottom + 34, parts)


def _bands(headline: str, figure: str, runs: Sequence[RunReport]) -> Plot:
    """Return *figure* by band, a bar for each run."""
    found = {run.run_id: one.scores for run in runs for one in _banded(run, figure) if one.headline == headline}
    names = list(dict.fromkeys(name for scores in found.values() for name in scores))
    parts, right, y = [], WIDTH - 70, 12.0 + 20 * len(found)
    for number, run in enumerate(found):
        parts += [
            _rect(_LABELS, 4 + 20 * number, 12, 12, f"s{number}"),
            _text(_LABELS + 18, 15 + 20 * number, run),
        ]
    for name in names:
        parts.append(_label(_LABELS - 10, y + 7 * len(found) + 4, name))
        for number, (run, scores) in enumerate(found.items()):
            value = scores[name][figure].value if figure in scores.get(name, {}) else None
            if value is not None:
                words = f"{run}, {name}: {figure} {percent(value)}"
                parts.append(_rect(_LABELS, y, value * (right - _LABELS), 12, f"s{number}", words))
                parts.append(_text(_LABELS + value * (right - _LABELS) + 6, y + 11, percent(value), "soft"))
            y += 14
        y += 10
    name = ("" if figure == "F1" else f"{figure.lower()}-") + headline.lower().replace(" ", "-")
    return _picture(name, f"{figure}: {headline[0].lower()}{headline[1:]}", y, parts)


def counts(name: str, title: str, groups: Mapping[str, Mapping[str, int]]) -> Plot:
    """Return whole numbers as bars: of each group one for each series, in the same order everywhere."""
    series = list(dict.fromkeys(one for found in groups.values() for one in found))
    most = max([1, *(number for found in groups.values() for number in found.values())])
    parts, right, y = [], WIDTH - 70, 12.0 + 20 * len(series)
    for at, one in enumerate(series):
        parts += [_rect(_LABELS, 4 + 20 * at, 12, 12, f"s{at % 8}"), _text(_LABELS + 18, 15 + 20 * at, one)]
    for group, found in groups.items():
        parts.append(_label(_LABELS - 10, y + 7 * len(series) + 4, group))
        for at, one in enumerate(series):
            width = found.get(one, 0) / most * (right - _LABELS)
            parts.append(_rect(_LABELS, y, width, 12, f"s{at % 8}", f"{one}, {group}: {found.get(one, 0)}"))
            parts.append(_text(_LABELS + width + 6, y + 11, str(found.get(one, 0)), "soft"))
            y += 14
        y += 10
    return _picture(name, title, y, parts)


def as_png(plot: Plot) -> bytes | None:
    """Return a picture as PNG in its light colours, at twice its size; None where vl-convert is not installed."""
    try:
        import vl_convert
    except ImportError:
        return None
    light = dict(_COLOUR.findall(_STYLE.partition("@media")[0]))
    plain = _DARK.sub("", plot.svg)
    drawn = _USED.sub(lambda found: light[found[1]], plain)  # its renderer knows no variables
    return bytes(vl_convert.svg_to_png(drawn, scale=2.0))


def _picture(name: str, title: str, height: float, parts: Sequence[str]) -> Plot:
    body = "".join(parts)
    return Plot(
        name=name,
        title=title,
        svg=f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title><style>{_STYLE}</style>{body}</svg>',
    )


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(printable(words))}</text>'


def _label(x: float, y: float, words: str, kind: str = "end") -> str:
    """Return *words*, cut to the room of a label; the whole is shown where one points at it."""
    shown = words if len(words) <= _LABEL_LENGTH else words[: _LABEL_LENGTH - 1] + "…"
    whole = escape(printable(words))
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(printable(shown))}<title>{whole}</title></text>'


def _rect(x: float, y: float, width: float, height: float, kind: str, words: str = "", more: str = "") -> str:
    title = f"<title>{escape(printable(words))}</title>" if words else ""
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0):.2f}" height="{height:g}" class="{kind}"{more}>'
        f"{title}</rect>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" class="{kind}"/>'


def _whisker(low: float, high: float, y: float) -> list[str]:
    ends = [_line(x, y - 4, x, y + 4, "whisker") for x in (low, high)]
    return [_line(low, y, high, y, "whisker"), *ends]


def _share_axis(left: float, right: float, height: float) -> list[str]:
    parts = []
    for tenth in (0, 0.25, 0.5, 0.75, 1):
        x = left + tenth * (right - left)
        parts += [_line(x, 8, x, height - 22, "grid"), _text(x, height - 6, f"{tenth * 100:g} %", "soft middle")]
    return parts


def _scores(runs: Sequence[RunReport]) -> Plot:
    height = 16 + _ROW * len(runs) + 24
    right = WIDTH - 70
    parts = _share_axis(_LABELS, right, height)
    for number, run in enumerate(runs):
        figure, y = run.headline, 16 + _ROW * number
        value = figure.score.value or 0.0
        words = f"{run.run_id}: {percent(value)}{between(figure.interval)}"
        parts += [_label(_LABELS - 10, y + 16, run.run_id)]
        parts += [_rect(_LABELS, y + 4, value * (right - _LABELS), 16, "bar", words, ' rx="2"')]
        if figure.interval:
            low, high = (
                _LABELS + bound * (right - _LABELS) for bound in (figure.interval.low, figure.interval.high)
            )
            parts += _whisker(low, high, y + 12)
        parts += [_text(right + 8, y + 16, percent(value))]
    title = runs[0].headline.name.capitalize() + _with_intervals(run.headline.interval for run in runs)
    return _picture("scores", title, height, parts)


def _with_intervals(intervals: Iterable[Interval | None]) -> str:
    """Return the end of a plot's title: an interval is promised where one is drawn."""
    return " with 95 % intervals" if any(intervals) else ""


_STANDINGS = ("unfit", "tampered", "infrastructure", "not attempted", "made", "pending")


def _lost(stage: str) -> str:
    return "not solved" if stage == "unstated" else f"lost at {stage}"


def _shares(run: RunReport) -> dict[str, int]:
    """Return how many attempts ended how: solved, at which stage points were lost, or without one."""
    below = {_lost(stage): count for stage, count in run.lost_at.items()}
    if run.counts.tampered:  # they are among those that lost something, at whatever they name first
        below = {}
        for row in run.attempts:
            if row.standing == "graded" and row.counted != 1.0:
                ended = _lost(row.reasons[0].stage.value if row.reasons else "unstated")
                below[ended] = below.get(ended, 0) + 1
    full = sum(row.standing == "graded" and row.counted == 1.0 for row in run.attempts)
    others = {word: getattr(run.counts, word.replace(" ", "_")) for word in _STANDINGS}
    return {name: count for name, count in {"solved": full, **below, **others}.items() if count}


_COLOURS = {
    "solved": "s0",
    "tampered": "s4",
    "unfit": "s4",
    "infrastructure": "rest",
    "pending": "none",
    "made": "rest",
}
_STAGE_COLOURS = ("s1", "s2", "s3", "s5", "s6", "s7")


def _colours(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each ending: the same in every report, as far as there are enough."""
    stages = [name for name in names if name not in _COLOURS]
    return {**_COLOURS, **{name: _STAGE_COLOURS[number % 6] for number, name in enumerate(stages)}}


def _outcomes(runs: Sequence[RunReport]) -> Plot:
    shares = [_shares(run) for run in runs]
    names = sorted({name for one in shares for name in one}, key=lambda name: (name != "solved", name))
    colours = _colours(names)
    legend_rows = (len(names) + 3) // 4
    height = 20 + 20 * legend_rows + _ROW * len(runs) + 8
    parts = []
    for number, name in enumerate(names):
        x, y = 10 + (number % 4) * ((WIDTH - 20) / 4), 8 + 20 * (number // 4)
        parts += [_rect(x, y, 12, 12, colours[name]), _text(x + 18, y + 11, name)]
    for number, (run, one) in enumerate(zip(runs, shares, strict=True)):
        y, x, total = 20 + 20 * legend_rows + _ROW * number, float(_LABELS), sum(one.values()) or 1
        parts.append(_label(_LABELS - 10, y + 16, run.run_id))
        for name in names:
            width = one.get(name, 0) / total * (WIDTH - _LABELS - 20)
            if width:
                words = f"{run.run_id}: {name}, {one[name]} of {total} attempts"
                parts.append(_rect(x, y + 4, width - 2, 16, colours[name], words))
                if width > 26:
                    kind = "middle" if colours[name] in ("rest", "none") else "middle over"
                    parts.append(_text(x + width / 2, y + 16, str(one[name]), kind))
                x += width
    return _picture("outcomes", "How attempts ended", height, parts)


def _costs(runs: Sequence[RunReport]) -> Plot:
    points = [(run.effort.cost_usd or 0.0, run.headline.score.value or 0.0, run) for run in runs if run.effort]
    most = max(cost for cost, _, _ in points) or 1.0
    left, right, top, bottom = 60, WIDTH - 150, 16, 276
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = bottom - share * (bottom - top)
        parts += [_line(left, y, right, y, "grid"), _text(left - 8, y + 4, f"{share * 100:g} %", "soft end")]
    for share in (0, 0.5, 1):
        parts.append(_text(left + share * (right - left), bottom + 20, f"${share * most:.2f}", "soft middle"))
    for cost, value, run in points:
        x, y = left + cost / most * (right - left), bottom - value * (bottom - top)
        words = escape(printable(f"{run.run_id}: {percent(value)} for ${cost:.4f}"))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="bar"><title>{words}</title></circle>')
        parts.append(_label(x + 9, y + 4, run.run_id, ""))
    return _picture("costs", "Cost of the run against its score", bottom + 34, parts)
