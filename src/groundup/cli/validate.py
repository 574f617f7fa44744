"""`groundup curate validate`: which tasks can be graded on this machine at all."""

from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json, names

if TYPE_CHECKING:
    from groundup.settings import Settings
    from groundup.suites.protocol import Validation

EXAMPLES: Examples = (
    ("Which Python instances can be executed here?", "groundup curate validate dibench --tasks python"),
    ("One of them, tried anew", "groundup curate validate dibench --tasks my-instance --again"),
    ("Then run those that can", "groundup run dibench -a static --grader execution --tasks valid"),
)


def validate(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="A suite that executes (dibench).")],
    tasks: Annotated[
        list[str] | None, typer.Option("--tasks", metavar="NAMES", help="Tasks or groups; can be repeated.")
    ] = None,
    times: Annotated[int, typer.Option("--times", "-k", min=1, help="Tries of each submission.")] = 3,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Tasks at once.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Also what is known.")] = False,
    json: Json = False,
) -> int:
    """Execute each task's original, which must pass, and its empty submission, which must fail.

    What is found is kept, and is the group `valid` of the suite's tasks. A failure of the machine or of the
    network says nothing of a task: exit code 3, and the next call tries again.
    """
    import asyncio
    from collections import Counter

    from groundup.cli.console import print_document, say
    from groundup.cli.settings import settings_from

    found = asyncio.run(_validated(suite, names(tasks, "--tasks") or (), times, again, settings_from(jobs=jobs)))
    counts = Counter(one.standing for one in found)
    if json:
        print_document({"counts": dict(counts), "tasks": [one.model_dump(mode="json") for one in found]})
    say("groundup: " + ", ".join(f"{count} {standing}" for standing, count in sorted(counts.items())))
    return 3 if counts["infrastructure"] else 0


async def _validated(
    name: str, wanted: tuple[str, ...], times: int, again: bool, settings: "Settings"
) -> list["Validation"]:
    import asyncio
    import itertools
    import tempfile
    from pathlib import Path

    from groundup import catalog
    from groundup.cli.console import say
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown
    from groundup.grading.bench import Bench
    from groundup.runs.equipment import equipment
    from groundup.suites.protocol import Grouping, Suite, Validating

    suite: Suite = catalog.find("suite", name)(settings)
    if not isinstance(suite, Validating):
        raise UsageError(f"{name} has nothing to validate; only suites that execute tasks of others have")
    every = {task.id: task for task in suite.tasks()}
    groups = suite.groups() if isinstance(suite, Grouping) else {}
    for part in wanted:
        if part not in every and part not in groups:
            raise UsageError(unknown("task", part, [*every, *groups]))
    chosen = sorted({task for part in wanted for task in groups.get(part, (part,))} or every)
    turn = asyncio.Semaphore(settings.jobs)
    numbers = itertools.count()

    async with equipment(settings.sandbox, settings) as tools:
        with tempfile.TemporaryDirectory(prefix="groundup-validate-", ignore_cleanup_errors=True) as folder:

            def bench() -> Bench:
                scratch = Path(folder) / str(next(numbers))
                scratch.mkdir()
                return tools.bench(scratch, None)

            async def one(task: str) -> "Validation":
                async with turn:
                    found = await suite.validate(every[task], times, bench, again=again)
                say(f"{task}: {found.standing}" + (f": {found.why}" if found.why else ""))
                return found

            return list(await asyncio.gather(*map(one, chosen)))
