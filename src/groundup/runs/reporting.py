"""Reports on runs, from what their folders hold and what their suites make of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.inventory import Inventory
from groundup.domain.subjects import AttemptKey
from groundup.reports.causes import AttemptLosses, attempt_losses
from groundup.reports.document import Report, RunReport
from groundup.reports.summary import report_run, side_by_side
from groundup.settings import Settings
from groundup.store.checking import RunRecords
from groundup.store.folder import RunFolder
from groundup.store.records import ConfigFile, VerdictLine
from groundup.suites.base import Summary, Tables
from groundup.suites.opening import open_suite


class ReadRun(NamedTuple):
    """A run's report, and what it was made from."""

    report: RunReport
    folder: RunFolder
    lines: Mapping[AttemptKey, VerdictLine]
    """The line that counts for each attempt."""


def read_report(folders: Sequence[Path], settings: Settings) -> Report:
    """Report the runs in *folders*."""
    return side_by_side([read_run(folder, settings).report for folder in folders])


def read_run(path: Path, settings: Settings) -> ReadRun:
    """Report the run in the folder *path*, with the verdicts that say so: they take longest to read."""
    folder = RunFolder(path)
    config, records = folder.config(), folder.records()
    lines = records.lines
    report = report_run(
        config,
        lines,
        suite_summaries(config, lines, settings),
        folder.made(config, lines),
        losses_by_attempt(folder, lines),
        _programs(folder),
    )
    return ReadRun(with_faults(report, records, path), folder, lines)


def _programs(folder: RunFolder) -> tuple[Inventory, ...]:
    """Return which programs agents had; nothing where the lock cannot be read, which the faults say."""
    try:
        return folder.lock().agents_had
    except UsageError:
        return ()


def losses_by_attempt(
    folder: RunFolder, lines: Mapping[AttemptKey, VerdictLine]
) -> dict[AttemptKey, AttemptLosses]:
    """Return what each attempt of *lines* lost, by cause and by kind; nothing for one that lost nothing."""
    return {
        key: attempt_losses(folder.attempt(key).lost_tests(), line.verdict)
        for key, line in lines.items()
        if line.verdict is not None and line.verdict.settles and line.verdict.reasons
    }


def with_faults(report: RunReport, records: RunRecords, folder: Path) -> RunReport:
    """Return *report* with what in the run's folder does not fit, and whether a change would show."""
    told = [records.told(folder)] if records.faults else []
    if records.unchained:
        told.append("an earlier version wrote its verdicts, which have no digests: a change of them may not show")
    return report.but(faults=len(records.faults), warnings=(*told, *report.warnings)) if told else report


def suite_summaries(
    config: ConfigFile, lines: Mapping[AttemptKey, VerdictLine], settings: Settings
) -> Sequence[Summary]:
    """Return what a run's suite makes of it, or why the suite cannot be loaded any more."""
    try:
        suite = open_suite(config.configuration.suite, settings)
        return Tables.of(suite).summaries({key: line.verdict for key, line in lines.items()}, config.grader)
    except GroundupError as error:
        why = str(error)
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:  # somebody changed what verdicts say
        why = f"its verdicts lack what the suite's own tables are made of ({type(error).__name__}: {error})"
    return (Summary(headline=f"{config.suite_name} says no more of this run", notes=(why,)),)


def instruction_of(folder: RunFolder, task: str, settings: Settings) -> str | None:
    """Return what *task* of the run asks for; None where its suite has no such task. Raises `GroundupError`."""
    found = open_suite(folder.config().configuration.suite, settings).by_name().get(task)
    return None if found is None else found.instruction


def write_report(folder: Path, settings: Settings) -> None:
    RunFolder(folder).write_report(read_report([folder], settings).model_dump(mode="json"))
