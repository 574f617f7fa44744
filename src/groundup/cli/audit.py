"""`groundup audit`: what scores of a suite's tasks are worth."""

from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Examples, Json

EXAMPLES: dict[str, Examples] = {
    "audit": (
        ("Are three tasks fit to measure with?", "groundup audit nl2repobench --tasks six,sqlparse,tenacity"),
        ("All of a suite, into a folder of your own", "groundup audit repogenesis -o audits/repogenesis"),
        (
            "With submissions of your own that deserve nothing",
            "groundup audit nl2repobench --tasks six --submissions my-cheats",
        ),
    ),
}


def audit(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="A suite's name, or package.module:attribute.")],
    tasks: Annotated[
        list[str] | None, typer.Option("--tasks", metavar="NAMES", help="Tasks or groups; can be repeated.")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", "-n", min=1, help="How often the oracle is graded.")] = 3,
    submissions: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Further submissions, such as cheats: a folder of predictions for each."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="Default: runs/audit-SUITE.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Attempts at once.")] = None,
    json: Json = False,
) -> int:
    """Find tasks that measure badly: grade the oracle, nothing, and what deserves nothing; read the hidden tests.

    The folder holds a run for each, `audit.json`, and `audit.md` for people. An audit that was interrupted goes on
    where it was. Exit code 4: a task is invalid; 3: some could not be audited.
    """
    from groundup.api.audit import PAGE
    from groundup.api.audit import audit as audited
    from groundup.cli.console import print_document, say
    from groundup.cli.options import Talk
    from groundup.cli.progress import shown_progress
    from groundup.settings import load

    settings = load({"jobs": jobs})
    with shown_progress(Talk()) as progress:
        found = audited(
            suite,
            tasks=tasks,
            runs=runs,
            submissions=submissions,
            output=output,
            settings=settings,
            progress=progress,
            say=lambda text: say(f"groundup: {text}"),
        )
    if json:
        print_document(found)
    else:
        for task in found.tasks:
            typer.echo(f"{task.task}: {task.standing}" + (f": {'; '.join(task.why)}" if task.why else ""))
    place = output or settings.output / f"audit-{found.suite}"
    say(f"groundup: {len(found.tasks)} tasks; read {place / PAGE}")
    standings = {task.standing for task in found.tasks}
    return 4 if "invalid" in standings else 3 if "not audited" in standings else 0
