"""The runs of a folder: listed, found again, removed."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from groundup.api.flags import AnyPath
from groundup.api.folders import run_folder
from groundup.api.listings import RecordList, shown_as
from groundup.domain.errors import UsageError
from groundup.domain.figures import minute
from groundup.domain.records import Record
from groundup.domain.verdicts import share
from groundup.reports.summary import report_run
from groundup.runs.leftovers import Leftover, a_leftover, remove
from groundup.runs.reporting import with_faults
from groundup.settings import Settings, with_flags
from groundup.store.folder import RunFolder, is_held, runs_in


class RunEntry(Record):
    """A run in the folder of runs."""

    run: str
    suite: str
    subject: str
    score: str
    began: datetime | None
    pending: int | None
    """Attempts without a verdict; None where the run cannot be read."""
    unfit: str = ""
    """What of its records does not fit first, or why it cannot be read; empty: all fits."""


def list_runs(*, output: AnyPath | None = None, settings: Settings | None = None) -> RecordList[RunEntry]:
    """List the runs of the folder *output*, newest first: suite, subject, score, beginning, what is pending."""
    folder = with_flags(settings, {"output": output}).output
    found = [_run_entry(path) for path in runs_in(folder)]
    found.sort(key=lambda one: one.began.timestamp() if one.began else 0.0, reverse=True)
    rows = tuple(
        (
            one.run,
            one.suite,
            one.subject,
            one.score,
            minute(one.began) if one.began else "",
            "?" if one.pending is None else str(one.pending),
        )
        for one in found
    )
    columns = ("run", "suite", "subject", "score", "began", "pending")
    return RecordList(found, shown_as(str(folder.absolute()), columns, rows))


async def list_runs_async(
    *, output: AnyPath | None = None, settings: Settings | None = None
) -> RecordList[RunEntry]:
    """Return `list_runs(...)` without holding the event loop up."""
    return await asyncio.to_thread(list_runs, output=output, settings=settings)


def _run_entry(path: Path) -> RunEntry:
    """Return what the list says of a run; of one that cannot be read, why."""
    folder = RunFolder(path)
    try:
        config = folder.config()
        records = folder.records()
        report = with_faults(report_run(config, records.lines), records, path)
    except UsageError as error:
        return RunEntry(
            run=path.name, suite="?", subject="?", score="-", began=None, pending=None, unfit=str(error)
        )
    return RunEntry(
        run=path.name,
        suite=f"{report.suite}, {config.grader}",
        subject=report.subject.title,
        score=share(report.headline.score) + (f", {len(report.left_out)} left out" if report.left_out else ""),
        began=config.created_at,
        pending=report.counts.pending + report.counts.infrastructure + report.counts.unfit,
        unfit=report.unfit,
    )


def unfinished_run(output: AnyPath | None = None, settings: Settings | None = None) -> str:
    """Return the one run of the folder *output* that has pending attempts and that nobody works on.

    Raises `UsageError` where there are none or several.
    """
    folder = with_flags(settings, {"output": output}).output
    found = [one.run for one in list_runs(output=folder) if one.pending and not is_held(folder / one.run)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"no run in {folder} has pending attempts; --output names another folder")
    raise UsageError(f"{len(found)} runs have pending attempts; name one of them: {', '.join(found[:10])}")


def removable(runs: Sequence[AnyPath], settings: Settings) -> tuple[Leftover, ...]:
    """Return *runs*, folders or ids, as what can be removed. Raises `UsageError`, also for one at work."""
    folders = list(dict.fromkeys(run_folder(run, settings) for run in runs))
    for folder in folders:
        if is_held(folder):
            raise UsageError(f"a process works on {folder}; end it first")
    return tuple(a_leftover("run", folder) for folder in folders)


def remove_runs(found: tuple[Leftover, ...], settings: Settings) -> list[Path]:
    """Remove what `removable` found, each run at once or not at all; return what others put there, which stays."""
    return remove(found, settings)
