"""`groundup report`, `compare`, `review` and `runs`: what runs say, alone or side by side."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import AnyPath, Output
from groundup.cli.console import UNFIT
from groundup.cli.options import TALK, Examples, FailUnder, Json, ReportFormat, Run, one_format
from groundup.reports.forms import KNOWN, Format

if TYPE_CHECKING:
    from groundup.api.run_list import RunEntry
    from groundup.reports.formats import ShownReport

EXAMPLES: dict[str, Examples] = {
    "report": (
        ("One run", "groundup report my-run"),
        ("Two runs side by side", "groundup report runs/model-a runs/model-b"),
        ("For a pull request", "groundup report my-run --format markdown"),
        ("For programs", "groundup report my-run --json"),
        ("One file with plots, for a mail", "groundup report my-run --format html --save report.html"),
        ("For a CI server", "groundup report my-run --format junit --save results.xml"),
        ("The plots alone, for a paper", "groundup report model-a model-b --plots figures"),
        ("The table of the suite's paper, a row for each run", "groundup report model-a model-b --layout paper"),
        (
            "The same of all runs and published reports below folders",
            "groundup report runs eval_results --layout paper",
        ),
        ("As RepoGenesis publishes it", "groundup report my-run --format repogenesis --save report.json"),
        (
            "A report that the published harness wrote",
            "groundup report eval_results/report_2026-01-01_10-00-00.json",
        ),
    ),
    "compare": (
        ("Is model B better than model A?", "groundup compare runs/model-a runs/model-b"),
        ("What did mending it bring back?", "groundup compare before after sqlparse"),
        ("Several against the first", "groundup compare baseline try-1 try-2 --format markdown"),
        ("How many tasks until 5 points show?", "groundup compare model-a model-b --power 0.05"),
        ("A run and a published report", "groundup compare eval_results/report.json my-run"),
        ("For programs", "groundup compare model-a model-b --json"),
    ),
    "review": (
        ("Which attempts should a person look at?", "groundup review my-run"),
        ("For programs", "groundup review my-run --json"),
    ),
    "runs": (
        ("Which runs are there, and which are not finished?", "groundup runs"),
        ("For programs", "groundup runs --json"),
        ("Was anything in a run's folder changed, cut or deleted?", "groundup runs check my-run"),
        ("Remove two", "groundup runs rm first-try second-try"),
    ),
}


BELOW = 4
"""The exit code of a score below --fail-under."""


@dataclass(frozen=True)
class ReportLook:
    """What a report looks like, and where it goes."""

    report_format: Annotated[
        str,
        typer.Option(
            "--format",
            help=f"{', '.join(KNOWN)}, or the suite's own form, such as `repogenesis`.",
            rich_help_panel=TALK,
        ),
    ] = Format.TABLE.value
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file, in the form that its name ends with (.html, .csv, .tex, .xml), or "
            "that --format names; of a suite's own form, print the table.",
            rich_help_panel=TALK,
        ),
    ] = None
    layout: Annotated[
        str,
        typer.Option(
            help="standard, or paper: the tables of the suites' papers, a row for each run; a folder stands for "
            "all runs and published reports below it.",
            rich_help_panel=TALK,
        ),
    ] = "standard"
    plots: Annotated[
        Path | None,
        typer.Option(
            help="Write each plot to this folder, as SVG and PNG; needs the extra plots.", rich_help_panel=TALK
        ),
    ] = None


def report(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUNS...",
            help="Folders or ids of runs, or report files; the first is the base of comparisons.",
        ),
    ],
    look: ReportLook,
    json: Json = False,
    output: Output = None,
    fail_under: FailUnder = None,
) -> int:
    """Print a report of RUNS: how good they are, what they lost and where, and what has no score and why."""
    from groundup.api import reports
    from groundup.cli.console import say
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown

    made = reports.report(*runs, layout=look.layout, output=output)
    if look.plots is not None:
        for path in reports.write_plots(made, look.plots):
            say(f"wrote {path}")
    form = Format.JSON.value if json else _form(look.report_format, look.save)
    if form in KNOWN:
        _print(made, form, look.save)
    elif len(runs) > 1:
        raise UsageError(f"{unknown('format for several runs', form, KNOWN)}")
    else:
        _print_own(runs[0], form, look.save, output)
    if failed := made.below(fail_under):
        say(f"groundup: {failed}")
        return BELOW
    return _unfit(made)


def _unfit(made: "ShownReport") -> int:
    """Name the runs whose records do not fit, and return the exit code."""
    from groundup.cli.console import say

    unfit = [run for run in made.runs if run.faults]
    for run in unfit:
        say(f"groundup: {run.run_id}: {run.warnings[0]}")
    return UNFIT if unfit else 0


_ENDINGS = {
    ".html": "html",
    ".htm": "html",
    ".csv": "csv",
    ".tex": "latex",
    ".xml": "junit",
}


def _form(named: str, save: Path | None) -> str:
    """Return the form to write: the one that is named, else what the file's name ends with."""
    if save is None or named != Format.TABLE:
        return named
    return _ENDINGS.get(save.suffix.lower(), named)


