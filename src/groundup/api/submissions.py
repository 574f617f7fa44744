"""A run's submissions for other uses: as plain files, or without one kind of mistake."""

import asyncio
from pathlib import Path

from groundup.api.flags import AnyPath
from groundup.api.reports import run_folder
from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.names import unknown
from groundup.runs import exporting
from groundup.runs.predictions import ABLATION_FILE, AblationRecord
from groundup.runs.training import ChosenEpisodes
from groundup.settings import Settings, load
from groundup.store.files import write_atomically
from groundup.store.folder import RunFolder
from groundup.store.ownership import refuse_full
from groundup.suites.base import ForCommands
from groundup.suites.opening import open_suite


def export(
    run: AnyPath,
    destination: AnyPath,
    form: exporting.Form = "tree",
    *,
    chosen: ChosenEpisodes | None = None,
    output: AnyPath | None = None,
    settings: Settings | None = None,
) -> exporting.Exported:
    """Write what the *chosen* attempts of *run* handed in, or what their agents did, into an empty folder.

    Raises `UsageError`.
    """
    found = settings or load({"output": output})
    folder = RunFolder(run_folder(run, found))
    return exporting.export(folder, Path(destination), form, found, chosen)


def ablate(
    run: AnyPath, ablation: str, output: AnyPath, *, settings: Settings | None = None
) -> tuple[int, list[str]]:
    """Write the submissions of *run* with one kind of mistake taken out, as predictions, into the folder *output*.

    A file beside them tells `evaluate` whose they are. Returns how many were written, and for each that was left
    out why. Raises `UsageError`. Not for a running event loop.
    """
    settings, target = settings or load(), Path(output)
    folder = RunFolder(run_folder(run, settings))
    suite = open_suite(folder.config().configuration.suite, settings)
    offered = ForCommands.of(suite).ablation()
    if offered is None or ablation not in offered.kinds:
        raise UsageError(unknown("ablation", ablation, () if offered is None else offered.kinds))
    refuse_full(target)
    tasks = suite.by_name()
    subject, run_id = folder.config().configuration.subject, folder.config().run_id
    record = AblationRecord(ablation=ablation, run=run_id, agent=subject.agent, model=subject.model)
    target.mkdir(parents=True, exist_ok=True)
    write_atomically(target / ABLATION_FILE, record.model_dump_json(indent=1).encode() + b"\n")
    made, refused = 0, []
    for key in folder.config().planned.keys:
        submission = folder.attempt(key).submission
        if not submission.is_dir() or key.task not in tasks:
            continue
        destination = target / key.task / str(key.index)
        destination.mkdir(parents=True)
        try:
            asyncio.run(offered.write(ablation, tasks[key.task], submission, destination))
            made += 1
        except SubmissionError as error:
            destination.rmdir()
            refused.append(f"{key}: {error}")
    return made, refused
