"""What the commands share that work on a run: progress while it goes on, then the report and the exit code."""

from collections.abc import Callable, Sequence

from groundup.cli.console import print_document, print_table, say
from groundup.cli.options import Beginning, Format, Judging, Making, Selection, Talk, Work, names
from groundup.cli.progress import telling
from groundup.cli.reporting import below, print_result, read_report
from groundup.cli.settings import run_options, settings_from
from groundup.domain.digests import digest_bytes
from groundup.runs import api
from groundup.runs.api import RunResult
from groundup.runs.generation import estimate_of
from groundup.runs.options import RunOptions
from groundup.runs.plan import RunPlan, told_left_out
from groundup.runs.progress import Progress
from groundup.settings import Settings
from groundup.store.records import RunConfiguration, SubmissionsFrom

BELOW = 4
_SHOWN = 20


def new_run(
    suite: str,
    submissions: SubmissionsFrom,
    judged: tuple[Selection, Judging],
    worked_on: tuple[Work, Making],
    talk: Talk,
    begin: Beginning,
) -> int:
    """Make a run of these submissions and work on it, or only say what it would do."""
    work, making = worked_on
    settings = settings_from(output=work.output, sandbox=judged[1].sandbox, jobs=work.jobs)
    configuration = configured(suite, submissions, judged, settings)
    options = run_options(work, settings, making)
    if begin.dry_run:
        return print_plan(api.plan(configuration, settings), talk.report_format, options)
    return worked(
        lambda progress: api.run(configuration, options, settings, run_id=begin.run_id, progress=progress),
        talk,
    )


def configured(
    suite: str, submissions: SubmissionsFrom, judged: tuple[Selection, Judging], settings: Settings
) -> RunConfiguration:
    """Return what the flags ask for."""
    selection, judging = judged
    configuration = RunConfiguration(
        suite=suite,
        submissions=submissions,
        grader=judging.grader_name(),
        tasks=names(selection.tasks, "--tasks"),
        exclude=selection.excluded() or (),
        attempts=selection.attempts,
        timeout_s=judging.timeout,
        sandbox=settings.sandbox,
    )
    if selection.limit is None:
        return configuration
    tasks = api.plan(configuration, settings).planned.tasks
    return configuration.model_copy(update={"tasks": sampled(tasks, selection.limit, selection.seed)})


def sampled(tasks: Sequence[str], limit: int, seed: int) -> tuple[str, ...]:
    """Return *limit* of *tasks*, the same for one *seed* everywhere; a larger sample holds the smaller."""
    drawn = sorted(tasks, key=lambda name: digest_bytes(f"{seed}/{name}".encode()))[:limit]
    return tuple(sorted(drawn))


def worked(begin: Callable[[Progress], RunResult], talk: Talk) -> int:
    """Call *begin* with something to tell its progress to; print the report and return the exit code."""
    with telling(talk) as progress:
        result = begin(progress)
    report = read_report([result.folder])
    print_result(report, talk)
    if result.standing.made:
        say(f"groundup: {result.standing.made} submissions are made and not graded; `groundup resume` grades them")
    if result.exit_code:
        missing = "1 attempt has" if result.owed == 1 else f"{result.owed} attempts have"
        say(f"groundup: {missing} no verdict; finish with `groundup resume {result.folder}`")
        return result.exit_code
    if not talk.quiet:
        say(f"groundup: the run lies in {result.folder}")
    if failed := below(report, talk.fail_under):
        say(f"groundup: {failed}")
        return BELOW
    return 0


def print_plan(plan: RunPlan, wanted: Format, options: RunOptions | None = None) -> int:
    """Say what a run would do."""
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
    if plan.left_out:
        say(f"groundup: {told_left_out(plan)}")
    print_table(f"{plan.suite.name}, grader {plan.grader.name}", ("attempt", "would be"), rows[:_SHOWN] + more)
    if estimate is not None:
        say(f"groundup: {estimate}")
    say(f"groundup: {len(attempts) - len(missing)} of {len(attempts)} attempts would be graded; nothing was done")
    return 0