def _print(made: "ShownReport", form: str, save: Path | None) -> None:
    """Print a report in a form of every report's, or write it to the file *save*."""
    from groundup.api.reports import write_report
    from groundup.cli.console import print_report, say
    from groundup.domain.errors import UsageError

    if form in list(Format):
        if save is not None:
            raise UsageError(
                f"--save {save} names no form: let its name end with {', '.join(_ENDINGS)}, name one "
                "with --format, or redirect standard output instead"
            )
        print_report(made, Format(form))
    elif save is not None:
        say(f"wrote {write_report(made, form, save)}")
    else:
        sys.stdout.buffer.write(made.written(form))
        sys.stdout.flush()


def _print_own(run: str, form: str, save: Path | None, output: AnyPath | None) -> None:
    """Print a run in its suite's own form: the document, or its table where the document goes to a file."""
    from groundup.api.reports import own_report, write_own_report
    from groundup.cli.console import say

    own = (
        own_report(run, form, output=output) if save is None else write_own_report(run, form, save, output=output)
    )
    for note in own.notes:
        say(note)
    if save is None:
        sys.stdout.write(own.document.decode())
        say(own.table)
    else:
        sys.stdout.write(own.table + "\n")


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="BASE OTHER...",
            help="Folders or ids of runs, or report files; all others are compared to the first. After two "
            "runs a task of them: which of its tests came back, are newly lost, or are lost as before.",
        ),
    ],
    power: Annotated[
        float | None,
        typer.Option(
            help="Also print how many tasks or attempts it takes to detect this difference, such as 0.05.",
            rich_help_panel=TALK,
        ),
    ] = None,
    report_format: ReportFormat = Format.TABLE,
    json: Json = False,
    output: Output = None,
) -> int:
    """Say which of RUNS is better, by how much, and whether the tasks that both have a score for can tell."""
    from groundup.api import reports
    from groundup.cli.compare_task import compare_task, names_task
    from groundup.cli.console import print_report
    from groundup.domain.errors import UsageError

    if len(runs) < 2:
        raise UsageError("compare takes two runs or more; `groundup report` shows one")
    form = one_format(report_format, json=json)
    if names_task(runs, output):
        if form is Format.MARKDOWN or power is not None:
            raise UsageError(
                "the tests of one task are compared without --power and --format markdown; leave them out"
            )
        return compare_task(runs, output, json=form is Format.JSON)
    made = reports.compare(*runs, power=power, output=output)
    print_report(made, form)
    return _unfit(made)


