"""`groundup run`: let a subject do a suite's tasks, and grade what it hands in."""

from typing import TYPE_CHECKING

from groundup.cli.options import Beginning, Examples, Judging, Making, Selection, Subjects, Talk, Work

if TYPE_CHECKING:
    from groundup.runs.subjects import Named

EXAMPLES: Examples = (
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
        "groundup run dibench -a all-in-one -m compatible/mine --base-url http://127.0.0.1:8000/v1 --price 1:2 "
        "--max-cost 5",
    ),
    (
        "Make submissions, grade none yet",
        "groundup run repogenesis -a oneshot -m deepseek/deepseek-chat --generate-only",
    ),
    ("Several models and suites, written down in a file", "groundup run --config matrix.toml"),
    ("What would be done?", "groundup run nl2repobench -a oracle --dry-run"),
)


def run(
    subject: Subjects,
    selection: Selection,
    judging: Judging,
    making: Making,
    work: Work,
    talk: Talk,
    begin: Beginning,
) -> int:
    """Let a subject do the tasks of SUITE and grade what it hands in.

    With --config, do the runs that a file describes (docs/runs.md); the same command finishes what is left.
    """
    from groundup.cli.settings import settings_from
    from groundup.cli.working import new_run
    from groundup.domain.errors import UsageError
    from groundup.runs.subjects import submissions_of

    if subject.config is not None:
        from groundup.cli.matrix import run_matrix

        if (subject, selection, judging, making, begin.run_id) != (
            Subjects(config=subject.config), Selection(), Judging(), Making(), None,
        ):  # fmt: skip
            raise UsageError(
                "with --config, suite, subject, tasks and grader are the file's to say; write them there"
            )
        return run_matrix(subject.config, work, talk, dry_run=begin.dry_run)
    suite = subject.suite
    if suite is None or not subject.agent:
        raise UsageError("name a suite and an agent, such as `groundup run nl2repobench -a oracle`, or a --config")
    settings = settings_from(output=work.output, sandbox=judging.sandbox, jobs=work.jobs)
    submissions = submissions_of(suite, named(subject), settings)
    return new_run(suite, submissions, (selection, judging), (work, making), talk, begin)


def named(subject: Subjects) -> "Named":
    """Return the subject that the flags name. Raises `UsageError`."""
    from groundup.cli.settings import money
    from groundup.domain.errors import UsageError
    from groundup.domain.limits import EpisodeLimits, Feedback
    from groundup.runs.subjects import Named, read_assignments

    if subject.hide_scores and subject.end_at_submit:
        raise UsageError("--end-at-submit tells no score either; leave --hide-scores out")
    feedback = (
        Feedback.HIDDEN if subject.hide_scores else Feedback.END if subject.end_at_submit else Feedback.SCORE
    )
    flags = ("base_url", "temperature", "max_output_tokens", "context_tokens")
    given = {name: getattr(subject, name) for name in flags}
    return Named(
        agent=subject.agent,
        model=subject.model,
        model_settings={
            **read_assignments(subject.model_option or (), "--model-option"),
            **{name: value for name, value in given.items() if value is not None},
        },
        agent_options=read_assignments(subject.agent_option or (), "--agent-option"),
        limits=EpisodeLimits(
            turns=subject.max_turns,
            tokens=subject.max_tokens,
            cost_usd=money("--max-attempt-cost", subject.max_attempt_cost),
            wall_clock_s=subject.max_seconds,
        ),
        feedback=feedback,
    )
