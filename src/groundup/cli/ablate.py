"""`groundup ablate`: a run's submissions without one kind of mistake, to be evaluated like any others."""

from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Examples, Json, Run

EXAMPLES: Examples = (
    ("What do wrong versions cost?", "groundup ablate my-run oracle-metadata -o right-versions"),
    ("What do invented names cost?", "groundup ablate my-run without-fakes -o no-fakes"),
)


def ablate(
    run: Run,
    ablation: Annotated[str, typer.Argument(metavar="ABLATION", help="Of the run's suite (dibench: see docs).")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where the changed predictions go; a new folder."),
    ],
    json: Json = False,
) -> int:
    """Write the submissions of RUN with one kind of mistake taken out, for `groundup evaluate -p FOLDER`."""
    import asyncio

    from groundup.cli.console import print_document, say
    from groundup.cli.settings import run_folder, settings_from
    from groundup.domain.errors import SubmissionError, UsageError
    from groundup.domain.names import unknown
    from groundup.store.folder import RunFolder
    from groundup.suites.base import open_suite

    settings = settings_from()
    folder = RunFolder(run_folder(run, settings))
    suite = open_suite(folder.config().configuration.suite, settings)
    offered = suite.ablation()
    if offered is None or ablation not in offered.kinds:
        raise UsageError(unknown("ablation", ablation, () if offered is None else offered.kinds))
    if output.exists() and any(output.iterdir()):
        raise UsageError(f"{output} is not empty; name a new folder")
    tasks = {task.id: task for task in suite.tasks()}
    made, refused = 0, []
    for key in folder.config().planned.keys:
        submission = folder.attempt(key).submission
        if not submission.is_dir() or key.task not in tasks:
            continue
        destination = output / key.task / str(key.index)
        destination.mkdir(parents=True)
        try:
            asyncio.run(offered.write(ablation, tasks[key.task], submission, destination))
            made += 1
        except SubmissionError as error:
            destination.rmdir()
            refused.append(f"{key}: {error}")
    if json:
        print_document({"folder": str(output), "made": made, "refused": refused})
    for line in refused:
        say(f"groundup: left out: {line}")
    say(f"groundup: {made} changed predictions lie in {output}")
    return 0
