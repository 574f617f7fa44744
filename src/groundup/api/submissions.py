"""A run's submissions for other uses: as plain files, without one kind of mistake, or as names of packages."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from groundup.api.flags import AnyPath
from groundup.api.reports import run_folder
from groundup.domain.errors import SubmissionError, UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.registries.names import ECOSYSTEMS, Ecosystem, Listing, names_of, read_snapshot, snapshot_lines
from groundup.runs import exporting
from groundup.runs.predictions import ABLATION_FILE, AblationRecord
from groundup.runs.training import ChosenEpisodes
from groundup.settings import Settings, environment, load
from groundup.store.files import write_atomically
from groundup.store.folder import RunFolder
from groundup.store.ownership import refuse_full
from groundup.suites.base import ForCommands, PackageName
from groundup.suites.opening import SUITES, open_suite


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


class SnapshotCounts(Record):
    """What a file now says of packages."""

    names: int
    absent: int
    """Names that do not exist."""
    asked: int
    unanswered: int
    """Names without an answer, because their registry is not configured or down."""


def snapshot(names_from: Sequence[str], file: AnyPath, *, settings: Settings | None = None) -> SnapshotCounts:
    """Ask registries for the packages that suites' originals or runs' submissions name; add the answers to *file*.

    What is in the file is not asked again. Raises `UsageError`. Not for a running event loop.
    """
    settings, path = settings or load(), Path(file)
    known = {(item.ecosystem, item.name): item for item in (read_snapshot(path) if path.exists() else ())}
    wanted = {name for source in names_from for name in _packages(source, settings)}
    missing = sorted(name for name in wanted if (name.ecosystem, name.name) not in known)
    found, unanswered = asyncio.run(_asked(missing, settings))
    known.update({(item.ecosystem, item.name): item for item in found})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, snapshot_lines(known.values()))
    absent = sum(not item.exists for item in known.values())
    return SnapshotCounts(names=len(known), absent=absent, asked=len(missing), unanswered=unanswered)


async def _asked(names: Collection[PackageName], settings: Settings) -> tuple[list[Listing], int]:
    ecosystems: dict[str, Ecosystem] = {name: name for name in ECOSYSTEMS}
    live = names_of("live", settings.cache_dir, environment())
    async with live.asking() as asking:
        answers = await asyncio.gather(*(asking.look_up(ecosystems[item.ecosystem], item.name) for item in names))
    found = [answer for answer in answers if answer is not None]
    return found, len(answers) - len(found)


def _packages(source: str, settings: Settings) -> Iterator[PackageName]:
    """Yield what a suite's originals declare, or what a run's submissions do. Raises `UsageError`."""
    is_suite = ":" in source or SUITES.knows(source.partition("@")[0])
    folder = None if is_suite else RunFolder(run_folder(source, settings))
    name = source if folder is None else folder.config().configuration.suite
    suite = open_suite(name, settings)
    tasks = suite.by_name()
    asked: list[tuple[Task, Path | None]] = (
        [(task, None) for task in tasks.values()]
        if folder is None
        else [
            (tasks[key.task], place)
            for key in folder.config().planned.keys
            if (place := folder.attempt(key).submission).is_dir() and key.task in tasks
        ]
    )
    for task, submission in asked:
        found = ForCommands.of(suite).packages(task, submission)
        if found is None:
            raise UsageError(f"{name} asks no registry for names; a snapshot is of no use to it")
        yield from found
