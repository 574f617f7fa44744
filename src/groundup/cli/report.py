"""`groundup report`: print what runs say, alone or side by side, also in a suite's own form."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import TALK, Examples, FailUnder, Format, Json, Output

if TYPE_CHECKING:
    from groundup.settings import Settings

EXAMPLES: Examples = (
    ("One run", "groundup report my-run"),
    ("Two runs side by side", "groundup report runs/model-a runs/model-b"),
    ("For a pull request", "groundup report my-run --format markdown"),
    ("For programs", "groundup report my-run --json"),
    ("As RepoGenesis publishes it", "groundup report my-run --format repogenesis --save report.json"),
    ("A report that the published harness wrote", "groundup report eval_results/report_2026-01-01_10-00-00.json"),
)


def report(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUNS...",
            help="Folders or ids of runs, or report files; the first is what others are compared to.",
        ),
    ],
    report_format: Annotated[
        str,
        typer.Option(
            "--format",
            help="table, markdown, json, or the name of the suite's own form, such as `repogenesis`.",
            rich_help_panel=TALK,
        ),
    ] = Format.TABLE.value,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write the suite's own form to this file and its table to standard output.", rich_help_panel=TALK
        ),
    ] = None,
    json: Json = False,
    output: Output = None,
    fail_under: FailUnder = None,
) -> int:
    """Print what RUNS say: scores with denominators and intervals, and what has no score and why."""
    from groundup.cli.console import say
    from groundup.cli.reporting import below, print_report
    from groundup.cli.settings import settings_from
    from groundup.cli.sources import report_on
    from groundup.cli.working import BELOW
    from groundup.domain.errors import UsageError

    settings = settings_from(output=output)
    made = report_on(runs, settings)
    if json or report_format in list(Format):
        if save is not None:
            raise UsageError("--save is for suites' own forms; redirect standard output instead")
        print_report(made, Format.JSON if json else Format(report_format))
    else:
        if len(runs) > 1:
            raise UsageError(f"--format {report_format} takes one run; name them one after the other")
        _print_own(runs[0], report_format, save, settings)
    if failed := below(made, fail_under):
        say(f"groundup: {failed}")
        return BELOW
    return 0


def _print_own(run: str, report_format: str, save: Path | None, settings: "Settings") -> None:
    """Print a run in its suite's own form: the document, or its table where the document goes to a file."""
    import sys

    from groundup.cli.console import say
    from groundup.cli.sources import own_report
    from groundup.store.files import write_atomically
    from groundup.trees.writer import disk_errors

    own = own_report(run, report_format, settings)
    for note in own.notes:
        say(note)
    if save is None:
        sys.stdout.write(own.document.decode())
        say(own.table)
        return
    with disk_errors(save.parent):
        write_atomically(save, own.document)
    sys.stdout.write(own.table + "\n")
