"""`groundup compare`: two runs of one suite or more, task by task."""

from typing import Annotated

import typer

from groundup.cli.options import Examples, Format, Json, Output, ReportFormat

EXAMPLES: Examples = (
    ("Is model B better than model A?", "groundup compare runs/model-a runs/model-b"),
    ("Several against the first", "groundup compare baseline try-1 try-2 --format markdown"),
    ("A run and a published report", "groundup compare eval_results/report.json my-run"),
    ("For programs", "groundup compare model-a model-b --json"),
)


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="BASE OTHER...",
            help="Folders or ids of runs, or report files; all others are compared to the first.",
        ),
    ],
    report_format: ReportFormat = Format.TABLE,
    json: Json = False,
    output: Output = None,
) -> int:
    """Compare runs by the tasks that both have: differences with intervals, and what has no pair and why."""
    from groundup.cli.reporting import print_views
    from groundup.cli.settings import settings_from
    from groundup.cli.sources import report_on
    from groundup.domain.errors import UsageError
    from groundup.reports.views import comparison_views

    if len(runs) < 2:
        raise UsageError("compare takes two runs or more; `groundup report` shows one")
    made = report_on(runs, settings_from(output=output))
    suites = dict.fromkeys(run.suite for run in made.runs)
    if len(suites) > 1:
        raise UsageError(
            f"these are runs of different suites ({', '.join(suites)}), which have no tasks in common"
        )
    print_views(made, comparison_views(made), Format.JSON if json else report_format)
    return 0
