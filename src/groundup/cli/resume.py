"""`groundup resume`: finish what a run owes."""

from groundup.cli.options import DryRun, Examples, Judging, Making, Run, Selection, Talk, Work

EXAMPLES: Examples = (
    ("Finish a run that was interrupted", "groundup resume runs/nl2repobench-oracle-20260101-120000"),
    ("Which attempts are owed?", "groundup resume my-run --dry-run"),
)


def resume(
    run: Run,
    selection: Selection,
    judging: Judging,
    making: Making,
    work: Work,
    talk: Talk,
    dry_run: DryRun = False,
) -> int:
    """Finish what RUN owes.

    That is what was interrupted, was only generated, never began, or failed because of the infrastructure;
    verdicts stay.
    A run whose configuration, tasks, graders or predictions changed is refused.
    """
    from groundup.cli.console import print_document, say
    from groundup.cli.options import Format
    from groundup.cli.settings import named_again, run_folder, run_options, settings_from
    from groundup.cli.working import worked
    from groundup.runs import api
    from groundup.store.folder import RunFolder

    settings = settings_from(output=work.output, jobs=work.jobs)
    folder = run_folder(run, settings)
    if dry_run:
        latest = RunFolder(folder).latest()
        keys = RunFolder(folder).config().planned.keys
        owed = [str(key) for key in keys if key not in latest or not latest[key].settles]
        if talk.report_format is Format.JSON:
            print_document({"dry_run": True, "owed": owed})
        say(f"groundup: {len(owed)} of {len(keys)} attempts are owed{': ' if owed else ''}{', '.join(owed[:20])}")
        return 0
    options = run_options(work, settings, making)
    changes = named_again(selection, judging)
    return worked(
        lambda progress: api.resume(folder, options, settings, changes=changes, progress=progress),
        talk,
    )
