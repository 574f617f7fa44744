"""`groundup report`: print what runs say, alone or side by side."""

from typing import Annotated

import typer

from groundup.cli.options import Examples, FailUnder, Format, Json, Output, ReportFormat

EXAMPLES: Examples = (
    ("One run", "groundup report my-run"),
    ("Two runs, compared task by task", "groundup report runs/model-a runs/model-b"),
    ("For a pull request", "groundup report my-run --format markdown"),
    ("For programs", "groundup report my-run --json"),
)


def report(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUNS...", help="Folders or ids of runs; the first is what others are compared to."
        ),
    ],
    report_format: ReportFormat = Format.TABLE,
    json: Json = False,
    output: Output = None,
    fail_under: FailUnder = None,
) -> int:
    """Print what RUNS say: scores with denominators and intervals, and what has no score and why."""
    from groundup.cli.console import say
    from groundup.cli.reporting import below, print_report, read_report
    from groundup.cli.settings import run_folder, settings_from
    from groundup.cli.working import BELOW

    settings = settings_from(output=output)
    made = read_report([run_folder(run, settings) for run in runs])
    print_report(made, Format.JSON if json else report_format)
    if failed := below(made, fail_under):
        say(f"groundup: {failed}")
        return BELOW
    return 0
