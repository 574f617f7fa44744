"""`groundup regrade`: grade a run's submissions again, in a new run."""

from groundup.cli.options import Beginning, Examples, Judging, Run, Selection, Talk, Work

EXAMPLES: Examples = (
    ("With today's grader", "groundup regrade my-run"),
    (
        "As the published evaluator would have",
        "groundup regrade my-run --grader official --run-id my-run-official",
    ),
)


def regrade(run: Run, selection: Selection, judging: Judging, work: Work, talk: Talk, begin: Beginning) -> int:
    """Grade the submissions of RUN again, in a new run; the earlier one stays as it is.

    The verdict cache is not asked.
    """
    from groundup.cli.settings import named_again, run_folder, run_options, settings_from
    from groundup.cli.working import print_plan, worked
    from groundup.runs import api

    settings = settings_from(output=work.output, jobs=work.jobs)
    folder = run_folder(run, settings)
    changes = named_again(selection, judging)
    if begin.dry_run:
        return print_plan(api.plan(api.regrading(folder, changes), settings), talk.report_format)
    options = run_options(work, settings)
    return worked(
        lambda progress: api.regrade(
            folder, options, settings, changes=changes, run_id=begin.run_id, progress=progress
        ),
        talk,
    )
