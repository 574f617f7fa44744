"""`groundup run`, `evaluate`, `resume` and `regrade`: the commands that make verdicts."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import EvaluateFlags, RegradeFlags, ResumeFlags, RunFlags, WorkFlags, names
from groundup.cli.options import TALK, DryRun, Examples, Run, Talk
from groundup.reports.forms import Format

if TYPE_CHECKING:
    from groundup.reports.formats import ShownReport
    from groundup.runs.api import NewRun, Request
    from groundup.runs.api import Run as EndedRun
    from groundup.runs.plan import RunOptions, RunPlan

EXAMPLES: dict[str, Examples] = {
    "run": (
        (
            "Does the original library pass its own hidden tests?",
            "groundup run nl2repobench -a oracle --tasks sqlparse",
        ),
        ("Does an empty submission get nothing?", "groundup run nl2repobench -a nop --jobs 4"),
        (
            "A model with a shell, 20 attempts at once",
            "groundup run nl2repobench -a loop -m openai/gpt-4o --agent-jobs 20",
        ),
        (
            "A model of your own, for at most $5",
            "groundup run dibench -a all-in-one -m compatible/mine --base-url http://127.0.0.1:8000/v1 "
            "--price 1:2 --max-cost 5",
        ),
        (
            "Make submissions, grade none yet",
            "groundup run repogenesis -a oneshot -m deepseek/deepseek-chat --generate-only",
        ),
        ("Several models and suites, written down in a file", "groundup run --config matrix.toml"),
        ("What would be done?", "groundup run nl2repobench -a oracle --dry-run"),
    ),
    "evaluate": (
        ("A folder with one repository per task", "groundup evaluate nl2repobench -p predictions/"),
        ("One repository", "groundup evaluate nl2repobench -p ~/my-sqlparse --task sqlparse"),
        ("One that is called as its task", "groundup evaluate ~/sqlparse"),
        (
            "A few predictions: measure only their tasks",
            "groundup evaluate nl2repobench -p predictions/ --only-predicted",
        ),
        (
            "As the published harness does, its report.json included",
            "groundup evaluate repogenesis -p generated/ --grader official --layout repogenesis",
        ),
        ("In CI: exit with 4 below 90 %", "groundup evaluate nl2repobench -p out.jsonl --fail-under 0.9 --json"),
        (
            "What an IDE made, with its name and its model's",
            "groundup evaluate repogenesis -p out/ --agent-name cursor --model-name claude-sonnet",
        ),
        (
            "Each task in its own image",
            "groundup evaluate nl2repobench -p out/ --sandbox docker --image 'REGISTRY/{published}'",
        ),
    ),
    "resume": (
        ("Finish a run that was interrupted", "groundup resume runs/nl2repobench-oracle-20260101-120000"),
        ("The only run that is not finished", "groundup resume"),
        ("Which attempts are pending?", "groundup resume my-run --dry-run"),
    ),
    "regrade": (
        ("With today's grader", "groundup regrade my-run"),
        (
            "As the published evaluator would have",
            "groundup regrade my-run --grader official --run-id my-run-official",
        ),
    ),
}
BELOW = 4
"""The exit code of a score below --fail-under."""
_SHOWN = 20


def run(
    flags: RunFlags,
    talk: Talk,
    suite: Annotated[
        str | None,
        typer.Argument(
            metavar="SUITE", help="A suite's name (see `groundup suites`) or `package.module:attribute`."
        ),
    ] = None,
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            "-a",
            help="loop (bash and submit), oneshot, a program such as claude-code (`groundup agents` lists all), "
            "oracle (the reference), nop (nothing), or one that the suite offers (dibench: static).",
        ),
    ] = "",
    config: Annotated[Path | None, typer.Option(help="A file of runs, instead of suite and agent.")] = None,
    dry_run: DryRun = False,
) -> int:
    """Let an agent do the tasks of SUITE, and grade what it hands in.

    With --config, do all runs that a file describes (docs/runs.md); the same command continues them.
    """
    from groundup.api.requests import running
    from groundup.domain.errors import UsageError

    if config is not None:
        if suite or agent or not flags.keys() <= _BESIDE_A_FILE:
            besides = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(_BESIDE_A_FILE))
            raise UsageError(f"with --config, the file says everything but {besides}; write it there")
        return _run_file(config, flags, talk, dry_run=dry_run)
    if suite is None or not agent:
        raise UsageError("name a suite and an agent, such as `groundup run nl2repobench -a oracle`, or a --config")
    return new_run(running(suite, agent, **flags), talk, dry_run=dry_run)


_BESIDE_A_FILE = {"jobs", "no_cache", "keep", "output", "time"}
"""Flags that say how runs are worked on, which their file does not."""


def _beside(flags: RunFlags) -> WorkFlags:
    found: WorkFlags = {}
    for name in _BESIDE_A_FILE & flags.keys():
        found[name] = flags[name]  # type: ignore[literal-required]  # names of both
    return found


def _run_file(config: Path, flags: RunFlags, talk: Talk, *, dry_run: bool) -> int:
    """Make or finish all runs of a file; return the gravest exit code."""
    from groundup.api.matrix import matrix_requests, run_matrix
    from groundup.api.reports import read_report
    from groundup.cli.console import say
    from groundup.cli.progress import shown_progress

    if dry_run:
        for request in matrix_requests(config, **_beside(flags)):
            say(f"groundup: the run {request.run_id}:")
            print_plan(request.plan(), talk.report_format)
        return 0
    with shown_progress(talk) as progress:
        ended = run_matrix(config, progress=progress, **_beside(flags))
    report = read_report([one.folder for one in ended])
    print_result(report, talk)
    if code := max(one.exit_code for one in ended):
        say(f"groundup: not everything has a verdict; `groundup run --config {config}` continues")
        return code
    return _judged(report, talk)


def evaluate(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            help="A suite's name (see `groundup suites`) or `package.module:attribute`; without -p, a repository "
            "that is called as its task.",
        ),
    ],
    flags: EvaluateFlags,
    talk: Talk,
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", "-p", help="A folder, an archive or a JSONL file (docs/guide-evaluate.md)."),
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(
            help="Also write the report as the suite's publishers do, such as `repogenesis`: report_RUN.json "
            "beside the run's folder.",
            rich_help_panel=TALK,
        ),
    ] = None,
    dry_run: DryRun = False,
) -> int:
    """Grade repositories that you already have.

    Predictions are folders `<task>/` or `<task>/<attempt>/`, archives `<task>/submission.tar.gz`, or a JSONL file.
    Tasks without a prediction count 0, unless --only-predicted or --tasks leaves them out.
    """
    from groundup.api.requests import evaluation
    from groundup.cli.console import say
    from groundup.domain.errors import UsageError

    if predictions is None:
        from groundup.api.selection import refuse_unknown_suite, task_of

        if os.sep not in suite and not Path(suite).exists():
            refuse_unknown_suite(suite)
            raise UsageError(f"name what to grade, such as `groundup evaluate {suite} -p predictions/`")
        predictions = Path(suite)
        wanted = names(flags.get("task"), "--task") or ()
        if len(wanted) > 1:
            raise UsageError(f"{predictions} is one repository, for one task; name only that with --task")
        suite, flags["task"] = task_of(predictions, next(iter(wanted), None))
        say(f"groundup: {predictions} is graded as the task {flags['task']} of {suite}")
    if layout is not None:
        from groundup.api.reports import refuse_unknown_form

        refuse_unknown_form(suite, layout)
    return new_run(evaluation(suite, predictions, **flags), talk, dry_run=dry_run, layout=layout)


def resume(
    flags: ResumeFlags,
    talk: Talk,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="A run's folder, its id in the output folder, or `latest`; without it, the only unfinished run.",
        ),
    ] = None,
    dry_run: DryRun = False,
) -> int:
    """Finish RUN: make and grade what is still missing.

    That is what was interrupted, was never begun or not graded, or failed because of the infrastructure.
    Verdicts stay. A run whose configuration, tasks, graders or predictions changed is refused.
    """
    from groundup.api.requests import resumption
    from groundup.cli.console import print_document, say
    from groundup.domain.names import count

    if run is None:
        from groundup.api.run_list import unfinished_run

        run = unfinished_run(flags.get("output"))
        say(f"groundup: the run with pending attempts is {run}")
    request = resumption(run, **flags)
    if dry_run:
        keys, planned = request.pending()
        pending = [str(key) for key in keys]
        if talk.report_format is Format.JSON:
            print_document({"dry_run": True, "pending": pending})
        named = f": {', '.join(pending[:20])}" if pending else ""
        say(f"groundup: pending: {len(pending)} of {count(planned, 'attempt')}{named}")
        return 0
    return worked(request, talk)


def regrade(run: Run, flags: RegradeFlags, talk: Talk, dry_run: DryRun = False) -> int:
    """Grade the submissions of RUN again, in a new run; the earlier one stays as it is.

    The verdict cache is not used.
    """
    from groundup.api.requests import regrading

    return new_run(regrading(run, **flags), talk, dry_run=dry_run)


def new_run(request: "NewRun", talk: Talk, *, dry_run: bool, layout: str | None = None) -> int:
    """Make a run, or only say what it would do; *layout*: as `worked` takes it."""
    if dry_run:
        request.refuse_taken()
        return print_plan(request.plan(), talk.report_format, request.options)
    return worked(request, talk, layout)


def worked(request: "Request", talk: Talk, layout: str | None = None) -> int:
    """Work on a run, print its report and return the exit code; *layout*: of the report to write beside it."""
    from groundup.api.runs import finished
    from groundup.cli.console import say, unfinished_words
    from groundup.cli.progress import shown_progress
    from groundup.domain.names import count

    with shown_progress(talk) as progress:
        ended: EndedRun = finished(request, progress)
    report = ended.report
    print_result(report, talk)
    if layout is not None:
        _write_own(ended.folder, layout)
    if ended.ungraded:
        say(f"groundup: made and not graded: {count(ended.ungraded, 'submission')}; `groundup resume` grades them")
    if ended.exit_code:
        say(f"groundup: {unfinished_words(ended.pending, f'groundup resume {ended.folder}')}")
        return ended.exit_code
    if not talk.quiet:
        lost = any(row.standing == "graded" and row.reasons for run in report.runs for row in run.attempts)
        see = f"; `groundup why {ended.folder}` shows what was lost, and where" if lost else ""
        say(f"groundup: the run lies in {ended.folder}{see}")
    return _judged(report, talk)


def _write_own(folder: Path, form: str) -> None:
    """Write a run's report as its suite's publishers do, where they would: `report_<run>.json`."""
    from groundup.api.reports import write_own_report
    from groundup.cli.console import say

    place = folder.parent / f"report_{folder.name}.json"
    for note in write_own_report(folder, form, place).notes:
        say(note)
    say(f"wrote {place}")


def _judged(report: "ShownReport", talk: Talk) -> int:
    """Return the exit code of a run that owes nothing."""
    from groundup.cli.console import say

    if failed := report.below(talk.fail_under):
        say(f"groundup: {failed}")
        return BELOW
    return 0


def print_result(report: "ShownReport", talk: Talk) -> None:
    """Print what a run came to, as the user wants it: a line with the score where that is all."""
    from groundup.cli.console import print_report

    if talk.quiet and talk.report_format is Format.TABLE:
        typer.echo("\n".join(report.headlines()))
    else:
        print_report(report, talk.report_format)


def print_plan(plan: "RunPlan", wanted: Format, options: "RunOptions | None" = None) -> int:
    """Say what a run would do."""
    from groundup.cli.console import print_document, print_table, say
    from groundup.domain.names import count
    from groundup.runs.generation import estimate_of
    from groundup.runs.plan import notices

    estimate = estimate_of(plan, options)
    missing = [str(key) for key in plan.missing]
    attempts = [str(key) for key in plan.planned.keys]
    if wanted is Format.JSON:
        print_document(
            {
                "dry_run": True,
                "suite": plan.suite.name,
                "grader": plan.grader.name,
                "sandbox": plan.configuration.sandbox,
                "attempts": attempts,
                "missing": missing,
                "left_out": list(plan.left_out),
                "estimate": None if estimate is None else estimate.model_dump(mode="json"),
            }
        )
        return 0
    absent = set(missing)
    rows = [(name, "nothing handed in" if name in absent else "to be graded") for name in attempts]
    rows.sort(key=lambda row: row[1], reverse=True)
    more = [(f"... and {len(rows) - _SHOWN} more", "")] if len(rows) > _SHOWN else []
    for notice in notices(plan):
        say(f"groundup: {notice}")
    print_table(f"{plan.suite.name}, grader {plan.grader.name}", ("attempt", "would be"), rows[:_SHOWN] + more)
    if estimate is not None:
        say(f"groundup: {estimate}")
    done = f"{len(attempts) - len(missing)} of {count(len(attempts), 'attempt')}"
    say(f"groundup: {done} would be graded; nothing was done")
    return 0
