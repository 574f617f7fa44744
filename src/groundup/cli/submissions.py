"""`groundup export` and `ablate`: a run's submissions as plain files, or changed."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from groundup.api.flags import Output
from groundup.cli.console import UNFIT
from groundup.cli.options import Examples, Json, Run

EXAMPLES: dict[str, Examples] = {
    "export": (
        (
            "One folder per task, as `evaluate` and published harnesses read them",
            "groundup export my-run predictions/",
        ),
        ("Patches in DI-Bench's layout", "groundup export my-run results/ --format patch"),
        ("Trajectories for other tools", "groundup export my-run trajectories/ --format atif"),
        ("Training data: the best two of each task", "groundup export my-run data/ --format messages --best 2"),
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
    MESSAGES = "messages"


def export(
    run: Run,
    destination: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    form: Annotated[
        ExportForm,
        typer.Option(
            "--format",
            help="tree: repositories; patch: diffs; atif: trajectories; messages: conversations with rewards.",
        ),
    ] = ExportForm.TREE,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, help="Only attempts with at least this score.")
    ] = None,
    best: Annotated[
        int | None, typer.Option(min=1, help="Only this many of the best attempts of each task.")
    ] = None,
    failures: Annotated[bool, typer.Option("--failures", help="Only attempts with a score below 1.")] = False,
    json: Json = False,
    output: Output = None,
) -> int:
    """Write the submissions or the trajectories of RUN into DIR."""
    from groundup.api.folders import run_folder
    from groundup.api.reports import unfit
    from groundup.cli.console import print_document, say
    from groundup.domain.names import count
    from groundup.runs.exporting import export
    from groundup.runs.training import ChosenEpisodes
    from groundup.settings import load
    from groundup.store.folder import RunFolder

    settings = load({"output": output})
    chosen = ChosenEpisodes(min_score=min_score, best=best, failures=failures)
    made = export(RunFolder(run_folder(run, settings)), destination, form.value, settings, chosen)
    if json:
        print_document(
            {"folder": str(destination), "format": form.value, "attempts": [str(key) for key in made.attempts]}
        )
    say(f"groundup: wrote {len(made.attempts)} of {count(made.planned, 'attempt')} to {destination}")
    for why in made.changed:
        say(f"groundup: left out {why}")
    told = unfit(run, output=output)
    if told:
        say(f"groundup: {told}; what does not fit was left out")
    if told or made.changed:
        return UNFIT
    return 0


def ablate(
    run: Run,
    ablation: Annotated[
        str, typer.Argument(metavar="ABLATION", help="Name of an ablation of the run's suite (docs/dibench.md).")
    ],
    output: Annotated[
        Path,
        typer.Option("--to", "-o", metavar="FOLDER", help="New folder for the changed predictions."),
    ],
    json: Json = False,
) -> int:
    """Write the submissions of RUN with one kind of mistake corrected, to evaluate them again."""
    from groundup.api.folders import run_folder
    from groundup.cli.console import print_document, say
    from groundup.runs.exporting import ablate
    from groundup.settings import load
    from groundup.store.folder import RunFolder

    settings = load()
    folder = RunFolder(run_folder(run, settings))
    made, refused, is_unfit = ablate(folder, ablation, output, settings)
    if json:
        print_document({"folder": str(output), "made": made, "refused": refused})
    for line in refused:
        say(f"groundup: left out: {line}")
    if unfit := folder.records().told(folder.path):
        say(f"groundup: {unfit}; what does not fit was left out")
    say(f"groundup: {made} changed predictions lie in {output}")
    return UNFIT if is_unfit or unfit else 0
