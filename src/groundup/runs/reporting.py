"""From run folders to their report. What a report says is `reports`'s; showing it is the caller's."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from groundup.domain.errors import GroundupError
from groundup.domain.subjects import AttemptKey
from groundup.reports.document import Report
from groundup.reports.summary import report_of
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import ConfigFile, VerdictLine
from groundup.suites.base import Summary, open_suite


def read_report(folders: Sequence[Path], settings: Settings) -> Report:
    """Report the runs in *folders*."""

    def summaries(config: ConfigFile, lines: Mapping[AttemptKey, VerdictLine]) -> Sequence[Summary]:
        return suite_summaries(config, lines, settings)

    runs = [RunFolder(folder) for folder in folders]
    made = [run.made() for run in runs]
    return report_of([(run.config(), run.latest()) for run in runs], summaries, made)


def suite_summaries(
    config: ConfigFile, lines: Mapping[AttemptKey, VerdictLine], settings: Settings
) -> Sequence[Summary]:
    """Return what a run's suite makes of it, or why the suite cannot be loaded any more."""
    try:
        suite = open_suite(config.configuration.suite, settings)
        return suite.summaries({key: line.verdict for key, line in lines.items()}, config.grader)
    except GroundupError as error:
        return (Summary(headline=f"{config.suite_name} says no more of this run", notes=(str(error),)),)


def write_report(folder: Path, settings: Settings) -> None:
    """Write `report.json` into a run's folder."""
    RunFolder(folder).write_report(read_report([folder], settings).model_dump(mode="json"))
