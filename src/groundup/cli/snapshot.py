"""`groundup registry snapshot`: which packages exist, recorded by asking the user's own registries."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from groundup.api.folders import run_folder
from groundup.cli.console import print_document, say
from groundup.cli.options import Examples, Json
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.registries.names import ECOSYSTEMS, Ecosystem, Listing, names_of, read_snapshot, snapshot_lines
from groundup.settings import Settings, environment, load
from groundup.store.files import write_atomically
from groundup.store.folder import RunFolder
from groundup.suites.base import ForCommands, PackageName
from groundup.suites.opening import is_known, open_suite

EXAMPLES: dict[str, Examples] = {
    "registry snapshot": (
        (
            "Everything that a benchmark's originals declare",
            "groundup registry snapshot --names-from dibench -o names.jsonl",
        ),
        ("And what a run's submissions name", "groundup registry snapshot --names-from my-run -o names.jsonl"),
    ),
}


class SnapshotCounts(Record):
    """What a file now says of packages."""

    names: int
    absent: int
    """Names that do not exist."""
    asked: int
    unanswered: int
    """Names without an answer, because their registry is not configured or down."""


def snapshot(
    names_from: Annotated[
        list[str],
        typer.Option("--names-from", metavar="RUN|SUITE", help="Whose packages to look up; can be repeated."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--to", "-o", metavar="FILE", help="File of the snapshot; names that it has are not asked again."
        ),
    ],
    json: Json = False,
) -> int:
    """Ask the registries of your own package managers which packages exist, and record the answers.

    Grade with it by the setting `registry = "FILE"` in groundup.toml, or GROUNDUP_REGISTRY=FILE.
    """
    made = _snapshot(names_from, output, load())
    if json:
        print_document({"file": str(output), **made.model_dump()})
    say(f"groundup: {output} holds {made.names} names, {made.absent} of which do not exist")
    if made.unanswered:
        say(
            f"groundup: no registry answered for {made.unanswered} names: their registries are not configured or "
            "down"
        )
        return 3
    return 0


def _snapshot(names_from: Sequence[str], path: Path, settings: Settings) -> SnapshotCounts:
    """Ask registries for the packages that suites' originals or runs' submissions name; add the answers to *path*.

    What is in the file is not asked again. Raises `UsageError`.
    """
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
    is_suite = ":" in source or is_known(source)
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
