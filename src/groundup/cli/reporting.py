"""Reading run folders into reports and printing them in the format that was asked for."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.cli.console import print_document, tables
from groundup.cli.options import Format, Talk
from groundup.reports.summary import report_of
from groundup.store.folder import RunFolder

if TYPE_CHECKING:
    from groundup.domain.subjects import AttemptKey
    from groundup.reports.document import Report
    from groundup.reports.views import View
    from groundup.store.records import ConfigFile, VerdictLine
    from groundup.suites.base import Summary


def read_report(folders: Sequence[Path]) -> "Report":
    """Report the runs in *folders*."""
    runs = [RunFolder(folder) for folder in folders]
    made = [run.made() for run in runs]
    return report_of([(run.config(), run.latest()) for run in runs], suite_summaries, made)


def suite_summaries(config: "ConfigFile", lines: "Mapping[AttemptKey, VerdictLine]") -> "Sequence[Summary]":
    """Return what a run's suite makes of it; a suite that cannot be loaded any more is told instead."""
    from groundup import catalog
    from groundup.cli.settings import settings_from
    from groundup.domain.errors import GroundupError
    from groundup.suites.base import Summarising, Summary

    try:
        suite = catalog.find("suite", config.configuration.suite)(settings_from())
        if not isinstance(suite, Summarising):
            return ()
        return suite.summaries({key: line.verdict for key, line in lines.items()}, config.grader)
    except GroundupError as error:
        return (Summary(headline=f"{config.suite_name} says no more of this run", notes=(str(error),)),)


def write_report(folder: Path) -> None:
    """Write `report.json` into a run's folder."""
    RunFolder(folder).write_report(read_report([folder]).model_dump(mode="json"))


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
