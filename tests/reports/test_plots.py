"""`reports.plots`: what is drawn of runs, as documents for Vega-Lite, to the last number.

`RECORD=1 pytest tests/reports/test_plots.py` writes golden/plots.txt anew: read what changed, for users see it.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from groundup.domain.limits import Effort
from groundup.domain.verdicts import Score
from groundup.reports.document import RunReport
from groundup.reports.plots import plots_of, specification
from groundup.reports.summary import report_run, side_by_side
from groundup.suites.base import Summary
from tests.reports.made import Word, run_of

GOLDEN = Path(__file__).parent / "golden" / "plots.txt"
LOST: dict[str, list[Word]] = {
    "a": [(1, 2), (2, 2)],
    "b": [(0, 2), (3, 4)],
    "c": ["pending", "not_attempted"],
    **{f"d{number:02}": [(1, 1), (1, 1)] for number in range(20)},
}
FORGED: dict[str, list[Word]] = {"a": [(1, 2)], "b": ["tampered"], "c": ["infrastructure"], "d00": [(1, 1)]}


def _share(numerator: float, denominator: float = 4) -> Score:
    return Score(numerator=numerator, denominator=denominator)


def _summaries(first: float) -> list[Summary]:
    rates = {"1-5": {"F1": _share(first), "Exec": _share(1)}, ">=6": {"F1": _share(0, 0)}}
    density = {"python": {"1": _share(1), "2-9": _share(3)}, "rust": {"1": _share(0, 0)}}
    return [
        Summary(headline="By number of dependencies", scores=rates),
        Summary(headline="Others", scores=rates),
        Summary(headline="Density by lines of code", scores=density, layout="figure"),
    ]


def _all() -> Iterator[str]:
    runs: list[RunReport] = []
    for name, words, cost in (("lost\x1b", LOST, 0.5), ("forged", FORGED, 2.0), ("unpaid", FORGED, None)):
        config, lines = run_of(name.strip("\x1b"), words)
        made = report_run(config, lines, _summaries(len(runs)))
        runs.append(made.but(run_id=name, effort=Effort(cost_usd=cost)))
    for several in (runs, runs[:1], [report_run(*run_of("none", {"a": ["pending"]}))]):
        for plot in plots_of(side_by_side(several)):
            yield f"##### {plot.name}: {plot.title}, stacked {plot.stacked}"
            document = specification(plot)
            for value in document["data"].pop("values"):
                yield " | ".join(
                    f"{key} {one:.4f}" if isinstance(one, float) else f"{one}" for key, one in value.items()
                )
            yield json.dumps(document)


def test_plots_are_drawn_as_ever() -> None:
    """Bars, labels, intervals, colours and keys."""
    text = "\n".join(_all()) + "\n"
    if os.environ.get("RECORD"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