def review(run: Run, json: Json = False, output: Output = None) -> int:
    """List the attempts of RUN with signs of tampering, and where to look. Changes no verdict."""
    from groundup.api import reports
    from groundup.cli.console import print_document, print_table, say
    from groundup.domain.names import printable

    found = reports.review(run, output=output)
    if json:
        print_document({**found.model_dump(mode="json"), "conclusion": found.conclusion})
        return UNFIT if found.unfit else 0
    if found.unfit:
        say(f"groundup: {found.unfit}")
    rows = [
        (f"{one.task}/{one.index}", one.standing, flag.kind, printable(flag.evidence), flag.look)
        for one in found.suspects
        for flag in one.flags
    ]
    if rows:
        print_table(
            f"To look at in {found.run}", ("attempt", "verdict", "flag", "evidence", "where to look"), rows
        )
    for attempts in found.identical:
        say(f"groundup: byte for byte the same: {', '.join(attempts)}; that alone is no sign of tampering")
    for left, right in found.alike:
        say(f"groundup: nearly the same (four fifths of the lines): {left}, {right}; that is no sign either")
    say(f"groundup: {found.conclusion}")
    return UNFIT if found.unfit else 0


def runs(
    remove: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[check RUN... | rm RUN...]",
            help="With `check`: whether the files of these runs fit one another. With `rm`: remove these runs, "
            "with all submissions in them.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before removing.")] = False,
    output: Output = None,
    json: Json = False,
) -> int:
    """List the runs of the output folder, newest first: suite, subject, score, when it began, what is pending."""
    if remove and remove[0] == "check":
        from groundup.cli.checking import check

        return check(remove[1:], output, json=json)
    if remove:
        return _remove(remove, yes=yes, output=output)
    return _list_runs(output, json=json)


def _remove(words: list[str], *, yes: bool, output: AnyPath | None) -> int:
    """Remove runs after a question. Raises `UsageError`, also for a run at work, and then removes none."""
    from groundup.api.run_list import removable, remove_runs
    from groundup.cli.console import print_table, say
    from groundup.domain.errors import UsageError
    from groundup.domain.figures import size
    from groundup.domain.names import count
    from groundup.settings import load

    if words[0] != "rm" or len(words) == 1:
        raise UsageError(
            "`groundup runs` lists runs; `groundup runs rm RUN...` removes some, and "
            "`groundup runs check RUN...` checks some"
        )
    settings = load({"output": output})
    found = removable(words[1:], settings)
    print_table("", ("run", "size"), [(str(one.path), size(one.bytes)) for one in found])
    number = count(len(found), "run")
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"would remove {number}; say --yes")
        if not typer.confirm(f"Remove these {len(found)}?", err=True):
            return 0
    for other in remove_runs(found, settings):
        say(f"groundup: left {other}, which is not groundup's")
    say(f"groundup: removed {number}")
    return 0


def _list_runs(output: AnyPath | None, *, json: bool) -> int:
    from groundup.api.run_list import list_runs
    from groundup.cli.console import print_document, print_table, say
    from groundup.settings import load
    from groundup.store.folder import refuse_unusable

    folder = load({"output": output}).output
    refuse_unusable(folder, None)
    found = list_runs(output=folder)
    if json:
        documents = [
            {**row, "pending": _pending(one), "unfit": one.unfit}
            for row, one in zip(found.rows(), found, strict=True)
        ]
        print_document({"folder": str(folder), "runs": documents})
        return 0
    if not found:
        say(f"groundup: there are no runs in {folder}; --output names another folder")
        return 0
    print_table(found.view.title, found.view.columns, found.view.rows, spare=("began",))
    for one in found:
        if one.unfit:
            say(f"groundup: {one.run}: {one.unfit}")
    pending = [one.run for one in found if one.pending and not one.unfit]
    if pending:
        are = "run is" if len(pending) == 1 else "runs are"
        run = pending[0] if output is None else folder / pending[0]
        say(f"groundup: {len(pending)} {are} not finished; `groundup resume {run}` continues it")
    return 0


def _pending(run: "RunEntry") -> int | str:
    return "?" if run.pending is None else run.pending
