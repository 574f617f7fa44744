"""`groundup export` and `groundup ablate`: a run's submissions as plain files, as they are or changed."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Examples, Json, Output, Run

EXAMPLES: dict[str, Examples] = {
    "export": (
        (
            "One folder per task, as `evaluate` and published harnesses read them",
            "groundup export my-run predictions/",
        ),
        ("Patches in DI-Bench's layout", "groundup export my-run results/ --format patch"),
        ("Trajectories for other tools", "groundup export my-run trajectories/ --format atif"),
    ),
    "ablate": (
        ("What do wrong versions cost?", "groundup ablate my-run oracle-metadata -o right-versions"),
        ("What do invented names cost?", "groundup ablate my-run without-fakes -o no-fakes"),
    ),
}


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
    from groundup.api.submissions import export
    from groundup.cli.console import print_document, say

    written, total = export(run, destination, form.value, output=output)
    if json:
        print_document(
            {"folder": str(destination), "format": form.value, "attempts": [str(key) for key in written]}
        )
    say(f"groundup: wrote {len(written)} of {total} attempts to {destination}")
    return 0


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
    from groundup.api.submissions import ablate
    from groundup.cli.console import print_document, say

    made, refused = ablate(run, ablation, output)
    if json:
        print_document({"folder": str(output), "made": made, "refused": refused})
    for line in refused:
        say(f"groundup: left out: {line}")
    say(f"groundup: {made} changed predictions lie in {output}")
    return 0
