"""`groundup registry snapshot`: write down which packages exist, for offline and repeatable grading."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from groundup.domain.tasks import Task
    from groundup.registries.names import Ecosystem, Listing
    from groundup.settings import Settings
    from groundup.suites.base import PackageName

SNAPSHOT_EXAMPLES: Examples = (
    (
        "Everything that a benchmark's originals declare",
        "groundup registry snapshot --names-from dibench -o names.jsonl",
    ),
    ("And what a run's submissions name", "groundup registry snapshot --names-from my-run -o names.jsonl"),
)


def snapshot(
    names_from: Annotated[
        list[str], typer.Option("--names-from", metavar="RUN|SUITE", help="Whose packages to ask for; repeatable.")
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The snapshot; what is in it is not asked again."),
    ],
    json: Json = False,
) -> int:
    """Ask the registries that your own package managers use, and write their answers down.

    Grade with it by the setting `registry = "FILE"` in groundup.toml, or GROUNDUP_REGISTRY=FILE.
    """
    import asyncio

    from groundup.cli.console import print_document, say
    from groundup.cli.settings import settings_from
    from groundup.registries.names import read_snapshot, snapshot_lines
    from groundup.store.files import write_atomically

    settings = settings_from()
    wanted = {name for source in names_from for name in _names(source, settings)}
    known = {(item.ecosystem, item.name): item for item in (read_snapshot(output) if output.exists() else ())}
    missing = sorted(name for name in wanted if (name.ecosystem, name.name) not in known)
    found, unanswered = asyncio.run(_asked(missing, settings))
    known.update({(item.ecosystem, item.name): item for item in found})
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(output, snapshot_lines(known.values()))
    absent = sum(not item.exists for item in known.values())
    if json:
        print_document(
            {
                "file": str(output),
                "names": len(known),
                "absent": absent,
                "asked": len(missing),
                "unanswered": unanswered,
            }
        )
    say(f"groundup: {output} holds {len(known)} names, {absent} of which do not exist")
    if unanswered:
        say(f"groundup: nobody could be asked about {unanswered}: their registries are not configured or down")
        return 3
    return 0


async def _asked(names: "Collection[PackageName]", settings: "Settings") -> "tuple[list[Listing], int]":
    import asyncio

    from groundup.registries.names import ECOSYSTEMS, names_of
    from groundup.settings import environment

    ecosystems: dict[str, Ecosystem] = {name: name for name in ECOSYSTEMS}
    live = names_of("live", settings.cache_dir, environment())
    async with live.asking() as asking:
        answers = await asyncio.gather(*(asking.look_up(ecosystems[item.ecosystem], item.name) for item in names))
    found = [answer for answer in answers if answer is not None]
    return found, len(answers) - len(found)


def _names(source: str, settings: "Settings") -> "Iterator[PackageName]":
    """Yield what a suite's originals declare, or what a run's submissions do. Raises `UsageError`."""
    from groundup import catalog
    from groundup.cli.settings import run_folder
    from groundup.domain.errors import UsageError
    from groundup.store.folder import RunFolder
    from groundup.suites.base import open_suite

    is_suite = source in catalog.names("suite") or ":" in source
    folder = None if is_suite else RunFolder(run_folder(source, settings))
    name = source if folder is None else folder.config().configuration.suite
    suite = open_suite(name, settings)
    tasks = {task.id: task for task in suite.tasks()}
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
        found = suite.packages(task, submission)
        if found is None:
            raise UsageError(f"{name} asks no registry for names; a snapshot is of no use to it")
        yield from found
