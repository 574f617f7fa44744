"""Export the report of runs as the SVG that the README shows: `python examples/picture.py OUT.svg RUN...`."""

import io
import re
import sys
from pathlib import Path

from rich.console import Console

from groundup.api.reports import read_report
from groundup.reports.formats import show
from groundup.reports.views import views_of


def picture(target: Path, runs: list[Path]) -> None:
    """Write what `groundup report` prints for *runs*, without addresses of fonts on the web."""
    console = Console(record=True, width=112, file=io.StringIO(), highlight=False)
    show(views_of(read_report(runs)), console)
    drawn = console.export_svg(title=f"groundup report {' '.join(run.name for run in runs)}")
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    target.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    picture(Path(sys.argv[1]), [Path(run) for run in sys.argv[2:]])
