"""Reading run folders into reports and printing them in the format that was asked for."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.cli.console import print_document, tables
from groundup.cli.options import Format, Talk

if TYPE_CHECKING:
    from groundup.reports.document import Report
    from groundup.reports.views import View


def read_report(folders: Sequence[Path]) -> "Report":
    """Report the runs in *folders*."""
    from groundup.cli.settings import settings_from
    from groundup.runs import reporting

    return reporting.read_report(folders, settings_from())


def print_report(report: "Report", wanted: Format) -> None:
    """Print *report* on standard output."""
    from groundup.reports.views import views_of

    print_views(report, views_of(report), wanted)


def print_result(report: "Report", talk: Talk) -> None:
    """Print what a run came to, as the user wants it told: quietly, a line with the score."""
    if not talk.quiet or talk.report_format is not Format.TABLE:
        print_report(report, talk.report_format)
        return
    from groundup.reports.views import share

    for run in report.runs:
        sys.stdout.write(f"{run.run_id}: {run.headline.name} {share(run.headline.score)}\n")


def print_views(report: "Report", views: "Iterable[View]", wanted: Format) -> None:
    """Print *report* as JSON, or these views of it, on standard output."""
    match wanted:
        case Format.JSON:
            print_document(report)
        case Format.MARKDOWN:
            from groundup.reports.formats import markdown

            sys.stdout.write(markdown(views))
        case Format.TABLE:
            from groundup.reports.formats import show

            show(views, tables())


def below(report: "Report", share: float | None) -> str | None:
    """Return a sentence when the mean score of some run is below *share*, or is none at all."""
    if share is None:
        return None
    for run in report.runs:
        value = run.headline.score.value
        if value is None or value < share:
            reached = "no score" if value is None else f"{value * 100:.6g} %"
            return f"the run {run.run_id} has {reached}, below --fail-under {share:g} ({share * 100:g} %)"
    return None
