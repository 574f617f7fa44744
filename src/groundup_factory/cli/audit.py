"""`groundup audit`: finding tasks that measure badly."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from groundup.api.flags import Grader, Jobs, Tasks
from groundup.cli.options import Examples, Json

EXAMPLES: dict[str, Examples] = {
    "audit": (
        ("Do three tasks measure well?", "groundup audit nl2repobench --tasks six,sqlparse,tenacity"),
        ("Run each CI job, in place of comparing names", "groundup audit dibench --grader execution -n 1"),
        ("All of a suite, into a folder of your own", "groundup audit repogenesis -o audits/repogenesis"),
        (
            "With worthless submissions of your own",
            "groundup audit nl2repobench --tasks six --submissions my-cheats",
        ),
    ),
}


@dataclass(frozen=True)
class AuditParts:
    """What is audited, and with what."""

    tasks: Annotated[Tasks, "Tasks or groups; can be repeated."] = None
    runs: Annotated[int, typer.Option("--runs", "-n", min=1, help="Times that the oracle is graded.")] = 3
    submissions: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Further submissions, such as cheats: a folder of predictions for each."
        ),
    ] = None
    grader: Annotated[Grader, "Another grader than the suite's first, such as execution."] = None


def audit(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="A suite's name, or package.module:attribute.")],
    parts: AuditParts,
    output: Annotated[
        Path | None,
        typer.Option("--to", "-o", metavar="FOLDER", help="Folder of the audit (default: runs/audit-SUITE)."),
    ] = None,
    jobs: Annotated[Jobs, "Attempts at once."] = None,
    json: Json = False,
) -> int:
    """Check how well tasks measure: grade the oracle and worthless submissions, and read the hidden tests.

    The folder holds `audit.md` to read, `audit.json`, and a run for each part. The same command continues an
    interrupted audit. Exit code 4: a task is invalid; 3: some could not be audited.
    """
    from groundup.cli.console import print_document, say
    from groundup.cli.options import Talk
    from groundup.cli.progress import shown_progress
    from groundup.domain.names import count
    from groundup.settings import load
    from groundup_factory.audit_runs import PAGE
    from groundup_factory.audit_runs import audit as audited

    settings = load({"jobs": jobs})
    with shown_progress(Talk()) as progress:
        found = audited(
            suite,
            tasks=parts.tasks,
            runs=parts.runs,
            submissions=parts.submissions,
            grader=parts.grader,
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
    place = output or settings.output / f"audit-{found.suite.replace('@', '-')}"
    say(f"groundup: {count(len(found.tasks), 'task')}; read {place / PAGE}")
    standings = {task.standing for task in found.tasks}
    return 4 if "invalid" in standings else 3 if "not audited" in standings else 0
