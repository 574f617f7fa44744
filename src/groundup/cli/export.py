"""`groundup export`: a run's submissions or trajectories as plain files."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Examples, Json, Output, Run

EXAMPLES: Examples = (
    (
        "One folder per task, as `evaluate` and published harnesses read them",
        "groundup export my-run predictions/",
    ),
    ("Patches in DI-Bench's layout", "groundup export my-run results/ --format patch"),
    ("Trajectories for other tools", "groundup export my-run trajectories/ --format atif"),
)


class ExportForm(StrEnum):
    """What is written."""

    TREE = "tree"
    PATCH = "patch"
    ATIF = "atif"


def export(
    run: Run,
    destination: Annotated[Path, typer.Argument(metavar="DIR", help="An absent or empty folder.")],
    form: Annotated[
        ExportForm, typer.Option("--format", help="tree: repositories; patch: diffs; atif: trajectories.")
    ] = ExportForm.TREE,
    json: Json = False,
    output: Output = None,
) -> int:
    """Write what the attempts of RUN handed in, or what their agents did, into DIR."""
    from groundup.cli.console import print_document, say
    from groundup.cli.settings import run_folder, settings_from
    from groundup.runs.exporting import export
    from groundup.store.folder import RunFolder

    settings = settings_from(output=output)
    folder = RunFolder(run_folder(run, settings))
    written = export(folder, destination, form.value, settings)
    total = len(folder.config().planned)
    if json:
        print_document(
            {"folder": str(destination), "format": form.value, "attempts": [str(key) for key in written]}
        )
    say(f"groundup: wrote {len(written)} of {total} attempts to {destination}")
    return 0
